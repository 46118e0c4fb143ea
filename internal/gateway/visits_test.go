package gateway

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type visited struct {
	list    []workload.Visit
	failing error
}

func (v *visited) SaveVisits(_ context.Context, visits []workload.Visit) error {
	if v.failing == nil {
		v.list = append(v.list, visits...)
	}
	return v.failing
}

func TestWhoIsInsideIsWrittenDownNowAndThen(t *testing.T) {
	w := newWorld(t)
	v := &visited{}
	w.gw.opts.Visits = v
	report := func() int {
		t.Helper()
		before := len(v.list)
		if err := w.gw.ReportVisits(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(v.list) - before
	}
	if n := report(); n != 0 {
		t.Errorf("nobody is inside, got %d", n)
	}
	began := time.Now()
	var later atomic.Int64 // those that look after open connections ask for the time as well
	w.gw.opts.Now = func() time.Time { return began.Add(time.Duration(later.Load())) }
	socket := w.mustDial("nb-anna", w.signIn(annaPortal, "nb-anna"))
	if n := report(); n != 1 || v.list[0].Person != "anna" || v.list[0].Workload != w.workloads["nb-anna"].ID {
		t.Errorf("want Anna, got %+v", v.list)
	}
	if n := report(); n != 0 {
		t.Errorf("it was written down a moment ago, got %d", n)
	}
	later.Add(int64(visitEvery))
	v.failing = errors.New("the database is away")
	if err := w.gw.ReportVisits(t.Context()); err == nil {
		t.Error("want to hear of the database")
	}
	v.failing = nil
	if n := report(); n != 1 {
		t.Errorf("as long as a connection is open, it is told again, got %d", n)
	}
	_ = socket.CloseNow()
	waitFor(t, "the connection to be over", func() bool { return w.gw.Open() == 0 })
	later.Add(int64(visitEvery))
	_ = report() // the call that ended
	later.Add(int64(visitEvery))
	if n := report(); n != 0 {
		t.Errorf("nobody is inside any more, got %d", n)
	}
}
