package gpumetrics

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Report is how well the metrics of one cluster are: which series there are, which views suffer, and what is peculiar
// about them.
type Report struct {
	Status   Status
	HealthAt time.Time     // when the health query last answered; zero for never
	Skew     time.Duration // by how much Prometheus' clock is ahead of ours
	Took     time.Duration // of the last poll
	Rows     int           // of its answers
	Bytes    int64
	Cards    int
	Slices   int
	Pods     int // that hold a device
	Stale    int // devices whose last sample is too old
	Series   []SeriesReport
	Views    []ViewReport
	Findings []Finding
	Health   []Card
}

// SeriesReport is one kind of series.
type SeriesReport struct {
	Name     string // as in gpumetrics.series.<name>
	Title    i18n.Text
	Metrics  []string // the names it may go by
	Found    []string // those that there are
	Devices  int      // devices with a usable value
	Expected int      // devices that could have one
	Invalid  int      // rows whose value is none
}

// Coverage of something, in three steps.
type Coverage string

// The steps. Idle is for what no device here could have.
const (
	Whole   Coverage = "whole"
	Partly  Coverage = "partly"
	Nothing Coverage = "nothing"
	Idle    Coverage = "idle"
)

// ViewReport is one place in the portal that shows readings.
type ViewReport struct {
	Name    string // as in gpumetrics.view.<name>
	Title   i18n.Text
	State   Coverage
	Missing []string // names of the series that it lacks, on all or on some devices
}

// Finding is something peculiar about the series: what, and, where something can be done about it, what.
type Finding struct {
	ID       string
	Severity Severity
	What     i18n.Text
	Todo     i18n.Text // zero where all is as it has to be
}

// watched says of each kind how it is called here and which devices can have it.
var watched = []struct {
	kind   kind
	name   string
	expect func(*device) bool
}{
	{engineRatio, "engine", func(d *device) bool { return !d.synthetic && bare(d) }},
	{utilPercent, "utilisation", func(d *device) bool { return !d.synthetic && d.Instance == "" }},
	{memUsed, "memory_used", anyDevice},
	{memFree, "memory_free", func(d *device) bool { return !d.synthetic && nvidia(d.UUID) }},
	{memReserved, "memory_reserved", func(d *device) bool { return !d.synthetic && nvidia(d.UUID) }},
	{tensorRatio, "tensor", func(d *device) bool { return !d.synthetic && bare(d) }},
	{power, "power", bare},
	{temperature, "temperature", bare},
	{xidLast, "xid", func(d *device) bool { return !d.synthetic && nvidia(d.UUID) }},
	{xidCount, "xid_count", func(d *device) bool { return !d.synthetic && nvidia(d.UUID) }},
	{eccUncorrected, "ecc", bare},
	{remapFailed, "remap", bare},
	{throttle, "throttle", bare},
	{memTemperature, "memory_temperature", bare},
	{pcieReplays, "pcie", bare},
	{nvlinkRate, "nvlink", bare},
	{nvlinkErrors, "nvlink_errors", bare},
	{license, "license", func(d *device) bool { return !d.synthetic && guest(d.Model) }},
}

// bare is what can tell something of a whole card: guests of a vGPU cannot.
func bare(d *device) bool { return !guest(d.Model) && nvidia(d.UUID) }

// nvidia: only DCGM can be asked to collect more. NVML's UUIDs of cards begin with "GPU-"; no other maker's do.
func nvidia(uuid string) bool { return strings.HasPrefix(uuid, "GPU-") }

// anyDevice is what every exporter tells of a card.
func anyDevice(d *device) bool { return !d.synthetic }

// views are what the portal shows, and what each needs: of each list one.
var views = []struct {
	name  string
	needs [][]kind
}{
	{"work", [][]kind{{engineRatio, utilPercent}}},
	{"memory", [][]kind{{memUsed}, {memFree, memSize, memShare}}},
	{"card", [][]kind{{power}, {temperature}}},
	{"idle", [][]kind{{engineRatio, utilPercent}}},
	{"errors", [][]kind{{xidLast}, {remapFailed}}},
	{"licenses", [][]kind{{license}}},
}

