package gpumetrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Severity is how much a trouble matters.
type Severity uint8

// The severities.
const (
	Info    Severity = iota // nobody needs to do anything to the card
	Warning                 // at the next opportunity
	Danger                  // now: what runs there fails, or gives wrong results
)

// String is the word of the API.
func (s Severity) String() string { return [...]string{"info", "warning", "danger"}[min(s, Danger)] }

// Issue is something about a card that somebody should know.
type Issue struct {
	Severity Severity
	What     i18n.Text
	Todo     i18n.Text
}

// OfNode reports whether what is to be done begins with the node, as a restart of it does.
func (i Issue) OfNode() bool {
	switch i.Todo.ID {
	case "gpumetrics.todo.bus", "gpumetrics.todo.firmware", "gpumetrics.todo.link", "gpumetrics.todo.memory":
		return true
	}
	return false
}

// Card is the health of one physical card. What is not known is Unknown, and no trouble.
type Card struct {
	UUID, Model, Node string
	At                time.Time // of the last sample
	XIDs              []XIDReading
	TellsErrors       bool    // there is a last XID error or a count of them, even if it is none
	ECCCorrected      Reading // single-bit errors since the driver was loaded
	ECCUncorrected    Reading // double-bit errors, likewise
	RemapCorrected    Reading // rows of memory replaced after errors that could be corrected
	RemapUncorrected  Reading // and after those that could not
	RemapFailed       Reading // 1 when a row could not be replaced
	Throttle          Reading // the reasons as bits, see Reasons
	Reasons           []Reason
	MemoryTemperature Reading
	PCIeReplays       Reading
	NVLinkRate        Reading // how fast the counters over all links grow; 0 where nothing is sent
	NVLinkErrors      Reading // the largest of the error counters
	Issues            []Issue
}

// Worst is the severity of the worst trouble; ok is false where there is none.
func (c Card) Worst() (s Severity, ok bool) {
	for _, t := range c.Issues {
		s, ok = max(s, t.Severity), true
	}
	return s, ok
}

// MissingErrors are the fields by which DCGM would tell of a card's errors, and does not.
func (c Card) MissingErrors() []string {
	if !nvidia(c.UUID) {
		return nil // another maker's exporter speaks
	}
	var missing []string
	for _, f := range []struct {
		told bool
		kind kind
	}{{c.TellsErrors, xidLast}, {c.ECCUncorrected.Known(), eccUncorrected}, {c.RemapFailed.Known(), remapFailed},
		{c.Throttle.Known(), throttle}} {
		if !f.told {
			missing = append(missing, metrics[f.kind].names[0])
		}
	}
	return missing
}

// XIDReading is the last error that a card or a slice of it has told, or one of those counted in the exporter's window.
type XIDReading struct {
	Instance string // of a slice, "" for the card
	Code     int
	Count    Reading // how often within the exporter's window; unknown where it does not count
	// since when it has been the last one; zero where it is counted, and where samples do not tell. The same error
	// once more changes nothing
	Since  time.Time
	Before bool // it was there when the samples begin, so it came then or earlier
	Old    bool // it is no news any more
}

// xidClass is what kind of trouble an XID error is; the words are in gpumetrics.xid.<class> and
// gpumetrics.todo.<class>.
type xidClass struct {
	name     string
	severity Severity
}

var (
	xidProgram  = xidClass{"program", Info}
	xidMemory   = xidClass{"memory", Danger}
	xidContents = xidClass{"contained", Warning}
	xidRemap    = xidClass{"remap", Warning}
	xidLink     = xidClass{"link", Danger}
	xidBus      = xidClass{"bus", Danger}
	xidFirmware = xidClass{"firmware", Danger}
	xidRecovery = xidClass{"recovery", Warning}
	xidOther    = xidClass{"other", Warning}
)

// The codes whose meaning dcgm-exporter knows (its xid_errors.go). That those of programs call for nothing to be done
// to the node, and the others do, is common practice and no promise of the vendor.
var xidClasses = map[int]xidClass{
	13: xidProgram, 31: xidProgram, 43: xidProgram, 45: xidProgram,
	48: xidMemory, 95: xidMemory, 140: xidMemory,
	64: xidMemory, 92: xidMemory, // a row that could not be replaced; many single-bit errors
	63: xidRemap,
	94: xidContents,
	74: xidLink, 149: xidLink,
	79: xidBus,
	62: xidFirmware, 119: xidFirmware, 120: xidFirmware, 143: xidFirmware,
	154: xidRecovery,
}

// XIDClass says what kind of trouble an XID error is, as in gpumetrics.xid.<class> and gpumetrics.todo.<class>, and how
// much it matters.
func XIDClass(code int) (class string, s Severity) {
	c := classOf(code)
	return c.name, c.severity
}

