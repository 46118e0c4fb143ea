package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidctest"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// newClocksWorld is a portal whose clock and whose sign-in provider's clock are off; the database's is right.
func newClocksWorld(t *testing.T, portal, provider time.Duration) *world {
	t.Helper()
	theirs := func() time.Time { return time.Now().Add(provider) }
	p := oidctest.Start(t, oidctest.Options{Users: everybody, Now: theirs})
	w := newWorld(t, func(c *config.Config) {
		c.OIDC.Issuer, c.OIDC.ClientID, c.OIDC.ClientSecret = p.Issuer(), p.ClientID(), p.ClientSecret()
	})
	w.provider = p
	w.clock.pass(portal)
	return w
}

// TestSignInWhileClocksDisagree: T-CLOCK. Two minutes are tolerated, as is a portal ahead of its provider for as long
// as tokens last; else nobody is let in, and both the page and the record say that it is the clocks.
func TestSignInWhileClocksDisagree(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		portal, provider time.Duration
		in               bool
	}{
		"the provider is two minutes ahead":  {0, 2 * time.Minute, true},
		"the provider is two minutes behind": {0, -2 * time.Minute, true},
		"the provider is a day ahead":        {0, day, false},
		"the portal is five minutes ahead":   {5 * time.Minute, 0, true},
		"the portal is five minutes behind":  {-5 * time.Minute, 0, false},
		"the portal is a day ahead":          {day, 0, false},
		"the portal is a day behind":         {-day, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newClocksWorld(t, c.portal, c.provider)
			b := w.browser()
			a := b.signIn(developer)
			if c.in {
				if page := b.get("/storage"); a.status != http.StatusSeeOther || page.status != http.StatusOK {
					t.Errorf("want to be signed in, got %d and then %d: %s", a.status, page.status, a.body)
				}
				return
			}
			if a.status != http.StatusForbidden || !strings.Contains(a.body, "The clocks of the portal and the sign-in") {
				t.Errorf("want 403 and the reason, got %d %s", a.status, a.body)
			}
			if e := w.events(audit.SignInRefused); len(e) != 1 || e[0].Detail.ID != "oidc.clocks_apart" {
				t.Errorf("want the reason on record, got %+v", e)
			}
		})
	}
}

// runs keeps the outcome of each job's first run.
type runs struct {
	mu   sync.Mutex
	last map[string]jobs.Run
}

func (*runs) JobRuns(context.Context) ([]jobs.Run, error) { return nil, nil }

func (r *runs) SaveJobRun(_ context.Context, run jobs.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, is := r.last[run.Job]; !is {
		r.last[run.Job] = run
	}
	return nil
}

func (r *runs) outcomes() map[string]jobs.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := map[string]jobs.Outcome{}
	for name, run := range r.last {
		got[name] = run.Outcome
	}
	return got
}

