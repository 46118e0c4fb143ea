package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestWhatIsWorkedOutForAllFollowsWhatHappens: the order of everybody's workloads and the holders of GPUs are kept for
// some seconds. New readings show after that time, what is written shows at once.
func TestWhatIsWorkedOutForAllFollowsWhatHappens(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	names := func(path, row string) (list []string) {
		for _, r := range part(read(t, w.Get(webtest.Dora, path), http.StatusOK), row).EachIter() {
			list = append(list, strings.Fields(textOf(r.Find("a").First()))[0])
		}
		return list
	}
	first := func() string { return names("/?scope=all&sort=-use", "workload-row")[0] }
	before, reading := first(), w.Readings["train-resnet-0"]
	if before == "train-resnet" {
		t.Fatalf("want another one on top before, got %s", before)
	}
	reading.Live.Devices = []gpumetrics.Device{{Engine: gpumetrics.Reading{Value: 100, At: webtest.Now,
		Source: gpumetrics.Measured}}}
	w.Readings["train-resnet-0"] = reading
	if got := first(); got != before {
		t.Errorf("within the time: want %s still, got %s", before, got)
	}
	w.Clock = w.Clock.Add(11 * time.Second)
	if got := first(); got != "train-resnet" {
		t.Errorf("after the time: want train-resnet on top, got %s", got)
	}
	held := names("/fleet/use/holders", "holder")
	gone := w.Work("w-train-resnet")
	gone.State = workload.Stopped
	w.PutWork(gone)
	left := names("/fleet/use/holders", "holder")
	if !slices.Contains(held, "train-resnet") || slices.Contains(left, "train-resnet") || len(left) != len(held)-1 {
		t.Errorf("want train-resnet gone as soon as it is written, got %v, then %v", held, left)
	}
}
