package gpumetrics

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// queries are all that is ever asked, made once. They name the labels that are kept: without the others (driver
// version, bus id, pod labels …) the answer of a large site is a fifth of its size, and rows that two Prometheus
// replicas or a second scrape repeat become one.
type queries struct {
	labels  Labels
	devices string // what each device is and whose, with the time of its last sample as the value
	values  string // what each device does, and for each pod on it; what the card does, once
	health  string // what is the matter with cards
	names   string // which fields of DCGM there are at all; asked only while no card is known
}

func newQueries(l Labels) queries {
	device := l.ofDevice()
	of := func(wanted func(kind, metric) bool) string { return selector(namesOf(wanted), "") }
	return queries{
		labels: l,
		names:  `count by (__name__) ({__name__=~"DCGM_.+"})`,
		// An instant query stamps samples with its own time, so timestamp() has to ask for theirs. All metrics of a device
		// come from one scrape: one of them tells the time for all. Each stands for devices that lack those before it.
		devices: maxBy(slices.Concat(device, []string{amdMemory}, l.Profile, l.Model, l.Node, targetLabels,
			claimLabels, l.Namespace, l.Pod)) + "(" +
			strings.Join(clocks(), " or ") + ")",
		values: maxBy(slices.Concat([]string{"__name__"}, device, l.Namespace, l.Pod)) + "(" +
			of(func(k kind, _ metric) bool { return k < firstCardKind }) + ") or " +
			part(partCard, maxBy(slices.Concat([]string{"__name__"}, l.ofCard()))+"("+
				of(func(k kind, _ metric) bool { return k >= firstCardKind && k < kinds })+")"),
		// A counter that starts again is no negative number of anything: rate() knows, and it comes before max.
		health: maxBy(slices.Concat([]string{"__name__", "xid"}, device)) + "(" +
			of(func(k kind, m metric) bool { return k > kinds && m.slice }) + ") or " +
			part(partCard, maxBy(slices.Concat([]string{"__name__"}, l.UUID))+"("+
				of(func(k kind, m metric) bool { return k > kinds && !m.slice && k != nvlinkRate })+")") + " or " +
			part(partNVLink, maxBy(l.UUID)+"("+nvlink()+")"),
	}
}

// claimLabels are the exporter's with --kubernetes-enable-dra.
var claimLabels = []string{"dra_claim_namespace", "dra_claim_name"}

func maxBy(names []string) string { return "max by (" + strings.Join(names, ", ") + ") " }

// clocks are the series that tell the time of a device.
func clocks() []string {
	var parts []string
	for _, k := range []kind{memUsed, engineRatio, utilPercent, power, temperature} {
		for _, n := range metrics[k].names {
			parts = append(parts, "timestamp("+selector([]string{n}, "")+")")
		}
	}
	return append(parts, "timestamp("+selector([]string{modelOf}, "")+")")
}

// modelOf is where XPU Manager 2.x tells the model of a card.
const modelOf = "hw_gpu_info"

// selector gives the rows of some series that are of devices, by their matchers, and that a matcher of the caller's
// chooses. What other matchers choose is joined by "or", which looks at labels alone: series whose rows have the same
// labels have the same matchers.
func selector(names []string, and string) string {
	by := map[string][]string{}
	for _, n := range names {
		by[matchers[n]] = append(by[matchers[n]], n)
	}
	var parts []string
	for _, m := range slices.Sorted(maps.Keys(by)) {
		name, also := "", strings.Trim(m+","+and, ",")
		if slices.Sort(by[m]); len(by[m]) == 1 {
			name = by[m][0]
		} else {
			also = strings.TrimSuffix("__name__=~"+quote(strings.Join(by[m], "|"))+","+also, ",")
		}
		if also != "" {
			also = "{" + also + "}"
		}
		parts = append(parts, name+also)
	}
	return strings.Join(parts, " or ")
}

// partLabel tells the parts of a query apart. "or" compares rows without regard to their metric names, so that the
// power of a free card would be taken for another row of its memory, and be dropped.
const (
	partLabel  = "portal_part"
	partCard   = "card"
	partNVLink = "nvlink"
)

func part(name, query string) string {
	return "label_replace(" + query + `, "` + partLabel + `", "` + name + `", "", "")`
}

// nvlink is the rate of the counters over all lanes.
func nvlink() string {
	var parts []string
	for _, n := range metrics[nvlinkRate].names {
		parts = append(parts, "rate("+n+"[5m])")
	}
	return strings.Join(parts, " or ")
}

// history gives the engine use of every pod's devices, in per cent, for the given namespaces (all when there are none).
// Utilisation stands in where the profiling metrics are missing (vGPU, old cards), but never for a slice: some versions
// report 0 there.
func (q queries) history(namespaces []string) string {
	var parts []string
	by := maxBy(slices.Concat(q.labels.ofDevice(), q.labels.Namespace, q.labels.Pod))
	for _, k := range []kind{engineRatio, utilPercent} {
		factor, whole := "100 * ", ""
		if k == utilPercent {
			factor, whole = "", q.labels.whole()
		}
		for _, name := range metrics[k].names {
			for _, in := range q.namespaceMatchers(namespaces) {
				parts = append(parts, factor+by+"("+promSeries(name, whole+","+in)+")")
			}
		}
	}
	return strings.Join(parts, " or ")
}

// namespaceMatchers are one for each name that a row may call its tenant by; a later one counts where those before it
// are not there.
func (q queries) namespaceMatchers(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{""}
	}
	names := make([]string, len(namespaces))
	for i, n := range namespaces {
		names[i] = regexp.QuoteMeta(n)
	}
	any := quote(strings.Join(names, "|"))
	var matchers []string
	before := ""
	for _, label := range q.labels.Namespace {
		matchers = append(matchers, before+label+"=~"+any)
		before += label + `="",`
	}
	return matchers
}

// quote writes a string of PromQL; its escapes are those of Go. Nothing that comes from outside reaches a query but
// through here.
func quote(text string) string { return strconv.Quote(strings.ToValidUTF8(text, "\uFFFD")) }
