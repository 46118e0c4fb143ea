package holders_test

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/holders"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// told is what metrics tell of the day.
type told usage.EngineUses

func (t told) Uses(string) usage.EngineUses { return usage.EngineUses(t) }

func used(percent int) usage.EngineUse {
	return usage.EngineUse{Measured: 100 * time.Minute, Busy: time.Duration(percent) * time.Minute}
}

func listed(t *testing.T, w *webtest.World, who identity.Person, m told) map[string]holders.Holder {
	t.Helper()
	all, err := holders.Service{Workloads: w.WorkloadService, Metrics: m,
		Now: func() time.Time { return webtest.Now }}.List(t.Context(), w.Actor(who))
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]holders.Holder{}
	for _, h := range all {
		by[h.Name] = h
	}
	return by
}

// TestWhoHolds: use and money of the window, and what of it went for nothing; of a share of a card nobody can tell.
func TestWhoHolds(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	shared := w.Work("w-asr-train")
	shared.Size.Technology = catalog.TimeSlicing
	w.PutWork(shared)
	got := listed(t, w, webtest.Dora, told{"w-train-resnet": used(58), string(shared.ID): used(90),
		"w-llm-chat": used(20)})
	train := got["train-resnet"]
	if want := (usage.Money{Minor: 165, Currency: "EUR"}); train.Money != want || train.Use.Mean() != 58 ||
		!train.Since.Equal(webtest.Now.Add(-3*time.Hour)) {
		t.Errorf("train-resnet: want %v, 58 %% since three hours, got %+v since %v", want, train.Use, train.Since)
	}
	if lost, ok := train.Unused(); !ok || lost.Minor != 69 {
		t.Errorf("42 %% of 1.65 went for nothing: want 0.69, got %v (known: %v)", lost, ok)
	}
	if chat := got["llm-chat"]; chat.Use.Mean() != 20 {
		t.Errorf("want the mean of what is known, 20, got %+v", chat.Use)
	}
	for _, name := range []string{"asr-train", "render-farm"} {
		h, there := got[name]
		if _, ok := h.Unused(); !there || h.Use.Known() || ok {
			t.Errorf("%s: its use is nobody's knowledge, got %+v (there: %v)", name, h.Use, there)
		}
	}
}

// TestWhoHoldsIsSaidToThoseWhoMayKnow: a member sees the own team.
func TestWhoHoldsIsSaidToThoseWhoMayKnow(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	all := listed(t, w, webtest.Dora, told{})
	mine := listed(t, w, webtest.Anna, told{})
	if len(mine) == 0 || len(mine) >= len(all) {
		t.Fatalf("want some of %d, got %d", len(all), len(mine))
	}
	for name, h := range mine {
		if h.Tenant != "vision" {
			t.Errorf("%s is of %s", name, h.Tenant)
		}
	}
}
