package gpumetrics

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// largeAnswer is one metric of 625 nodes with 8 cards of 7 slices each: 35,000 rows.
func largeAnswer(name, value string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"success","data":{"resultType":"vector","result":[`)
	for i := range 35_000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b,
			`{"metric":{"__name__":%q,"UUID":"GPU-1f0e8a52-6b1c-4c0e-9a53-%012x","GPU_I_ID":"%d","GPU_I_PROFILE":"1g.10gb","modelName":"NVIDIA H100 80GB HBM3","hostname":"worker-%03d","exported_namespace":"tenant-%03d","exported_pod":"nb-%05d-0","namespace":"nvidia-gpu-operator","pod":"nvidia-dcgm-exporter-%03d"},"value":[1795251600.123,%q]}`,
			name, i/7, 7+i%7, i/56, i%200, i, i/56, value)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

// BenchmarkLargeSite decodes and indexes one metric of 35,000 slices.
func BenchmarkLargeSite(b *testing.B) {
	devices, values := largeAnswer("", "1795251590"), largeAnswer("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.734211")
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	most := limits{64 << 20, 400_000}
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(values)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decode(bytes.NewReader(values), most, newTexts(), func(series) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode and index", func(b *testing.B) {
		b.SetBytes(int64(len(values) + len(devices)))
		b.ReportAllocs()
		for b.Loop() {
			s, pool := newSampleSet(DefaultLabels(), now, time.Hour), newTexts()
			if _, err := decode(bytes.NewReader(devices), most, pool, s.describe); err != nil {
				b.Fatal(err)
			}
			if _, err := decode(bytes.NewReader(values), most, pool, s.put); err != nil {
				b.Fatal(err)
			}
			if s.close(now, NodeIndex{}); len(s.pods) != 35_000 {
				b.Fatalf("want 35000 pods, got %d", len(s.pods))
			}
		}
	})
}

// BenchmarkFleet sorts 35,000 slices by node and card: once for each poll, when somebody looks.
func BenchmarkFleet(b *testing.B) {
	s, pool := newSampleSet(DefaultLabels(), time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), time.Hour), newTexts()
	for _, answer := range []struct {
		text []byte
		take func(series)
	}{{largeAnswer("", "1795251590"), s.describe}, {largeAnswer("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.734211"), s.put}} {
		if _, err := decode(bytes.NewReader(answer.text), limits{64 << 20, 400_000}, pool, answer.take); err != nil {
			b.Fatal(err)
		}
	}
	s.close(s.now, NodeIndex{})
	b.ReportAllocs()
	for b.Loop() {
		if f := s.newFleet(func(r Reading) Reading { return r }); len(f.Nodes) == 0 {
			b.Fatal("want nodes")
		}
	}
}
