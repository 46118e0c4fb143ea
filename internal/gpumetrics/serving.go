package gpumetrics

import (
	"context"
	"math"
	"net/url"
	"regexp"
	"strings"
)

// Gauge adds up what pods tell of themselves, such as how many requests wait in a model server: the newest sample of
// each of the last two minutes. It answers how many pods told something; what the others do is not known.
func (p *Poller) Gauge(ctx context.Context, namespace string, pods []string, metric string) (sum float64, told int,
	err error) {
	if len(pods) == 0 || !metricName.MatchString(metric) {
		return 0, 0, nil
	}
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = regexp.QuoteMeta(pod)
	}
	query := "sum by (pod) (last_over_time(" + metric + "{namespace=" + quote(namespace) + ",pod=~" +
		quote(strings.Join(names, "|")) + "}[2m]))"
	_, err = p.query(ctx, "query", url.Values{"query": {query}}, newTexts(), func(row series) {
		for _, s := range row.samples {
			if !math.IsNaN(s.value) && !math.IsInf(s.value, 0) && s.value >= 0 {
				sum += s.value
				told++
			}
		}
	})
	return sum, told, err
}

var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
