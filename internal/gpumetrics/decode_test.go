package gpumetrics

import (
	"math"
	"strings"
	"testing"
	"time"
)

// FuzzAnswer feeds anything as both answers: nothing may panic, and a value that is called known is one that can be.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","UUID":"GPU-1","namespace":"a","pod":"b"},"value":[1763715620.1,"12"]}]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"UUID":"GPU-1","pod":"b","namespace":"a"},"values":[[1763715600,"NaN"],[1763715660,"5"]]}]}}`,
		`{"status":"error","errorType":"bad_data","error":"x"}`, `null`, `{}`, `[`, `{"status":"success","data":null}`,
		`{"status":"success","data":{"result":[{"metric":null,"value":[1e300,"9223372036854775794"]},{"value":["x",5]},{}]}}`,
		`{"status":"success","data":{"result":[{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","UUID":"G"},"value":[1763715620,"+Inf"]}]}}`,
	} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		labels := DefaultLabels()
		shot, health, history := newSampleSet(labels, now, time.Minute), newHealthSampleSet(labels, time.Hour),
			newMeans(labels)
		for _, take := range []func(series){shot.describe, shot.put, health.put, history.put} {
			if _, err := decode(strings.NewReader(text), limits{1 << 16, 1000}, newTexts(), take); err != nil {
				return
			}
		}
		shot.close(now, NodeIndex{})
		history.of()
		checkShot(t, shot, health)
	})
}

// checkShot asks of anything that came from anywhere that what is called known can be, that what is unknown has no
// value, and that the parts of a card are no more than it.
func checkShot(t *testing.T, s *sampleSet, h *healthSampleSet) {
	t.Helper()
	engine, memory, watts, most := map[deviceKey]float64{}, map[deviceKey]float64{}, map[string]float64{},
		map[string]float64{}
	for pod := range s.pods {
		for i, d := range s.live(pod).Devices {
			for _, r := range d.readings() {
				checkReading(t, *r)
			}
			key := deviceKey{d.UUID, d.Instance}
			engine[key] += d.OwnEngine.Value
			memory[key] += d.OwnMemory.Value
			watts[d.UUID] += d.OwnPower.Value
			util := s.pods[pod][i].known[utilPercent].v
			exceeds := func(what string, parts, whole float64) {
				if parts > whole*(1+1e-9)+1e-9 {
					t.Errorf("%s of %v: the parts add up to %v of %v", what, key, parts, whole)
				}
			}
			exceeds("engine", engine[key], max(d.Engine.Value, util))
			exceeds("memory", memory[key], max(d.MemoryUsed.Value, 0))
			most[d.UUID] = max(most[d.UUID], d.Power.Value) // a slice whose samples are too old does not know the card's power
		}
	}
	for uuid, parts := range watts {
		if parts > most[uuid]*(1+1e-9) {
			t.Errorf("power of %s: the parts add up to %v of %v", uuid, parts, most[uuid])
		}
	}
	for _, c := range h.healthOf(s) {
		for _, r := range []Reading{c.ECCCorrected, c.ECCUncorrected, c.RemapCorrected, c.RemapUncorrected, c.RemapFailed,
			c.Throttle, c.MemoryTemperature, c.PCIeReplays, c.NVLinkRate, c.NVLinkErrors} {
			checkReading(t, r)
		}
	}
}

func checkReading(t *testing.T, r Reading) {
	t.Helper()
	if r.Known() && (math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || math.Abs(r.Value) > 1e15) || !r.Known() &&
		r.Value != 0 {
		t.Errorf("%+v cannot be", r)
	}
}
