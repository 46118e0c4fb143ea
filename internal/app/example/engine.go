package example

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/usage/recorder"
)

// metrics is a Prometheus of the example: it has samples of whatever ran, hour by hour, and none of some hours.
type metrics struct {
	seed uint64
	runs []exampleRun
}

// exampleRun is a pod and how it works.
type exampleRun struct {
	namespace, pod string
	devices        int
	from, until    time.Time
	habit          exampleHabit
}

// exampleHabit is how hard somebody works a GPU: for so much of the time, drawn between two parts, and then so hard,
// between two uses in per cent.
type exampleHabit struct {
	busy [2]float64
	use  [2]float64
}

// exampleHabits are drawn with equal chances: training that is well prepared, work by hand with pauses, and a notebook
// that somebody forgot.
var exampleHabits = []exampleHabit{
	{busy: [2]float64{0.92, 1}, use: [2]float64{72, 96}},
	{busy: [2]float64{0.9, 1}, use: [2]float64{55, 85}},
	{busy: [2]float64{0.8, 0.97}, use: [2]float64{60, 90}},
	{busy: [2]float64{0.4, 0.75}, use: [2]float64{35, 70}},
	{busy: [2]float64{0, 0.08}, use: [2]float64{8, 30}},
}

const (
	exampleIdleUse   = 1.0 // per cent, of an open context that does nothing
	exampleBlankHour = 16  // one hour in so many has no samples of a pod
)

// ran remembers what to have samples of.
func (m *metrics) ran(r exampleRun) {
	r.habit = exampleHabits[rand.New(rand.NewPCG(m.seed, uint64(len(m.runs)))).IntN(len(exampleHabits))]
	m.runs = append(m.runs, r)
}

// recorder writes the samples down as the controller would, for each cluster of the site.
func (e *example) recorder() *recorder.Recorder {
	sources := map[string]recorder.Source{}
	for _, cluster := range e.app.Clusters {
		sources[cluster] = &e.metrics
	}
	return recorder.New(recorder.Options{Sources: sources, Store: e.app.Store, Namespaces: e.app.Namespaces,
		Zone: e.app.Zone, Now: e.clock})
}

// Idling has for each pod what its habit makes of a period; the same period gives the same.
func (m *metrics) Idling(_ context.Context, namespaces []string, from, until time.Time, step time.Duration,
	_ float64) ([]gpumetrics.WindowSummary, error) {
	var list []gpumetrics.WindowSummary
	for n, r := range m.runs {
		held := earlier(until, r.until).Sub(later(from, r.from)).Truncate(step)
		if held <= 0 || !slices.Contains(namespaces, r.namespace) {
			continue
		}
		chance := rand.New(rand.NewPCG(m.seed+uint64(n), uint64(from.Unix())))
		if chance.IntN(exampleBlankHour) == 0 {
			continue
		}
		between := func(limits [2]float64) float64 { return limits[0] + (limits[1]-limits[0])*chance.Float64() }
		for device := range r.devices {
			busy := between(r.habit.busy)
			mean := busy*between(r.habit.use) + (1-busy)*exampleIdleUse
			list = append(list, gpumetrics.WindowSummary{Namespace: r.namespace, Pod: r.pod,
				UUID: fmt.Sprintf("GPU-example-%d-%d", n,
					device), Engine: held,
				EngineMean: gpumetrics.Reading{Value: mean, Unit: gpumetrics.Percent, Source: gpumetrics.Measured, At: until},
				Idle:       time.Duration((1 - busy) * float64(held)).Truncate(step)})
		}
	}
	return list, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
