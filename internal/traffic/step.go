package traffic

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Step is the length of the stretches that counts are kept in.
type Step struct {
	Long time.Duration
	Kept time.Duration
}

// The steps. Each call is in both.
var (
	Fine   = Step{Long: time.Minute, Kept: 7 * time.Hour}
	Coarse = Step{Long: 15 * time.Minute, Kept: 8 * 24 * time.Hour}
)

// Steps lists them.
func Steps() []Step { return []Step{Fine, Coarse} }

// FirstRevision is that of an endpoint as it was approved.
const FirstRevision = 1

// Source is whose calls are counted together: a consumer's with one revision of an endpoint. Key or Person is set, and
// neither where it is the sum over all consumers.
type Source struct {
	Workload workload.ID
	Key      string
	Person   identity.PersonID
	Revision int
}

// IsTotal reports whether it is the sum over all consumers.
func (s Source) IsTotal() bool { return s.Key == "" && s.Person == "" }

// total is the sum that a source belongs to.
func (s Source) total() Source { return Source{Workload: s.Workload, Revision: s.Revision} }

func (s Source) compare(o Source) int {
	return cmp.Or(cmp.Compare(s.Workload, o.Workload), cmp.Compare(s.Key, o.Key), cmp.Compare(s.Person, o.Person),
		cmp.Compare(s.Revision, o.Revision))
}

// Row is what was counted of a source in the step that begins at a time.
type Row struct {
	Source
	Step time.Duration
	At   time.Time
	Counts
}

// Rows are counts by minute as they are kept: in every step, and summed over the consumers. They come in one order, so
// that replicas that write at the same time do not wait for each other crosswise.
func Rows(minutes []Row) []Row {
	type key struct {
		Source
		step time.Duration
		at   int64
	}
	places, rows := make(map[key]int, 4*len(minutes)), make([]Row, 0, 4*len(minutes))
	for i := range minutes {
		m := &minutes[i]
		for _, s := range Steps() {
			at := m.At.Truncate(s.Long).UTC()
			for _, source := range []Source{m.Source, m.total()} {
				k := key{source, s.Long, at.Unix()}
				place, ok := places[k]
				if !ok {
					place = len(rows)
					places[k] = place
					rows = append(rows, Row{Source: source, Step: s.Long, At: at})
				}
				rows[place].Add(&m.Counts)
			}
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(a.compare(b.Source), cmp.Compare(a.Step, b.Step), a.At.Compare(b.At))
	})
	return rows
}

// Span is how far back figures go, in points that a chart can show.
type Span struct {
	Name string // as in an address: "1h"
	Long time.Duration
	Step time.Duration // between points
	Kept Step          // what they are made of
}

// Spans are those on offer.
func Spans() []Span {
	return []Span{{"1h", time.Hour, time.Minute, Fine}, {"6h", 6 * time.Hour, 5 * time.Minute, Fine},
		{"24h", 24 * time.Hour, 15 * time.Minute, Coarse}, {"7d", 7 * 24 * time.Hour, 2 * time.Hour, Coarse}}
}

// SpanOf is the span with this name, else the first.
func SpanOf(name string) Span {
	all := Spans()
	return all[max(0, slices.IndexFunc(all, func(s Span) bool { return s.Name == name }))]
}

// Since is when the span begins that ends now: with a step, so that the newest point is of a step under way.
func (s Span) Since(now time.Time) time.Time { return now.Truncate(s.Step).Add(s.Step - s.Long).UTC() }
