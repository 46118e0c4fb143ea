package gpumetrics

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// podKey names a pod of the cluster.
type podKey struct{ namespace, pod string }

// deviceKey names a card, or a MIG slice of it.
type deviceKey struct{ uuid, instance string }

// row of the values query, understood.
type reading struct {
	device deviceKey
	pod    podKey // zero when no pod holds the device
	kind   kind
	value  Reading
}

// device is what is known of one device, and of each pod on it.
type device struct {
	Device
	known [kinds]Reading             // of the device itself
	pods  map[podKey]*[kinds]Reading // what the rows of each pod say
	at    time.Time                  // of the last sample, by the clock of this machine
}

// shot is everything one poll has brought.
type shot struct {
	at   time.Time // when Prometheus answered
	pods map[podKey][]Device
}

// arrange turns the rows of both queries into devices by pod. now is this machine's clock at the answer; ages are taken by Prometheus' own clock,
// so that a difference between the two is not an age. Samples older than stale are unknown, and keep their time.
func arrange(values, devices []series, now time.Time, stale time.Duration) shot {
	all := describe(devices, now)
	exporters := exporterPods(values)
	for _, s := range values {
		r, ok := read(s, exporters)
		if !ok {
			continue
		}
		d := all[r.device]
		if d == nil {
			continue // no time is known for it
		}
		r.value.At = d.at
		if now.Sub(d.at) > stale {
			r.value.Known = false
		}
		d.put(r)
	}
	return shot{at: now, pods: byPod(all)}
}

// describe reads the devices query: what each device is, and when it was last heard of.
func describe(rows []series, now time.Time) map[deviceKey]*device {
	all := map[deviceKey]*device{}
	for _, s := range rows {
		key, ok := deviceOf(s.labels)
		if !ok || len(s.samples) == 0 {
			continue
		}
		asked := s.samples[0]
		seconds := asked.value
		if !(seconds > 0 && seconds < 1e11) {
			continue
		}
		age := max(0, asked.at.Sub(time.UnixMilli(int64(seconds*1000))))
		at := now.Add(-age)
		d := all[key]
		if d == nil {
			d = &device{pods: map[podKey]*[kinds]Reading{}}
			d.UUID, d.Instance = key.uuid, key.instance
			all[key] = d
		}
		if !at.Before(d.at) { // two exporters for one device: the one heard of last
			d.at = at
			d.Model, d.Profile = s.labels["modelName"], s.labels["GPU_I_PROFILE"]
			d.Node = cmp.Or(s.labels["Hostname"], s.labels["hostname"])
		}
	}
	return all
}

func deviceOf(labels map[string]string) (deviceKey, bool) {
	uuid := cmp.Or(labels["UUID"], labels["uuid"])
	return deviceKey{uuid, labels["GPU_I_ID"]}, uuid != ""
}

// podOf reads which pod holds the device of a row. Prometheus renames the exporter's labels to exported_* and puts the exporter's own pod
// in their place, unless it was told to honour them: then a free device has none. The exporter's pod is never a holder.
func podOf(labels map[string]string, exporters map[podKey]bool) podKey {
	if k := (podKey{labels["exported_namespace"], labels["exported_pod"]}); k.namespace != "" && k.pod != "" {
		return k
	}
	if k := (podKey{labels["pod_namespace"], labels["pod_name"]}); k.namespace != "" && k.pod != "" {
		return k
	}
	k := podKey{labels["namespace"], labels["pod"]}
	if k.namespace == "" || k.pod == "" || exporters[k] || strings.Contains(k.pod, "dcgm-exporter") {
		return podKey{}
	}
	return k
}

// exporterPods finds the pods that stand as scrape target beside an exported pod, and all rows of which are therefore the exporter's.
func exporterPods(rows []series) map[podKey]bool {
	found := map[podKey]bool{}
	for _, s := range rows {
		if s.labels["exported_pod"] != "" && s.labels["pod"] != "" {
			found[podKey{s.labels["namespace"], s.labels["pod"]}] = true
		}
	}
	return found
}

