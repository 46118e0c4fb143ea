package workloads

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

func TestMeanAndPeak(t *testing.T) {
	t.Parallel()
	known := func(values ...float64) (points []gpumetrics.Point) {
		for _, v := range values {
			points = append(points, gpumetrics.Point{Value: v, Known: true})
		}
		return points
	}
	for name, c := range map[string]struct {
		points     []gpumetrics.Point
		mean, peak float64
		ok         bool
	}{
		"nothing is known":          {points: []gpumetrics.Point{{}, {}}},
		"one point is the last one": {points: known(40)},
		"gaps are left out": {points: append(known(10, 50), gpumetrics.Point{Value: 99}), mean: 30, peak: 50,
			ok: true},
		"below nothing": {points: known(-4, -2), mean: -3, peak: -2, ok: true},
	} {
		mean, peak, ok := meanAndPeak(c.points)
		if ok != c.ok || mean.Value != c.mean || peak.Value != c.peak || mean.Known != c.ok || peak.Known != c.ok {
			t.Errorf("%s: got %v, %v, %v", name, mean, peak, ok)
		}
	}
}
