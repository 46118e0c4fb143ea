package gpumetrics

import "strings"

// engine is a series that tells how busy an engine is; times factor it is per cent.
type engine struct{ factor, series string }

// percent is the series without what cannot be: one of DCGM's marks for "no value" would drown all others in a mean, and
// is no time in which the use was known.
func (e engine) percent() string { return "((" + e.factor + e.series + ") >= 0 <= 105)" }

// engines are the series of some rows, the better ones first: where one is, a later one of the same device does not
// count.
func (q queries) engines(matchers string) []engine {
	whole := make([]string, len(q.labels.Instance))
	for i, n := range q.labels.Instance {
		whole[i] = n + `=""`
	}
	var list []engine
	for _, n := range metrics[engineRatio].names {
		list = append(list, engine{"100 * ", promSeries(n, matchers)})
	}
	for _, n := range metrics[utilPercent].names { // of the card: some versions say 0 of a slice
		list = append(list, engine{"", promSeries(n, strings.Join(whole, ",")+","+matchers)})
	}
	return list
}
