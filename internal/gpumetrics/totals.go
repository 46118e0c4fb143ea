package gpumetrics

// Totals are what a pod uses of all of its devices: the mean of their engines, in per cent, and their memory added up,
// in MiB. Where one of them does not tell, and where there is none, it is unknown.
func (l Live) Totals() (engine, memory Reading) {
	engine = sumOf(l.Devices, Percent, func(d Device) Reading { return d.OwnEngine })
	engine.Value /= float64(max(1, len(l.Devices)))
	return engine, sumOf(l.Devices, MiB, func(d Device) Reading { return d.OwnMemory })
}

// sumOf adds values up. It is as old as the oldest of them.
func sumOf(devices []Device, unit Unit, of func(Device) Reading) Reading {
	sum := Reading{Unit: unit}
	for i, d := range devices {
		r := of(d)
		if !r.Known() {
			return Reading{Unit: unit, Why: r.Why, At: r.At}
		}
		if i == 0 || r.At.Before(sum.At) {
			sum.At = r.At
		}
		sum.Value, sum.Source = sum.Value+r.Value, max(sum.Source, r.Source)
	}
	return sum
}
