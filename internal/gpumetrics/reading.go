package gpumetrics

import "time"

// Source says where a value comes from.
type Source uint8

// The sources. The zero value is Unknown, so that a Reading nobody has filled in is not a measured zero.
const (
	Unknown     Source = iota
	Measured           // the exporter gave it for exactly this
	Apportioned        // worked out from one value that stands for several pods or slices
)

// String is the word of the API.
func (s Source) String() string {
	return [...]string{"unknown", "measured", "apportioned"}[min(s, Apportioned)]
}

// Why is the cause for which a value is unknown.
type Why uint8

// The causes.
const (
	NoSeries  Why = iota // Prometheus has no such series for the device
	NoValue              // there is a series, and its value is blank or cannot be
	TooOld               // the last sample is older than Config.Stale
	NoAnswer             // Prometheus has not answered for Config.KeepFor
	OneForAll            // the only value is that of a card which an unknown number of pods use
)

// Unit is what a value counts.
type Unit string

// The units.
const (
	Percent   Unit = "%"
	MiB       Unit = "MiB"
	Watt      Unit = "W"
	Celsius   Unit = "°C"
	Count     Unit = "count"
	PerSecond Unit = "1/s"

	Cores          Unit = "cores"
	BytesPerSecond Unit = "B/s"
)

// Reading is one metric value. Where Source is Unknown, Value is 0 and means nothing, and Why says what is the matter.
type Reading struct {
	Value  float64
	Unit   Unit
	Source Source
	Why    Why
	// of the sample; for an unknown value of the last one there was, from when on it is unknown. Zero: never
	At time.Time
}

// Known reports whether there is a value.
func (r Reading) Known() bool { return r.Source != Unknown }

// Age is how old the sample is; 0 where there never was one.
func (r Reading) Age(now time.Time) time.Duration {
	if r.At.IsZero() {
		return 0
	}
	return max(0, now.Sub(r.At))
}

// without is the reading with its value taken away; its time stays.
func (r Reading) without(why Why) Reading {
	return Reading{Unit: r.Unit, At: r.At, Why: why}
}

// Device is one GPU, slice or share that a pod holds.
type Device struct {
	UUID        string // of the physical card, also for a slice
	Model       string // "NVIDIA H100 80GB HBM3"
	Profile     string // "1g.10gb" for a MIG slice
	Instance    string // GPU instance id of a MIG slice
	Node        string
	Claim       string  // namespace/name of the DRA claim that gave it, "" for none
	Engine      Reading // per cent of this device (of the slice, for a slice)
	Tensor      Reading // per cent of the time in which the tensor cores of this device worked
	MemoryUsed  Reading // MiB
	MemoryTotal Reading // MiB
	Power       Reading // W, of the whole card
	Temperature Reading // degrees Celsius, of the whole card
	// per cent of the device that this pod uses: apportioned where the exporter has one value for many pods
	OwnEngine Reading
	OwnMemory Reading // MiB that this pod uses, likewise
	OwnPower  Reading // W of this pod's part of the card, likewise; for a slice by its size
	License   Reading // 1 while a vGPU guest has its license, 0 while not; unknown for anything but a vGPU guest
	// power, temperature (and, for time-sliced cards, everything) belong to the whole card, which others use too
	CardShared bool
	Pods       int // how many pods the exporter names on the device
}

// Live is what is known of a pod's devices now.
type Live struct {
	At      time.Time // when Prometheus last answered; zero for never
	Devices []Device
}

// OnSharedCards is for a pod whose size says that its card is time-sliced or under MPS. Unless told otherwise, the
// exporter names one of the pods on such a card and gives it the card's values; nobody can say then which part of them
// is the pod's own.
func (l Live) OnSharedCards() Live {
	out := Live{At: l.At, Devices: append([]Device(nil), l.Devices...)}
	for i := range out.Devices {
		d := &out.Devices[i]
		d.CardShared = true
		if d.Pods > 1 {
			continue
		}
		for _, own := range []*Reading{&d.OwnEngine, &d.OwnMemory, &d.OwnPower} {
			if own.Known() {
				*own = own.without(OneForAll)
			}
		}
	}
	return out
}

// Point is one value of a history; Known is false in a gap.
type Point struct {
	At    time.Time
	Value float64
	Known bool
}
