package autoscale_test

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
)

// TestMeasured: the gateways' figures add up; where one is silent, nothing is known.
func TestMeasured(t *testing.T) {
	ago := func(d time.Duration) time.Time { return begun.Add(-d) }
	report := func(age time.Duration, under int, concurrency float64) autoscale.Report {
		return autoscale.Report{Gateway: "g", At: ago(age), Endpoints: []autoscale.EndpointLoad{
			{Workload: "w", UnderWay: under, Concurrency: concurrency, PerSecond: 1, LastRequest: ago(age + time.Minute)},
			{Workload: "other", UnderWay: 9, Concurrency: 9, PerSecond: 9, LastRequest: begun}}}
	}
	last := func(d time.Duration) time.Time { return ago(d + time.Minute) }
	for what, c := range map[string]struct {
		reports []autoscale.Report
		metric  autoscale.Metric
		want    autoscale.Load
	}{
		"no gateway": {nil, autoscale.Concurrency, autoscale.Load{At: begun}},
		"two gateways": {[]autoscale.Report{report(0, 1, 1.5), report(5*time.Second, 2, 2)}, autoscale.Concurrency,
			autoscale.Load{At: begun, Value: 3.5, Known: true, LastRequest: last(0)}},
		"by requests": {[]autoscale.Report{report(0, 0, 0), report(0, 0, 0)}, autoscale.Requests,
			autoscale.Load{At: begun, Value: 2, Known: true, Quiet: true, LastRequest: last(0)}},
		"quiet": {[]autoscale.Report{report(0, 0, 0), {Gateway: "h", At: begun}}, autoscale.Concurrency,
			autoscale.Load{At: begun, Known: true, Quiet: true, LastRequest: last(0)}},
		"one is silent": {[]autoscale.Report{{Gateway: "h", At: begun}, report(time.Minute, 0, 0)}, autoscale.Concurrency,
			autoscale.Load{At: begun, LastRequest: last(time.Minute)}},
		"one is gone": {[]autoscale.Report{{Gateway: "h", At: begun}, report(time.Hour, 5, 5)}, autoscale.Concurrency,
			autoscale.Load{At: begun, Known: true, Quiet: true, LastRequest: last(time.Hour)}},
		"all are gone": {[]autoscale.Report{report(time.Hour, 5, 5)}, autoscale.Concurrency,
			autoscale.Load{At: begun, LastRequest: last(time.Hour)}},
		"a queue is not the gateway's": {[]autoscale.Report{report(0, 1, 1)}, autoscale.Queue,
			autoscale.Load{At: begun, LastRequest: last(0)}},
	} {
		if got := autoscale.Measured(c.reports, "w", c.metric, begun); got != c.want {
			t.Errorf("%s: want %+v, got %+v", what, c.want, got)
		}
	}
}
