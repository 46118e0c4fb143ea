package gpumetrics

import (
	"testing"
	"time"
)

func TestTotals(t *testing.T) {
	at := time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC)
	read := func(value float64, unit Unit, from Source, seconds int) Reading {
		return Reading{Value: value, Unit: unit, Source: from, At: at.Add(time.Duration(seconds) * time.Second)}
	}
	two := Live{Devices: []Device{
		{OwnEngine: read(80, Percent, Measured, 5), OwnMemory: read(1000, MiB, Measured, 5)},
		{OwnEngine: read(20, Percent, Apportioned, 2), OwnMemory: read(500, MiB, Measured, 2)}}}
	engine, memory := two.Totals()
	if engine != read(50, Percent, Apportioned, 2) || memory != read(1500, MiB, Measured, 2) {
		t.Errorf("two devices: %+v, %+v", engine, memory)
	}
	two.Devices[1].OwnEngine = Reading{Unit: Percent, Why: TooOld, At: at}
	if engine, memory = two.Totals(); engine.Known() || engine.Why != TooOld || !memory.Known() {
		t.Errorf("one does not tell: %+v, %+v", engine, memory)
	}
	if engine, memory = (Live{}).Totals(); engine.Known() || memory.Known() || engine.Unit != Percent {
		t.Errorf("no device: %+v, %+v", engine, memory)
	}
}
