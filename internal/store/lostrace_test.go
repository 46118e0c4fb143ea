package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/store/storetest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestWhatIsObservedMeanwhileRefusesNobody: a controller, which stands in no line of grants, saves what it observes
// between the read and the write of somebody who stops a workload. They are not told to try again: it is read again.
func TestWhatIsObservedMeanwhileRefusesNobody(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	address := storetest.Postgres(t)
	people, controller := leasing(t, address, time.Minute), leasing(t, address, time.Minute)
	if err := people.SaveObserved(ctx, storetest.Workload("w-1"), nil, nil); err != nil {
		t.Fatal(err)
	}
	stop := func(meanwhile int) (tries int, err error) {
		err = people.ChangeExclusively(ctx, func(tx workload.Tx) error {
			tries++
			w, err := tx.Workload(ctx, "w-1")
			if err != nil {
				return err
			}
			if tries <= meanwhile {
				seen := w
				seen.Observed.Pod += "x"
				if err := controller.SaveObserved(ctx, seen, nil, nil); err != nil {
					return err
				}
			}
			w.Desired = workload.WantStopped
			return tx.SaveWorkload(ctx, w)
		})
		return tries, err
	}
	if tries, err := stop(1); err != nil || tries != 2 {
		t.Errorf("observed once meanwhile: %d tries, %v", tries, err)
	}
	w, err := people.Workload(ctx, "w-1")
	if err != nil || w.Desired != workload.WantStopped || w.Observed.Pod != storetest.Workload("w-1").Observed.Pod+"x" {
		t.Errorf("want both what was asked for and what was observed, got %v, pod %q, %v", w.Desired, w.Observed.Pod, err)
	}
	if tries, err := stop(1000); !fault.Is(err, fault.Conflict) || tries < 3 || tries > 20 {
		t.Errorf("observed at each try: want a conflict after a few, got %v after %d", err, tries)
	}
}
