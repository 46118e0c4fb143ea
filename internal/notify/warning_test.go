package notify_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// warned is a world in which Dana's workload was warned of its end.
func warned(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.runs("w-1")
	w.runs("w-2")
	w.happens("", audit.LeaseWarned, func(e *audit.Event) { e.Workload = "w-1" })
	return w
}

func (w *world) warnings(who, id string) []notify.Warning {
	w.t.Helper()
	list, err := w.Warnings(w.t.Context(), w.actor(who), workload.ID(id))
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// TestWhatBecameOfAWarning follows one from the record to the mail server: "was warned" alone says only that the portal
// meant to.
func TestWhatBecameOfAWarning(t *testing.T) {
	t.Parallel()
	w := warned(t)
	at := w.now
	want := func(what string, wants ...notify.Warning) {
		t.Helper()
		if diff := cmp.Diff(wants, w.warnings("dana", "w-1")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	want("nobody has looked yet", notify.Warning{About: notify.Lease, At: at, Status: notify.Queued})
	if _, err := w.Derive(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("it is due", notify.Warning{About: notify.Lease, At: at, Status: notify.Queued, To: "Dana Develop"})
	w.post.Answer("451 come back later")
	w.now = w.now.Add(time.Second)
	w.round()
	busy := i18n.T("notify.failed.mail_later")
	got := w.warnings("dana", "w-1")
	if len(got) != 1 || got[0].Status != notify.Queued || got[0].Problem.ID != busy.ID || got[0].Said == "" {
		t.Errorf("want it to wait for another attempt, got %+v", got)
	}
	w.now = w.now.Add(time.Hour)
	w.round()
	want("it was taken", notify.Warning{About: notify.Lease, At: at, Status: notify.Delivered, To: "Dana Develop",
		Channel: notify.Mail, Done: w.now})
	if got := w.warnings("dana", "w-2"); got != nil {
		t.Errorf("another workload was warned of nothing, got %+v", got)
	}
	if _, err := w.Warnings(t.Context(), identity.Actor{Person: identity.Person{ID: "p-nora", Name: "Nora"}},
		"w-1"); !fault.Is(err, fault.NotFound) {
		t.Errorf("what one may not read is not there, got %v", err)
	}

	w.now = w.now.Add(time.Minute)
	w.happens("", audit.WorkloadIdle, func(e *audit.Event) { e.Workload = "w-1" })
	idleAt := w.now
	w.post.Answer("550 no such user")
	w.round()
	got = w.warnings("otto", "w-1")
	if len(got) != 2 || got[1].About != notify.Idle || !got[1].At.Equal(idleAt) || got[1].Status != notify.GivenUp ||
		got[1].Problem.ID != "notify.failed.mailbox" {
		t.Errorf("want the other warning given up, got %+v", got)
	}
	w.now = w.now.Add(notify.Kept + time.Hour)
	if got := w.warnings("dana", "w-1"); got != nil {
		t.Errorf("after so long nobody knows, got %+v", got)
	}
}

// TestAWarningThatNobodyHears: its owner chose no channel, for anything; that was lost on the way to the database, so
// that they went on getting the usual mail. A team that has an address for it hears it in their place.
func TestAWarningThatNobodyHears(t *testing.T) {
	t.Parallel()
	for team, want := range map[bool]notify.Warning{
		false: {About: notify.Lease, Status: notify.NoRecipient},
		true:  {About: notify.Lease, Status: notify.Delivered, To: "vision", Channel: notify.Webhook},
	} {
		w, h := warned(t), newHook(t)
		if err := w.Choose(t.Context(), w.actor("dana"), notify.Preferences{Language: "en"}); err != nil {
			t.Fatal(err)
		}
		if team {
			if _, err := w.Enter(t.Context(), w.actor("otto"), notify.Entry{Channel: notify.Webhook, Tenant: "vision",
				URL: h.URL, Kinds: []notify.Kind{notify.Lease}}); err != nil {
				t.Fatal(err)
			}
			want.Done = w.now
		}
		want.At = w.now
		w.round()
		if diff := cmp.Diff([]notify.Warning{want}, w.warnings("dana", "w-1")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