// read understands a row of the values query.
func read(s series, exporters map[podKey]bool) (reading, bool) {
	m, ok := metrics[s.labels["__name__"]]
	key, named := deviceOf(s.labels)
	if !ok || !named || len(s.samples) == 0 {
		return reading{}, false
	}
	v := s.samples[len(s.samples)-1].value
	r := reading{device: key, pod: podOf(s.labels, exporters), kind: m.kind}
	if v >= m.min && v <= m.max { // false for NaN
		r.value = Reading{Value: v, Known: true}
	}
	return r, true
}

// put notes a row. Of repeated rows the larger known value stays: they repeat one value, and adding them up would count it twice.
func (d *device) put(r reading) {
	into := &d.known
	if r.pod != (podKey{}) {
		if d.pods[r.pod] == nil {
			d.pods[r.pod] = &[kinds]Reading{}
		}
		into = d.pods[r.pod]
	}
	if old := into[r.kind]; !old.Known || r.value.Known && r.value.Value > old.Value {
		into[r.kind] = r.value
	}
}

// byPod gives each pod its devices, in a steady order.
func byPod(all map[deviceKey]*device) map[podKey][]Device {
	holders := map[string]map[podKey]bool{}
	for key, d := range all {
		for pod := range d.pods {
			if holders[key.uuid] == nil {
				holders[key.uuid] = map[podKey]bool{}
			}
			holders[key.uuid][pod] = true
		}
	}
	out := map[podKey][]Device{}
	for key, d := range all {
		shared := len(holders[key.uuid]) > 1 || key.instance != "" // the rest of a cut card is there for others, if not now then soon
		card := all[deviceKey{key.uuid, ""}]
		for pod := range d.pods {
			out[pod] = append(out[pod], d.forPod(pod, card, shared))
		}
	}
	for _, devices := range out {
		slices.SortFunc(devices, func(a, b Device) int {
			return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.UUID, b.UUID), cmp.Compare(len(a.Instance), len(b.Instance)), cmp.Compare(a.Instance, b.Instance))
		})
	}
	return out
}

// forPod says what a device does. On a card that several pods share, the device's own row tells of the whole card and the pod's row of the pod; metrics
// that are repeated for each pod are the whole card's.
func (d *device) forPod(pod podKey, card *device, shared bool) Device {
	out := d.Device
	whole := d.whole()
	out.Engine = whole[engineRatio]
	out.Engine.Value = min(100, out.Engine.Value*100)
	if !out.Engine.Known && d.Instance == "" {
		out.Engine = whole[utilPercent]
	}
	out.MemoryUsed, out.MemoryTotal = whole[memUsed], total(whole)
	out.Power, out.Temperature = whole[power], whole[temperature]
	if card != nil && card != d { // whole-card rows beside those of its slices
		of := card.whole()
		out.Power, out.Temperature = known(out.Power, of[power]), known(out.Temperature, of[temperature])
	}
	out.CardShared = shared
	if own := d.pods[pod]; len(d.pods) > 1 {
		// A row of the device itself beside the pods' rows is how the exporter shows that the latter are the pods' own.
		out.OwnEngine = ownValue(own[utilPercent], d.known[utilPercent])
		out.OwnMemory = ownValue(own[memUsed], d.known[memUsed])
	}
	for _, r := range out.readings() {
		r.At = d.at
		if !r.Known {
			r.Value = 0
		}
	}
	return out
}

func ownValue(own, device Reading) Reading {
	if device == (Reading{}) {
		return Reading{}
	}
	return own
}

func known(a, b Reading) Reading {
	if a.Known {
		return a
	}
	return b
}

// whole is what is known of the device as a whole: its own row, else the largest of the rows repeated for its pods.
func (d *device) whole() [kinds]Reading {
	out := d.known
	for k := range out {
		if out[k].Known {
			continue
		}
		for _, rows := range d.pods {
			if r := rows[k]; r.Known && (!out[k].Known || r.Value > out[k].Value) {
				out[k] = r
			}
		}
	}
	return out
}

// total is all memory of the device: DCGM's list has no such field. Old lists lack the reserved part, which is small.
func total(r [kinds]Reading) Reading {
	if !r[memUsed].Known || !r[memFree].Known {
		return Reading{}
	}
	return Reading{Value: r[memUsed].Value + r[memFree].Value + r[memReserved].Value, Known: true}
}
