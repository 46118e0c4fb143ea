package gpumetrics

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/hardware"
)

// device is one card or slice in a sample set: what is known of it, and of each pod on it.
type device struct {
	Device
	known     [kinds]value         // of the device itself
	pods      []podRows            // what the rows of each pod say
	at        time.Time            // of the last sample, by the clock of this machine
	podSeenAt map[podKey]time.Time // of the last sample of each pod
	origins   []originSample       // by when they were heard of, at most mostOrigins
	duplicate bool                 // more than one node claims to have it
	synthetic bool                 // a card that is known by its slices; nobody's device
}

// mostOrigins bounds what is kept of rows that repeat a device.
const mostOrigins = 8

type originSample struct {
	origin
	at time.Time
}

// addOrigin keeps where a row comes from, in the order of the samples' times.
func (d *device) addOrigin(o origin, at time.Time) {
	d.origins = slices.DeleteFunc(d.origins, func(h originSample) bool { return h.origin == o && !h.at.After(at) })
	if slices.ContainsFunc(d.origins, func(h originSample) bool { return h.origin == o }) {
		return
	}
	i, _ := slices.BinarySearchFunc(d.origins, at, func(h originSample, at time.Time) int { return h.at.Compare(at) })
	d.origins = slices.Insert(d.origins, i, originSample{o, at})
	if len(d.origins) > mostOrigins {
		d.origins = d.origins[1:]
	}
}

// podRows are the rows of one pod on one device.
type podRows struct {
	pod      podKey
	doubtful bool // may be the exporter's own pod
	rows     [kinds]value
}

// sampleSet is everything one poll has brought. It is built row by row, so that the rows themselves need not be kept,
// and never changed afterwards.
type sampleSet struct {
	labels        Labels
	stale         time.Duration
	now           time.Time // when the poll began, by this machine's clock
	at            time.Time // when Prometheus answered
	skew          time.Duration
	devices       map[deviceKey]*device
	pods          map[podKey][]*device
	targets       map[podKey]bool // pods that are scrape targets: exporters
	computeSlices map[string]int  // compute slices of all slices of a card
	partitioned   map[string]bool // cards that have slices
	tally         tally

	fleet, silent func() *Fleet // of this sample set, and with nothing known any more
}

// tally counts what the rows of a sample set were like, for the page that says how well the metrics are.
type tally struct {
	nameless int               // rows without the UUID of a card
	orphans  int               // rows of devices of which no time is known
	exported bool              // labels are not honoured: exported_* are read
	series   map[string]int    // rows by metric name
	invalid  map[kind]int      // rows whose value is none
	warnings []string          // of Prometheus itself
	samples  map[kind]struct{} // kinds that have a usable value somewhere
	fields   []string          // names of DCGM's series, where none of them tells of a card
}

// addName takes in a row of the names query.
func (t *tally) addName(row series) { t.fields = append(t.fields, row.labels.get("__name__")) }

// warn keeps the first few: a Thanos that cannot reach a store says so for each.
func (t *tally) warn(words []string) {
	for _, w := range words {
		if len(t.warnings) < 3 && !slices.Contains(t.warnings, w) {
			t.warnings = append(t.warnings, strings.ToValidUTF8(w[:min(len(w), 200)], ""))
		}
	}
}

func newSampleSet(l Labels, now time.Time, stale time.Duration) *sampleSet {
	return &sampleSet{labels: l, now: now, stale: stale, devices: map[deviceKey]*device{}, targets: map[podKey]bool{},
		tally: tally{series: map[string]int{}, invalid: map[kind]int{}, samples: map[kind]struct{}{}}}
}

