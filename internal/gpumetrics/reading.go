package gpumetrics

import "time"

// Reading is one metric value. Known is false when there is no usable value: then Value means nothing.
type Reading struct {
	Value float64
	At    time.Time // of the sample
	Known bool
}

// Device is one GPU, slice or share that a pod holds.
type Device struct {
	UUID        string // of the physical card, also for a slice
	Model       string // "NVIDIA H100 80GB HBM3"
	Profile     string // "1g.10gb" for a MIG slice
	Instance    string // GPU instance id of a MIG slice
	Node        string
	Engine      Reading // per cent of this device (of the slice, for a slice)
	MemoryUsed  Reading // MiB
	MemoryTotal Reading // MiB
	Power       Reading // W, of the whole card
	Temperature Reading // degrees Celsius, of the whole card
	OwnEngine   Reading // per cent used by this pod alone, where the exporter tells it for a card that several pods share
	OwnMemory   Reading // MiB used by this pod alone, likewise
	CardShared  bool    // power, temperature (and, for time-sliced cards, everything) belong to the whole card, which others use too
}

// Live is what is known of a pod's devices now.
type Live struct {
	At      time.Time // when Prometheus last answered; zero for never
	Devices []Device
}

// Point is one value of a history; Known is false in a gap.
type Point struct {
	At    time.Time
	Value float64
	Known bool
}