// Report says how well the metrics are, by what is known now. It asks nobody.
func (p *Poller) Report() Report {
	p.mu.Lock()
	s, h, r := p.samples, p.health, Report{Status: p.status, Took: p.took, Rows: p.rows, Bytes: p.bytes}
	p.mu.Unlock()
	if s == nil {
		return r
	}
	if h == nil {
		h = newHealthSampleSet(s.labels, p.cfg.Recent)
	}
	r.HealthAt, r.Skew = h.at, s.skew
	r.Health = h.healthOf(s)
	r.Cards, r.Pods = len(r.Health), len(s.pods)
	for _, d := range s.devices {
		if d.Instance != "" {
			r.Slices++
		}
		if !d.synthetic && s.now.Sub(d.at) > s.stale {
			r.Stale++
		}
	}
	has := coverage(s, h)
	for _, w := range watched {
		c := has[w.kind]
		r.Series = append(r.Series, SeriesReport{Name: w.name, Title: i18n.T("gpumetrics.series." + w.name),
			Metrics: metrics[w.kind].names, Found: found(s, h, w.kind), Devices: c.with, Expected: c.expected,
			Invalid: s.tally.invalid[w.kind] + h.invalid[w.kind]})
	}
	r.Views = viewReports(s, h)
	r.Findings = findings(s, h, r)
	return r
}

type covered struct{ with, expected int }

func coverage(s *sampleSet, h *healthSampleSet) map[kind]covered {
	has := map[kind]covered{}
	for _, d := range s.devices {
		for _, w := range watched {
			if d.Instance != "" && !metrics[w.kind].slice && s.devices[deviceKey{uuid: d.UUID}] != nil || !w.expect(d) {
				continue // of a card's kinds the card is asked, not each of its slices
			}
			c := has[w.kind]
			c.expected++
			if knows(s, h, d, w.kind) {
				c.with++
			}
			has[w.kind] = c
		}
	}
	return has
}

// knows reports whether there is a usable value of the kind.
func knows(s *sampleSet, h *healthSampleSet, d *device, k kind) bool {
	if !metrics[k].slice {
		if k < kinds {
			return s.card(d)[k].state == valid || d.whole()[k].state == valid
		}
		c := h.cards[d.UUID]
		return c != nil && c[k].state == valid
	}
	if k < kinds {
		return d.whole()[k].state == valid
	}
	own := h.slices[deviceKey{d.UUID, d.Instance}]
	switch {
	case own == nil:
		return false
	case k == xidLast:
		return own.last.state == valid
	case k == license:
		return own.license.state == valid
	}
	return h.series[metrics[xidCount].names[0]] > 0 // rows without an error name none, and are there all the same
}

func found(s *sampleSet, h *healthSampleSet, k kind) []string {
	var names []string
	for _, n := range metrics[k].names {
		if s.tally.series[n]+h.series[n] > 0 {
			names = append(names, n)
		}
	}
	return names
}

func viewReports(s *sampleSet, h *healthSampleSet) []ViewReport {
	names := map[kind]string{}
	expect := map[kind]func(*device) bool{}
	for _, w := range watched {
		names[w.kind], expect[w.kind] = w.name, w.expect
	}
	for _, k := range []kind{memSize, memShare} { // stand for the free memory where it is not told
		names[k], expect[k] = names[memFree], func(d *device) bool { return !d.synthetic && !nvidia(d.UUID) }
	}
	var out []ViewReport
	for _, v := range views {
		r, with, could, missing := ViewReport{Name: v.name, Title: i18n.T("gpumetrics.view." + v.name)}, 0, 0,
			map[string]bool{}
		for _, d := range s.devices {
			wanted, whole := false, true
			for _, one := range v.needs {
				possible := slices.DeleteFunc(slices.Clone(one), func(k kind) bool { return !expect[k](d) })
				if len(possible) == 0 {
					continue
				}
				wanted = true
				if !slices.ContainsFunc(possible, func(k kind) bool { return knows(s, h, d, k) }) {
					whole = false
					missing[names[possible[0]]] = true
				}
			}
			if wanted {
				could++
			}
			if wanted && whole {
				with++
			}
		}
		switch {
		case could == 0:
			r.State = Idle
		case with == could:
			r.State = Whole
		case with > 0:
			r.State = Partly
		default:
			r.State = Nothing
		}
		r.Missing = slices.Sorted(maps.Keys(missing))
		out = append(out, r)
	}
	return out
}

// Differences of clocks below this are those of answers under way.
const mostSkew = 15 * time.Second

// counts are what the findings are made from.
type counts struct {
	devices, noProfiling, sliceNoProfiling, slices, guests, shared, twice, claims int
	newNames                                                                      []string
}