// describe takes in a row of the devices query: what a device is, and when it was last heard of. Ages are taken by
// Prometheus' own clock, so that a difference between its clock and ours is not an age.
func (s *sampleSet) describe(row series) {
	key, ok := s.labels.device(row.labels)
	if !ok {
		s.tally.nameless++
		return
	}
	if len(row.samples) == 0 {
		return
	}
	asked := row.samples[0]
	if !(asked.value > 0 && asked.value < 1e11) {
		return
	}
	s.skew = asked.at.Sub(s.now)
	age := max(0, asked.at.Sub(time.UnixMilli(int64(asked.value*1000))))
	at := s.now.Add(-age)
	d := s.devices[key]
	if d == nil {
		d = &device{}
		d.UUID, d.Instance = key.uuid, key.instance
		s.devices[key] = d
	}
	d.addOrigin(s.labels.origin(row.labels), at)
	if pod, _ := s.labels.holder(row.labels); pod != (podKey{}) && at.After(d.podSeenAt[pod]) {
		if d.podSeenAt == nil {
			d.podSeenAt = map[podKey]time.Time{}
		}
		d.podSeenAt[pod] = at
	}
	if !at.Before(d.at) { // two exporters for one device: the one heard of last
		d.at = at
		d.Model, d.Profile = cmp.Or(row.labels.first(s.labels.Model), d.Model), cmp.Or(s.labels.profile(row.labels),
			d.Profile)
		if name := row.labels.get("dra_claim_name"); name != "" {
			d.Claim = row.labels.get("dra_claim_namespace") + "/" + name
		}
	}
}

// put takes in a row of the values query.
func (s *sampleSet) put(row series) {
	name := row.labels.get("__name__")
	k, ok := kindOf[name]
	if !ok || k >= kinds || len(row.samples) == 0 {
		return
	}
	s.tally.series[name]++
	if t := s.labels.target(row.labels); t != (podKey{}) {
		s.targets[t] = true
		s.tally.exported = true
	}
	key, ok := s.labels.device(row.labels)
	if !ok {
		s.tally.nameless++
		return
	}
	v := metrics[k].value(scaled(name, row.samples[len(row.samples)-1].value))
	s.count(k, v)
	if k >= firstCardKind {
		key = key.card()
	}
	d := s.devices[key]
	if d == nil && k >= firstCardKind {
		d = s.cardOf(key) // a cut card, which has no row of its own but in this query
	}
	if d == nil {
		s.tally.orphans++
		return
	}
	pod, doubtful := s.labels.holder(row.labels)
	into := &d.known
	if pod != (podKey{}) {
		into = d.rowsOf(pod, doubtful)
	}
	into[k] = into[k].better(v)
}

func (s *sampleSet) count(k kind, v value) {
	switch v.state {
	case invalid:
		s.tally.invalid[k]++
	case valid:
		s.tally.samples[k] = struct{}{}
	}
}

// cardOf makes an entry for a card that is known by its slices only. It holds what is the card's, and is no device of
// anybody's.
func (s *sampleSet) cardOf(key deviceKey) *device {
	d := &device{synthetic: true}
	d.UUID = key.uuid
	s.devices[key] = d
	return d
}

func (d *device) rowsOf(pod podKey, doubtful bool) *[kinds]value {
	for i := range d.pods {
		if d.pods[i].pod == pod {
			return &d.pods[i].rows
		}
	}
	d.pods = append(d.pods, podRows{pod: pod, doubtful: doubtful})
	return &d.pods[len(d.pods)-1].rows
}

// departedAfter is how much older than its device the last sample of a pod on it must be for the pod to have left. It
// is longer than scrapes are apart.
const departedAfter = 2 * time.Minute

// departed reports whether a pod has left a device that others use now. Prometheus goes on giving its last sample for
// five minutes, where it was away itself, or the exporter, when the pod left: otherwise it notes at once that a row is
// gone.
func (d *device) departed(p podRows) bool {
	at, told := d.podSeenAt[p.pod]
	return told && d.at.Sub(at) > departedAfter
}

// close ends the building: now that all rows are there it is clear which pods are exporters, whose rows are those of
// the devices themselves.
func (s *sampleSet) close(at time.Time, nodes NodeIndex) *sampleSet {
	s.at = at
	s.assignNodes(nodes)
	holders := map[string]map[podKey]bool{}
	for key, d := range s.devices {
		d.pods = slices.DeleteFunc(d.pods, d.departed)
		d.pods = slices.DeleteFunc(d.pods, func(p podRows) bool {
			exporter := p.doubtful && (s.targets[p.pod] || exporterPod(p.pod.pod))
			for k := range p.rows {
				if exporter {
					d.known[k] = d.known[k].better(p.rows[k])
				}
			}
			return exporter
		})
		slices.SortFunc(d.pods, func(a, b podRows) int {
			return cmp.Or(cmp.Compare(a.pod.namespace, b.pod.namespace), cmp.Compare(a.pod.pod, b.pod.pod))
		})
		d.Pods = len(d.pods)
		for _, p := range d.pods {
			if holders[key.uuid] == nil {
				holders[key.uuid] = map[podKey]bool{}
			}
			holders[key.uuid][p.pod] = true
		}
	}
	s.pods, s.computeSlices, s.partitioned = map[podKey][]*device{}, map[string]int{}, map[string]bool{}
	for key, d := range s.devices {
		s.partitioned[key.uuid] = s.partitioned[key.uuid] || key.instance != ""
		s.computeSlices[key.uuid] += hardware.ComputeSlices(d.Profile)
		// the rest of a cut card is there for others, if not now then soon
		d.CardShared = len(holders[key.uuid]) > 1 || key.instance != ""
		for _, p := range d.pods {
			s.pods[p.pod] = append(s.pods[p.pod], d)
		}
	}
	for _, devices := range s.pods {
		slices.SortFunc(devices, inOrder)
	}
	s.prepare()
	return s
}