func classOf(code int) xidClass {
	if c, ok := xidClasses[code]; ok {
		return c
	}
	return xidOther
}

// Reason is why a card runs slower than it could.
type Reason struct {
	Name     string // as in gpumetrics.throttle.<name>
	Severity Severity
}

// The bits of nvmlClocksEventReasons (nvml.h, NVML_CLOCKS_EVENT_REASON_*), which DCGM hands on. Idle, a clock that
// somebody has set, sync boost and display clocks are no trouble and are not told.
var reasons = []struct {
	bit uint64
	Reason
}{
	{0x4, Reason{"power_cap", Info}},
	{0x8, Reason{"hardware", Warning}},
	{0x20, Reason{"heat", Warning}},
	{0x40, Reason{"heat_hardware", Danger}},
	{0x80, Reason{"power_brake", Danger}},
}

// reasonsOf reads the bits.
func reasonsOf(r Reading) []Reason {
	var out []Reason
	if !r.Known() {
		return nil
	}
	for _, x := range reasons {
		if uint64(r.Value)&x.bit != 0 {
			out = append(out, x.Reason)
		}
	}
	return out
}

// healthSampleSet is what the health query has brought.
type healthSampleSet struct {
	labels  Labels
	at      time.Time
	cards   map[string]*[allKinds]value // by UUID
	slices  map[deviceKey]*sliceHealth
	invalid map[kind]int
	series  map[string]int
	since   map[errorKey]appearance
	recent  time.Duration // for how long an error is news
}

type sliceHealth struct {
	last, license value
	counts        map[int]value
}

func newHealthSampleSet(l Labels, recent time.Duration) *healthSampleSet {
	return &healthSampleSet{labels: l, recent: recent, cards: map[string]*[allKinds]value{},
		slices: map[deviceKey]*sliceHealth{}, invalid: map[kind]int{}, series: map[string]int{}}
}

// put takes in a row of the health query.
func (h *healthSampleSet) put(row series) {
	name := row.labels.get("__name__")
	k, ok := kindOf[name]
	if row.labels.get(partLabel) == partNVLink {
		k, ok, name = nvlinkRate, true, metrics[nvlinkRate].names[0]
	}
	key, named := h.labels.device(row.labels)
	if !ok || !named || k <= kinds || len(row.samples) == 0 {
		return
	}
	h.series[name]++
	v := metrics[k].value(row.samples[len(row.samples)-1].value)
	if v.state == invalid {
		h.invalid[k]++
	}
	if !metrics[k].slice {
		c := h.cards[key.uuid]
		if c == nil {
			c = new([allKinds]value)
			h.cards[key.uuid] = c
		}
		c[k] = c[k].better(v)
		return
	}
	s := h.slices[key]
	if s == nil {
		s = &sliceHealth{counts: map[int]value{}}
		h.slices[key] = s
	}
	switch k {
	case xidLast:
		s.last = s.last.better(v)
	case license:
		s.license = s.license.better(v)
	case xidCount:
		if code, err := strconv.Atoi(row.labels.get("xid")); err == nil && code > 0 && code < 10_000 {
			s.counts[code] = s.counts[code].better(v)
		}
	}
}

// licenseOf is what a device's rows say of its vGPU license. A host, a card passed through and a MIG slice say 0 as
// well: only a guest's word counts.
func (h *healthSampleSet) licenseOf(d *device) Reading {
	if h == nil || !guest(d.Model) {
		return Reading{Unit: Count}
	}
	s := h.slices[deviceKey{d.UUID, d.Instance}]
	if s == nil {
		return Reading{Unit: Count}
	}
	return s.license.reading(license, Measured)
}

// guest knows a vGPU by its type, which stands where a card has its name: "NVIDIA A40-12Q", "GRID T4-4C", "NVIDIA
// H100XM-1-10CME".
func guest(model string) bool {
	is, _ := hardware.VGPUType(model)
	return is
}

// cards are the health of every card that the sample set knows, in a steady order.
func (h *healthSampleSet) healthOf(s *sampleSet) []Card {
	at := map[string]*device{}
	bySlices := map[string][]*device{}
	for _, d := range s.devices {
		bySlices[d.UUID] = append(bySlices[d.UUID], d)
		if old := at[d.UUID]; old == nil || d.Instance == "" && !d.synthetic {
			at[d.UUID] = d
		}
	}
	out := make([]Card, 0, len(at))
	for _, uuid := range slices.Sorted(maps.Keys(at)) {
		on := bySlices[uuid]
		slices.SortFunc(on, inOrder)
		out = append(out, h.card(s, at[uuid], on))
	}
	slices.SortStableFunc(out, func(a, b Card) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.UUID, b.UUID))
	})
	return out
}