func countDevices(s *sampleSet) counts {
	var c counts
	for _, d := range s.devices {
		if d.synthetic {
			continue
		}
		whole := d.whole()
		c.devices++
		add := func(n *int, yes bool) {
			if yes {
				*n++
			}
		}
		add(&c.slices, d.Instance != "")
		add(&c.guests, guest(d.Model))
		add(&c.twice, d.duplicate)
		add(&c.claims, d.Claim != "")
		add(&c.shared, len(d.pods) > 1 && d.known[memUsed].state != valid)
		add(&c.noProfiling, bare(d) && whole[engineRatio].state != valid)
		// only DCGM tells of slices at all: AMD's exporter has the activity of a whole card alone
		add(&c.sliceNoProfiling, d.Instance != "" && nvidia(d.UUID) && whole[engineRatio].state != valid)
	}
	for name, n := range s.tally.series {
		if k := kindOf[name]; n > 0 && strings.HasPrefix(name, "DCGM_") && slices.Index(metrics[k].names, name) > 0 {
			c.newNames = append(c.newNames, name)
		}
	}
	slices.Sort(c.newNames)
	return c
}

// missingFields are the fields by which cards are known and that are not among those there are.
func missingFields(there []string) []string {
	var missing []string
	for _, k := range []kind{engineRatio, utilPercent, memUsed, power, temperature} {
		if !slices.ContainsFunc(metrics[k].names, func(n string) bool { return slices.Contains(there, n) }) {
			missing = append(missing, metrics[k].names[0])
		}
	}
	return missing
}

// findings are the peculiarities of this sample set, those that want something done first.
func findings(s *sampleSet, h *healthSampleSet, r Report) []Finding {
	c := countDevices(s)
	invalid := 0
	for _, n := range s.tally.invalid {
		invalid += n
	}
	for _, n := range h.invalid {
		invalid += n
	}
	table := []struct {
		id       string
		severity Severity
		is       bool
		todo     bool
		args     []any
	}{
		{"no_devices", Danger, len(s.devices) == 0 && len(s.tally.fields) == 0, true, nil},
		{"no_fields", Danger, len(s.devices) == 0 && len(s.tally.fields) > 0 && s.tally.nameless == 0, true,
			[]any{"Number", len(s.tally.fields), "Fields", strings.Join(missingFields(s.tally.fields), ", ")}},
		{"no_pods", Warning, c.devices > 0 && r.Pods == 0, true, []any{"Number", c.devices}},
		{"stale", Warning, r.Stale > 0, true, []any{"Number", r.Stale}},
		{"skew", Warning, max(r.Skew, -r.Skew) > mostSkew, true, []any{"Seconds", int(r.Skew.Seconds())}},
		{"slices_unknown", Warning, c.sliceNoProfiling > 0, true, []any{"Number", c.sliceNoProfiling}},
		{"no_profiling", Warning, c.noProfiling > c.sliceNoProfiling, true,
			[]any{"Number", c.noProfiling - c.sliceNoProfiling}},
		{"invalid", Warning, invalid > 0, true, []any{"Number", invalid}},
		{"nameless", Warning, s.tally.nameless > 0, true, []any{"Number", s.tally.nameless}},
		{"twice", Warning, c.twice > 0, true, []any{"Number", c.twice}},
		{"warnings", Warning, len(s.tally.warnings) > 0, true, []any{"Words", strings.Join(s.tally.warnings, "; ")}},
		{"shared", Info, c.shared > 0, true, []any{"Number", c.shared}},
		{"exported", Info, s.tally.exported, false, nil},
		{"slices", Info, c.slices > 0, false, []any{"Number", c.slices}},
		{"guests", Info, c.guests > 0, false, []any{"Number", c.guests}},
		{"claims", Info, c.claims > 0, false, []any{"Number", c.claims}},
		{"new_names", Info, len(c.newNames) > 0, false, []any{"Words", strings.Join(c.newNames, ", ")}},
	}
	var out []Finding
	for _, f := range table {
		if !f.is {
			continue
		}
		one := Finding{ID: f.id, Severity: f.severity, What: i18n.T("gpumetrics.finding."+f.id, f.args...)}
		if f.todo {
			one.Todo = i18n.T("gpumetrics.finding_todo." + f.id)
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return int(b.Severity) - int(a.Severity) })
	return out
}