// inOrder sorts by place, and slices of a card by their number.
func inOrder(a, b *device) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.UUID, b.UUID), cmp.Compare(len(a.Instance), len(b.Instance)),
		cmp.Compare(a.Instance, b.Instance))
}

// live is what is known of a pod's devices.
func (s *sampleSet) live(pod podKey) Live {
	live := Live{At: s.at}
	for _, d := range s.pods[pod] {
		live.Devices = append(live.Devices, s.of(d, pod))
	}
	return live
}

// of says what a device does, and which part of that a pod does.
func (s *sampleSet) of(d *device, pod podKey) Device {
	out, whole := d.Device, d.whole()
	engine := whole[engineRatio]
	engine.v = min(100, engine.v*100)
	out.Engine = engine.reading(engineRatio, Measured)
	if !out.Engine.Known() && d.Instance == "" { // of a slice, utilisation says nothing
		if util := whole[utilPercent]; util.state != absent {
			out.Engine = util.reading(utilPercent, Measured)
		}
	}
	tensor := whole[tensorRatio]
	tensor.v = min(100, tensor.v*100)
	out.Tensor = tensor.reading(tensorRatio, Measured)
	out.MemoryUsed, out.MemoryTotal = whole[memUsed].reading(memUsed, Measured), total(whole).reading(memUsed, Measured)
	card := s.card(d)
	out.Power, out.Temperature = card[power].reading(power, Measured), card[temperature].reading(temperature, Measured)
	s.own(&out, d, pod)
	for _, r := range out.readings() {
		if r.Known() || r.Why != NoSeries { // what never was has no time
			r.At = d.at
		}
		if r.Known() && s.now.Sub(d.at) > s.stale {
			*r = r.without(TooOld)
		}
	}
	return out
}

// card is what is known of the whole card that a device is, or is cut from.
func (s *sampleSet) card(d *device) [kinds]value {
	if c := s.devices[deviceKey{uuid: d.UUID}]; c != nil {
		return c.whole()
	}
	return [kinds]value{}
}

// whole is what is known of the device as a whole: its own row, else the largest of the rows repeated for its pods.
func (d *device) whole() [kinds]value {
	out := d.known
	for k := range out {
		if out[k].state == valid {
			continue
		}
		for i := range d.pods {
			out[k] = out[k].better(d.pods[i].rows[k])
		}
	}
	return out
}

// total is all memory of the device: DCGM's list has no such field. Old lists lack the reserved part, which is small.
// Other exporters tell it, or which part of it is used.
func total(r [kinds]value) value {
	switch {
	case r[memSize].state == valid:
		return r[memSize]
	case r[memShare].state == valid && r[memShare].v > 0.01 && r[memUsed].state == valid:
		return value{math.Round(r[memUsed].v / r[memShare].v), valid}
	}
	worst := min(r[memUsed].state, r[memFree].state)
	if r[memUsed].state == invalid || r[memFree].state == invalid || r[memReserved].state == invalid {
		worst = min(worst, invalid)
	}
	if worst != valid {
		return value{state: worst}
	}
	return value{r[memUsed].v + r[memFree].v + r[memReserved].v, valid}
}

func (d *Device) readings() []*Reading {
	return []*Reading{&d.Engine, &d.Tensor, &d.MemoryUsed, &d.MemoryTotal, &d.Power, &d.Temperature, &d.OwnEngine,
		&d.OwnMemory, &d.OwnPower, &d.License}
}