func (h *healthSampleSet) card(s *sampleSet, d *device, on []*device) Card {
	c := Card{UUID: d.UUID}
	for _, part := range on {
		if !part.synthetic && !part.at.Before(c.At) {
			c.Model, c.Node, c.At = part.Model, part.Node, part.at
		}
	}
	values := [allKinds]value{}
	if v := h.cards[d.UUID]; v != nil {
		values = *v
	}
	old := s.now.Sub(c.At) > s.stale
	reading := func(k kind) Reading {
		r := values[k].reading(k, Measured)
		if r.At = c.At; old && r.Known() {
			return r.without(TooOld)
		}
		return r
	}
	c.ECCCorrected, c.ECCUncorrected = reading(eccCorrected), reading(eccUncorrected)
	c.RemapCorrected, c.RemapUncorrected, c.RemapFailed = reading(remapCorrected), reading(remapUncorrected),
		reading(remapFailed)
	c.Throttle, c.MemoryTemperature, c.PCIeReplays = reading(throttle), reading(memTemperature), reading(pcieReplays)
	c.NVLinkRate, c.NVLinkErrors = reading(nvlinkRate), reading(nvlinkErrors)
	c.Reasons = reasonsOf(c.Throttle)
	for _, part := range on {
		c.XIDs = append(c.XIDs, h.xids(part, c.At, s.now)...)
		c.TellsErrors = c.TellsErrors || h.tells(part)
	}
	c.Issues = issues(c)
	return c
}

// tells reports whether a device says anything of errors.
func (h *healthSampleSet) tells(d *device) bool {
	s := h.slices[deviceKey{d.UUID, d.Instance}]
	return s != nil && (s.last.state == valid || len(s.counts) > 0)
}

// xids are the errors of one device: those counted of late, and the last one there ever was, which may be long ago.
func (h *healthSampleSet) xids(d *device, at, now time.Time) []XIDReading {
	s := h.slices[deviceKey{d.UUID, d.Instance}]
	if s == nil {
		return nil
	}
	var out []XIDReading
	for _, code := range slices.Sorted(maps.Keys(s.counts)) {
		if v := s.counts[code]; v.state == valid && v.v > 0 {
			count := v.reading(xidCount, Measured)
			count.At = at
			out = append(out, XIDReading{Instance: d.Instance, Code: code, Count: count})
		}
	}
	last := int(s.last.v)
	if s.last.state == valid && last > 0 && !slices.ContainsFunc(out, func(x XIDReading) bool { return x.Code == last }) {
		came := h.since[errorKey{deviceKey{d.UUID, d.Instance}, last}]
		out = append(out, XIDReading{Instance: d.Instance, Code: last, Count: Reading{Unit: Count}, Since: came.at,
			Before: came.before, Old: !came.at.IsZero() && now.Sub(came.at) > h.recent})
	}
	return out
}

// issue is an error in words. One that is no news any more calls for nothing.
func (x XIDReading) issue() Issue {
	class := classOf(x.Code)
	words := "gpumetrics.xid_last"
	switch {
	case x.Count.Known():
		words = "gpumetrics.xid_counted"
	case x.Before:
		words = "gpumetrics.xid_before"
	case !x.Since.IsZero():
		words = "gpumetrics.xid_since"
	}
	t := Issue{class.severity, i18n.T(words, "Code", x.Code, "Class", i18n.T("gpumetrics.xid."+class.name), "Times",
		int(x.Count.Value), "Time", i18n.MomentUTC(x.Since)), i18n.T("gpumetrics.todo." + class.name)}
	if x.Old {
		t.Severity, t.Todo = Info, i18n.T("gpumetrics.todo.old")
	}
	return t
}

// issues says of each reading that is not as it should be what it means and what to do.
func issues(c Card) []Issue {
	var out []Issue
	for _, x := range c.XIDs {
		out = append(out, x.issue())
	}
	for _, x := range []struct {
		r        Reading
		severity Severity
		name     string
	}{
		{c.RemapFailed, Danger, "remap_failed"}, {c.ECCUncorrected, Danger, "ecc_uncorrected"},
		{c.RemapUncorrected, Warning, "remap_uncorrected"}, {c.NVLinkErrors, Warning, "nvlink_errors"},
	} {
		if x.r.Known() && x.r.Value > 0 {
			out = append(out, Issue{x.severity, i18n.T("gpumetrics.trouble."+x.name, "Number", int64(x.r.Value)),
				i18n.T("gpumetrics.todo." + x.name)})
		}
	}
	for _, r := range c.Reasons {
		out = append(out, Issue{r.Severity, i18n.T("gpumetrics.throttle." + r.Name),
			i18n.T("gpumetrics.todo.throttle_" + r.Name)})
	}
	slices.SortStableFunc(out, func(a, b Issue) int { return cmp.Compare(b.Severity, a.Severity) })
	return out
}