// runOnTrust runs the portal's jobs that end something when its time has come, each at once.
func (w *world) runOnTrust() map[string]jobs.Outcome {
	w.t.Helper()
	list := slices.DeleteFunc(w.jobs(), func(j jobs.Job) bool { return !j.TrustedClock })
	for i := range list {
		list[i].AtStart = true
	}
	kept := &runs{last: map[string]jobs.Run{}}
	ctx, stop := context.WithCancel(w.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		jobs.New(jobs.Options{Jobs: list, Store: kept, Trusted: w.clocks().Trusted, Now: w.now,
			Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
	})
	eventually(w.t, "each job has run", func() bool { return len(kept.outcomes()) == len(list) })
	stop()
	group.Wait()
	return kept.outcomes()
}

// TestNothingEndsWhileThePortalsClockIsOff: T-CLOCK. Five minutes are tolerated. With a day nothing ends or is deleted
// by time, though by the portal's clock it is due, and the log says why.
func TestNothingEndsWhileThePortalsClockIsOff(t *testing.T) {
	const day = 24 * time.Hour
	const tolerated = 5 * time.Minute
	for off, trusted := range map[time.Duration]bool{tolerated: true, -tolerated: true, day: false, -day: false} {
		t.Run(off.String(), func(t *testing.T) {
			w := newWorld(t)
			soon := w.clock.now().Add(time.Hour)
			r := w.pending(developer, "vision")
			r.ExpiresAt = soon
			w.save(func(tx request.Tx) error { _, err := tx.SaveRequest(t.Context(), r); return err })
			w.clock.pass(off)
			got := w.runOnTrust()
			if len(got) < 4 {
				t.Fatalf("want the jobs that end things, got %v", got)
			}
			for name, outcome := range got {
				if skipped := outcome == jobs.Skipped; skipped == trusted {
					t.Errorf("%s: %s", name, outcome)
				}
			}
			if now, err := w.store.Request(t.Context(), r.ID); err != nil || now.State != request.Pending {
				t.Errorf("a request that has an hour left is %s, %v", now.State, err)
			}
			if says := strings.Contains(w.log.String(), "clocks of portal and database disagree"); says == trusted {
				t.Errorf("the log says that clocks disagree: %v", says)
			}
		})
	}
}

// negative is a length of time or an amount below zero, in words or in JSON.
var negative = regexp.MustCompile(`(^|[\s>])[-−]\d+([.,]\d+)?\s?(s|min|m|h|d|days?|hours?|minutes?|seconds?|EUR)\b` +
	`|":\s*"?-\d`)

// TestTheClockIsSetBack: T-CLOCK. While somebody works, the portal's clock is put back by an hour and later by a day,
// and right again: sessions and tokens go on, leases keep what they have, no page or answer has a length below zero,
// and the record is in the order in which things happened.
func TestTheClockIsSetBack(t *testing.T) {
	w := newWorld(t)
	b, token := w.signedIn(developer), w.token(developer)
	item := w.running(developer, "vision")
	var asked []string
	for _, jump := range []time.Duration{0, -time.Hour, -24 * time.Hour, 25 * time.Hour} {
		w.clock.pass(jump)
		asked = append(asked, string(w.pending(developer, "vision").ID))
		for _, path := range []string{"/", "/workloads/" + string(item.ID), "/requests", "/requests/" + asked[0], "/storage",
			"/account", "/usage", "/team/vision"} {
			if a := b.get(path); a.status != http.StatusOK {
				t.Errorf("after %s: %s answers %d", jump, path, a.status)
			} else if found := negative.FindString(a.page(t).Find("main").Text()); found != "" {
				t.Errorf("after %s: %s says %q", jump, path, found)
			}
		}
		for _, path := range []string{"workloads", "workloads/" + string(item.ID), "requests", "usage", "me"} {
			if a := w.call(token, http.MethodGet, "/api/v1/"+path, nil); a.status != http.StatusOK {
				t.Errorf("after %s: %s answers %d", jump, path, a.status)
			} else if found := negative.FindString(a.body); found != "" {
				t.Errorf("after %s: %s says %q in %s", jump, path, found, a.body)
			}
		}
		now, err := w.store.Workload(t.Context(), item.ID)
		if err != nil || now.Lease.Until.Sub(item.Lease.Until).Abs() > time.Millisecond || now.Desired != item.Desired {
			t.Errorf("after %s: the lease is %+v, %s, %v", jump, now.Lease, now.Desired, err)
		}
	}
	slices.Reverse(asked) // the newest one comes first, whatever its time
	if diff := cmp.Diff(asked, w.submitted()); diff != "" {
		t.Errorf("the record is out of order (-want +got):\n%s", diff)
	}
	page := w.call(w.token(auditor), http.MethodGet, "/api/v1/audit?kind=request.submitted", nil)
	at := -1
	for _, id := range asked {
		if next := strings.Index(page.body, id); next <= at {
			t.Errorf("the API tells %s out of order: %s", id, page.body)
		} else {
			at = next
		}
	}
}

// submitted are the requests in the record, read one by one.
func (w *world) submitted() (ids []string) {
	w.t.Helper()
	for cursor, more := "", true; more; more = cursor != "" {
		events, next, err := w.store.Events(w.t.Context(), audit.Filter{Kinds: []audit.Kind{audit.RequestSubmitted},
			Cursor: cursor, Limit: 1})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range events {
			ids = append(ids, fmt.Sprint(e.Request))
		}
		cursor = next
	}
	return ids
}
