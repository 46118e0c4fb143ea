package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/quotedprintable"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestEveryNoticeInEveryLanguage: what people read, as a file to be looked at. UPDATE=1 writes it anew.
func TestEveryNoticeInEveryLanguage(t *testing.T) {
	words, err := notify.LoadWords(i18n.MustLoad())
	if err != nil {
		t.Fatal(err)
	}
	full := notify.Args{Name: "nb-1", Tenant: "vision", Who: "Ada", Asker: "Dana", Size: "H100", Reason: "why",
		Note: "note", Until: "2026-11-21 13:00 UTC", Volume: "data", For: "5h", Ends: "2026-11-21 14:00 UTC",
		Month: "2026-10", Totals: "totals."}
	bare := full
	bare.Reason, bare.Note, bare.Ends = "", "", ""
	kinds := map[string]notify.Kind{"waiting": notify.Waiting, "decided.approved": notify.Decided,
		"decided.rejected": notify.Decided, "decided.expired": notify.Decided, "decided.queued": notify.Decided,
		"ready": notify.Ready, "failed": notify.Failed, "job.done": notify.Ready, "job.failed": notify.Failed,
		"lease": notify.Lease, "idle": notify.Idle, "idle.stopped": notify.Idle, "stopped": notify.Stopped,
		"budget": notify.Budget, "statement": notify.Statement, "license": notify.License, "broken": notify.Broken,
		"drift": notify.Drift, "drift.spoofed": notify.Drift,
		"storage": notify.Storage, "storage.reclaimed": notify.Storage, "storage.deleted": notify.Storage,
		"reassigned": notify.Waiting, "reclaimed": notify.Waiting, "delegation.created": notify.Waiting,
		"delegation.ended": notify.Waiting, "token": notify.Token, "test": notify.Test}
	covered := map[notify.Kind]bool{}
	var out strings.Builder
	for _, lang := range notify.Languages() {
		for _, id := range slices.Sorted(maps.Keys(kinds)) {
			covered[kinds[id]] = true
			for _, args := range []notify.Args{full, bare} {
				n, err := words.Notice(lang, kinds[id], id, args, "https://gpu.example.org", "/x")
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "%s %s\n  %s\n  %s\n  %s %s\n  %s\n", lang, id, n.Title, n.Body, n.Open, n.Link, n.Footer)
			}
		}
	}
	for _, k := range notify.Kinds() {
		if !covered[k] {
			t.Errorf("%s is not shown", k)
		}
	}
	file := filepath.Join("testdata", "notices.txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWhoHearsOfWhat(t *testing.T) {
	moved := func(to string) func(*audit.Event) {
		return func(e *audit.Event) {
			e.Workload, e.Detail = "w-1", i18n.T("workload.moved", "From", i18n.T("state.starting"), "To", i18n.T("state."+to))
		}
	}
	about := func(e *audit.Event) { e.Workload = "w-1" }
	ofJob := func(change func(*audit.Event)) func(*audit.Event) {
		return func(e *audit.Event) { change(e); e.Workload = "w-job" }
	}
	for name, c := range map[string]struct {
		who    string
		kind   audit.Kind
		change func(*audit.Event)
		want   string // "recipient kind", sorted
	}{
		"a request waits": {"dana", audit.RequestSubmitted, func(e *audit.Event) { e.Request = "r-open" },
			"p-ada waiting, p-pat waiting"},
		"granted at once": {"", audit.RequestAutoApproved, func(e *audit.Event) { e.Request = "r-done" }, ""},
		"granted by a rule when a seat was free": {"", audit.RequestAutoApproved, func(e *audit.Event) {
			e.Request, e.Changes = "r-done", audit.Changed(audit.SeatPool, "rtx", "")
		}, "p-dana decided"},
		"approved by somebody": {"ada", audit.RequestApproved, func(e *audit.Event) { e.Request = "r-done" },
			"p-dana decided"},
		"approved, and in a line": {"ada", audit.RequestApproved, func(e *audit.Event) {
			e.Request, e.Changes = "r-done", audit.Changed(audit.SeatPool, "", "rtx")
		}, ""},
		"nobody decided": {"", audit.RequestExpired, func(e *audit.Event) { e.Request = "r-done" },
			"p-dana decided"},
		"a step escalates": {"", audit.RequestEscalated, func(e *audit.Event) { e.Request = "r-late" },
			"p-otto waiting"},
		"given to another approver": {"pat", audit.RequestReassigned, func(e *audit.Event) {
			e.Request, e.Changes = "r-open",
				audit.Changed(audit.ReassignedTo, "", "p-ada")
		}, "p-ada waiting"},
		"taken back from them": {"pat", audit.RequestTakenBack, func(e *audit.Event) {
			e.Request, e.Changes = "r-open", audit.Changed(audit.ReassignedTo, "p-ada", "")
		}, "p-ada waiting"},
		"decided when it escalates": {"", audit.RequestEscalated, func(e *audit.Event) { e.Request = "r-done" }, ""},
		"one waits for a seat": {"p-alex", audit.RequestQueued, func(e *audit.Event) { e.Request = "r-done" },
			"p-dana decided"},
		"decided already":               {"dana", audit.RequestSubmitted, func(e *audit.Event) { e.Request = "r-done" }, ""},
		"ready, which nobody asked for": {"", audit.WorkloadObserved, moved("running"), ""},
		"cannot run":                    {"", audit.WorkloadObserved, moved("failed"), "p-dana failed"},
		"a job has failed":              {"", audit.WorkloadObserved, ofJob(moved("failed")), "p-dana failed"},
		"a job between two attempts":    {"", audit.WorkloadObserved, ofJob(moved("running")), ""},
		"another state":                 {"", audit.WorkloadObserved, moved("queued"), ""},
		"ends soon":                     {"", audit.LeaseWarned, about, "p-dana lease"},
		"a GPU is idle":                 {"", audit.WorkloadIdle, about, "p-dana idle"},
		"stopped for being idle":        {"", audit.WorkloadIdleStopped, about, "p-dana idle"},
		"one's own doing":               {"dana", audit.WorkloadDeleted, about, ""},
		"a budget":                      {"", "budget.warned", func(*audit.Event) {}, "p-otto budget"},
		"a license":                     {"", audit.LicenseLost, about, "p-dana license"},
		"the license of a node":         {"", audit.LicenseLost, func(*audit.Event) {}, "p-pat license"},
		"a bad card under it":           {"pat", audit.HardwareQuarantined, about, "p-dana broken, p-otto broken"},
		"a bad card":                    {"", audit.HardwareQuarantined, func(*audit.Event) {}, ""},
		"somebody changed an object of a workload": {"", audit.ObjectRepaired, about, "p-dana drift, p-pat drift"},
		"a rule of a team's network": {"", audit.ObjectRepaired, func(*audit.Event) {},
			"p-otto drift, p-pat drift"},
		"a pod that pretends": {"", audit.ObjectSpoofed, func(*audit.Event) {}, "p-otto drift, p-pat drift"},
		"a delegate is named": {"otto", audit.DelegationCreated, func(e *audit.Event) {
			e.Changes = []audit.Change{{Field: audit.Delegate, New: "p-ada"}}
		}, "p-ada waiting"},
		"signing in":   {"dana", audit.SignedIn, func(*audit.Event) {}, ""},
		"what is gone": {"", audit.LeaseWarned, func(e *audit.Event) { e.Workload = "w-gone" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.asked("r-open", request.Pending)
			w.asked("r-done", request.Approved)
			w.late("r-late")
			w.runs("w-1")
			w.finished("w-job")
			w.happens(c.who, c.kind, c.change)
			if _, err := w.Derive(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range w.list() {
				got = append(got, d.Recipient+" "+string(d.Kind))
			}
			slices.Sort(got)
			if strings.Join(got, ", ") != c.want {
				t.Errorf("want %q, got %q", c.want, strings.Join(got, ", "))
			}
		})
	}
}

func TestAMailArrivesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rejected("r-1", "a slice will do")
	w.round()
	w.round()
	mails := w.post.Mails()
	if len(mails) != 1 {
		t.Fatalf("want one mail, got %d", len(mails))
	}
	for _, want := range []string{"To: \"Dana Develop\" <dana@example.org>", "Subject: Rejected: nb-r-1",
		"a slice will do", "https://gpu.example.org/requests/r-1", "text/html", "Message-ID: <n-1@example.org>"} {
		text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(mails[0])))
		if err != nil || !strings.Contains(string(text), want) && !strings.Contains(mails[0], want) {
			t.Errorf("want %q in %s (%v)", want, mails[0], err)
		}
	}
	if d := w.list()[0]; d.State != notify.Sent || d.Attempts != 1 {
		t.Errorf("got %+v", d)
	}
}

func TestNamesAreNoHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	evil := people["dana"]
	evil.Name = "Dana\r\nBcc: everybody@example.org\r\n\r\nHello"
	if err := w.store.SavePerson(t.Context(), evil); err != nil {
		t.Fatal(err)
	}
	w.rejected("r-1", "no\r\nX-Evil: yes\r\n.\r\nMAIL FROM:<x@example.org>\x1b[2J")
	w.round()
	mails := w.post.Mails()
	if len(mails) != 1 {
		t.Fatalf("want one mail, got %d", len(mails))
	}
	for _, line := range strings.Split(mails[0], "\n") {
		if strings.HasPrefix(line, "Bcc:") || strings.HasPrefix(line, "X-Evil") || strings.Contains(line, "\x1b") {
			t.Errorf("somebody wrote a line of their own: %q", line)
		}
	}
}

func TestAServerThatAsksForPatienceIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post.Answer("451 come back later", "451 come back later")
	w.rejected("r-1", "")
	w.round()
	if d := w.list()[0]; d.State != notify.Due || d.Error == "" || !d.NextAt.Equal(w.now.Add(time.Minute)) {
		t.Fatalf("want another attempt in a minute, got %+v", d)
	}
	if _, tried := w.round(); tried != 0 {
		t.Error("it was tried before its time")
	}
	for range 2 {
		w.now = w.now.Add(time.Hour)
		w.round()
	}
	if d := w.list()[0]; d.State != notify.Sent || d.Attempts != 3 || len(w.post.Mails()) != 1 {
		t.Errorf("got %+v and %d mails", d, len(w.post.Mails()))
	}
}

func TestAServerThatRefusesIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post.Answer("550 no such person")
	w.rejected("r-1", "")
	w.round()
	w.now = w.now.Add(24 * time.Hour)
	w.round()
	if d := w.list()[0]; d.State != notify.GaveUp || d.Attempts != 1 || d.Error == "" {
		t.Errorf("got %+v", d)
	}
}

func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_ = w.post.Close()
	w.rejected("r-1", "")
	for range 20 {
		w.round()
		w.now = w.now.Add(24 * time.Hour)
	}
	if d := w.list()[0]; d.State != notify.GaveUp || d.Attempts != 8 {
		t.Errorf("got %+v", d)
	}
}

// hook is a receiver of webhooks that checks their signatures.
type hook struct {
	*httptest.Server
	mu      sync.Mutex
	ids     []string
	status  atomic.Int64
	secret  atomic.Value
	unknown atomic.Int64 // bad signatures
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.status.Store(http.StatusNoContent)
	h.secret.Store("")
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		want, _ := notify.Sign([]string{h.secret.Load().(string)}, r.Header.Get("webhook-id"),
			r.Header.Get("webhook-timestamp"), body)
		if want == "" || !slices.Contains(strings.Fields(r.Header.Get("webhook-signature")), want) {
			h.unknown.Add(1)
		}
		h.mu.Lock()
		h.ids = append(h.ids, r.Header.Get("webhook-id"))
		h.mu.Unlock()
		w.WriteHeader(int(h.status.Load()))
	}))
	t.Cleanup(h.Close)
	return h
}

func (w *world) hooked(h *hook) {
	w.t.Helper()
	secret, err := w.Enter(w.t.Context(), w.actor("dana"), notify.Entry{Channel: notify.Webhook, URL: h.URL})
	if err == nil {
		err = w.Choose(w.t.Context(), w.actor("dana"),
			notify.Preferences{Language: "de", Channels: map[notify.Kind][]notify.Channel{notify.Decided: {notify.Webhook}}})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	h.secret.Store(secret)
}

func TestAWebhookIsSignedAndRetriedWithTheSameID(t *testing.T) {
	t.Parallel()
	w, h := newWorld(t), newHook(t)
	w.hooked(h)
	first := h.secret.Load().(string)
	h.status.Store(http.StatusServiceUnavailable)
	w.rejected("r-1", "")
	w.round()
	h.status.Store(http.StatusOK)
	w.now = w.now.Add(time.Hour)
	w.round()
	if len(h.ids) != 2 || h.ids[0] != h.ids[1] || h.unknown.Load() != 0 {
		t.Errorf("want two calls with one id and good signatures, got %v and %d bad ones", h.ids, h.unknown.Load())
	}
	if d := w.list()[0]; d.State != notify.Sent || d.Notice.Language != "de" {
		t.Errorf("got %+v", d)
	}
	w.hooked(h) // entered anew: both secrets sign
	if h.secret.Load().(string) == first {
		t.Error("want another secret")
	}
	h.secret.Store(first)
	w.rejected("r-2", "")
	w.round()
	if len(h.ids) != 3 || h.unknown.Load() != 0 {
		t.Errorf("the receiver still has the old secret: %d bad signatures", h.unknown.Load())
	}
}

func TestAReceiverThatSaysNoOrLeadsAway(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(trap.Close)
	for status, want := range map[int]notify.State{http.StatusGone: notify.GaveUp, http.StatusTooManyRequests: notify.Due,
		http.StatusFound: notify.GaveUp} {
		w, h := newWorld(t), newHook(t)
		h.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", trap.URL)
			w.WriteHeader(status)
		})
		w.hooked(h)
		w.rejected("r-1", "")
		w.round()
		if d := w.list()[0]; d.State != want || strings.Contains(d.Error, h.URL) {
			t.Errorf("%d: want %s, got %s %q", status, want, d.State, d.Error)
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestASlowReceiverHoldsUpNobody: a mail is sent while a webhook that was due before it still waits for its answer.
// When the portal stops meanwhile, it is tried again later.
func TestASlowReceiverHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w, h := newWorld(t), newHook(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	h.Server.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(arrived); <-release })
	t.Cleanup(func() { close(release) }) // before the server closes: it waits for its handlers
	w.hooked(h)
	w.rejected("r-1", "")
	if _, err := w.Derive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Choose(t.Context(), w.actor("dana"), notify.Preferences{Language: "en",
		Channels: map[notify.Kind][]notify.Channel{notify.Decided: {notify.Mail}}}); err != nil {
		t.Fatal(err)
	}
	w.rejected("r-2", "")
	if _, err := w.Derive(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := w.Deliver(ctx); done <- err }()
	<-arrived
	mailed := func() (sent, held bool) {
		for _, d := range w.list() {
			sent = sent || d.Channel == notify.Mail && d.State == notify.Sent
			held = held || d.Channel == notify.Webhook && d.State == notify.Sending
		}
		return sent, held
	}
	waittest.For(t, "the mail, while the webhook is held", func() bool {
		sent, held := mailed()
		if !sent && !held {
			t.Fatal("the mail waited for the webhook")
		}
		return sent
	})
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, d := range w.list() {
		if d.Channel == notify.Webhook && (d.State != notify.Due || !d.NextAt.Equal(w.now.Add(time.Minute)) ||
			strings.Contains(d.Error, h.URL)) {
			t.Errorf("want another attempt in a minute, got %+v", d)
		}
	}
}

// TestDelegationsHear: who decides in somebody's place is told of what waits for them.
func TestDelegationsHear(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Delegators = func(_ context.Context, id identity.PersonID) ([]identity.Actor, error) {
		if id == "p-otto" {
			return []identity.Actor{w.actor("ada")}, nil
		}
		return nil, nil
	}
	w.Service = notify.New(w.opts)
	w.asked("r-1", request.Pending)
	w.happens("dana", audit.RequestSubmitted, func(e *audit.Event) { e.Request = "r-1" })
	if _, err := w.Derive(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range w.list() {
		got = append(got, d.Recipient)
	}
	slices.Sort(got)
	if want := []string{"p-ada", "p-otto", "p-pat"}; !slices.Equal(want, got) {
		t.Errorf("want %v, got %v", want, got)
	}
}

// TestAFailedMessageIsSentOnceMore, with the id that it had, by an administrator and nobody else.
func TestAFailedMessageIsSentOnceMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post.Answer("550 no such person")
	w.rejected("r-1", "")
	w.round()
	id := w.list()[0].ID
	if err := w.Again(t.Context(), w.actor("dana"), id); !fault.Is(err, fault.NotFound) {
		t.Errorf("want it not to be there for her, got %v", err)
	}
	if err := w.Again(t.Context(), w.actor("pat"), id); err != nil {
		t.Fatal(err)
	}
	w.round()
	if d := w.list()[0]; d.ID != id || d.State != notify.Sent || d.Attempts != 2 || len(w.post.Mails()) != 1 {
		t.Errorf("got %+v and %d mails", d, len(w.post.Mails()))
	}
	if err := w.Again(t.Context(), w.actor("pat"), id); !fault.Is(err, fault.NotFound) {
		t.Errorf("what was sent is not sent again, got %v", err)
	}
}

// TestAKillLosesNothing: the portal ends between claiming and marking; the next one sends, with the same id.
func TestAKillLosesNothing(t *testing.T) {
	t.Parallel()
	w, h := newWorld(t), newHook(t)
	w.hooked(h)
	w.rejected("r-1", "")
	if _, err := w.Derive(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := w.list()[0]
	for want := range 2 { // of two who claim, one gets it
		if mine, err := w.store.ClaimDelivery(t.Context(), d, w.now.Add(2*time.Minute)); err != nil || mine != (want == 0) {
			t.Fatalf("claim %d: %v %v", want, mine, err)
		}
	}
	if _, tried := w.round(); tried != 0 || len(h.ids) != 0 {
		t.Error("somebody else's was sent")
	}
	w.now = w.now.Add(3 * time.Minute)
	w.Service = notify.New(w.opts) // after the restart
	w.round()
	if len(h.ids) != 1 || h.ids[0] != d.ID || w.list()[0].State != notify.Sent {
		t.Errorf("want it sent after the restart, got %v and %+v", h.ids, w.list()[0])
	}
}

// TestSeveralReplicas compose and send beside each other: each event makes one message.
func TestSeveralReplicas(t *testing.T) {
	t.Parallel()
	w, h := newWorld(t), newHook(t)
	w.hooked(h)
	var number atomic.Int64
	w.opts.NewID = func(prefix string) string { return fmt.Sprint(prefix, "x", number.Add(1)) }
	for i := range 30 {
		w.rejected(fmt.Sprint("r-", i), "")
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s := notify.New(w.opts)
			for range 12 {
				if _, err := s.Derive(context.Background()); err != nil {
					t.Error(err)
				}
				if _, err := s.Deliver(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	slices.Sort(h.ids)
	if n := len(h.ids); n != 30 || len(slices.Compact(h.ids)) != 30 {
		t.Errorf("want 30 calls with ids of their own, got %d", n)
	}
}

func TestATeamHears(t *testing.T) {
	t.Parallel()
	w, h := newWorld(t), newHook(t)
	entry := notify.Entry{Channel: notify.Webhook, Tenant: "vision", URL: h.URL, Kinds: []notify.Kind{notify.Ready}}
	if _, err := w.Enter(t.Context(), w.actor("dana"), entry); !fault.Is(err, fault.NotFound) {
		t.Errorf("a developer is no owner, got %v", err)
	}
	secret, err := w.Enter(t.Context(), w.actor("otto"), entry)
	if err != nil {
		t.Fatal(err)
	}
	h.secret.Store(secret)
	w.runs("w-1")
	w.happens("", audit.WorkloadObserved, func(e *audit.Event) {
		e.Workload, e.Detail = "w-1", i18n.T("workload.moved", "From", i18n.T("state.starting"), "To",
			i18n.T("state.running"))
	})
	w.happens("", audit.LeaseWarned, func(e *audit.Event) { e.Workload = "w-1" })
	w.round()
	if len(h.ids) != 1 || h.unknown.Load() != 0 {
		t.Errorf("want what the team chose, got %v", h.ids)
	}
	settings, err := w.Settings(t.Context(), w.actor("otto"))
	if err != nil || len(settings.Addresses) != 1 || strings.Contains(settings.Addresses[0].Host, "http") {
		t.Fatalf("%+v %v", settings, err)
	}
	if err := w.Remove(t.Context(), w.actor("ada"), settings.Addresses[0].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("somebody else's: %v", err)
	}
	if err := w.Remove(t.Context(), w.actor("otto"), settings.Addresses[0].ID); err != nil {
		t.Error(err)
	}
}

func TestChatGoesThroughTheGuard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := make(chan string, 1)
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct{ Text string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		got <- r.URL.Path + " " + body.Text
	}))
	t.Cleanup(chat.Close)
	address := "mattermost://" + strings.TrimPrefix(chat.URL, "http://") + "/thetoken?disabletls=yes"
	if _, err := w.Enter(t.Context(), w.actor("dana"), notify.Entry{Channel: notify.Chat, URL: address}); err != nil {
		t.Fatal(err)
	}
	d, err := w.Try(t.Context(), w.actor("dana"), notify.Chat)
	if err != nil || d.State != notify.Sent {
		t.Fatalf("%+v %v", d, err)
	}
	if text := <-got; !strings.Contains(text, "/hooks/thetoken") || !strings.Contains(text, "Test of your notifications") {
		t.Errorf("got %q", text)
	}
	closed := w.opts
	closed.Guard = notify.Guard{}
	d, err = notify.New(closed).Try(t.Context(), w.actor("dana"), notify.Chat)
	if err != nil || d.State != notify.GaveUp || strings.Contains(d.Error, "thetoken") {
		t.Errorf("want it stopped, and its secret out of the error, got %+v %v", d, err)
	}
	for _, bad := range []string{"mqtt://127.0.0.1/x", "smtp://x", "generic+http://127.0.0.1", "http://127.0.0.1", "",
		"slack://", "logger://"} {
		if _, err := w.Enter(t.Context(), w.actor("dana"), notify.Entry{Channel: notify.Chat, URL: bad}); !fault.Is(err,
			fault.Invalid) {
			t.Errorf("%q: want it refused, got %v", bad, err)
		}
	}
}

// TestTheGuard is T-SSRF: whatever an address is written like, nothing connects to what is not public.
func TestTheGuard(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(inside.Close)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(secure.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(secure.URL, "https://"), ":")
	client := notify.Guard{}.Client()
	for _, address := range []string{inside.URL, secure.URL, "https://localhost:" + port, "https://[::1]:" + port,
		"https://[::ffff:127.0.0.1]:" + port, "https://0:" + port, "https://127.1:" + port, "https://0x7f000001:" + port,
		"https://2130706433:" + port, "https://0.0.0.0:" + port, "https://user@127.0.0.1:" + port,
		"https://169.254.169.254/latest/meta-data", "https://[fe80::1]:" + port, "https://[64:ff9b::7f00:1]:" + port,
		"https://10.0.0.1", "https://100.100.100.200",
		"file:///etc/passwd", "gopher://127.0.0.1:" + port} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
		if err != nil {
			continue // no address at all
		}
		if answer, err := client.Do(r); err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s: it was called", address)
		}
	}
	if calls.Load() != 0 {
		t.Errorf("%d calls got through", calls.Load())
	}
	named := notify.Guard{Hosts: []string{"hooks.example.org", "*.chat.example"},
		Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for address, want := range map[string]bool{"https://hooks.example.org/x": true, "https://HOOKS.example.org./x": true,
		"https://a.chat.example": true, "https://chat.example": false, "https://evilchat.example": false,
		"https://hooks.example.org.evil.example": false, "https://hooks.example.org@evil.example": false,
		"http://hooks.example.org": true, "ftp://hooks.example.org": false} {
		if _, err := named.CheckURL(address); (err == nil) != want {
			t.Errorf("%s: want %v, got %v", address, want, err)
		}
	}
	if _, err := (notify.Guard{}).CheckURL("http://example.org"); err == nil {
		t.Error("without TLS only where a network is allowed")
	}
	open := notify.Guard{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	if answer, err := open.Client().Post(inside.URL, "", nil); err != nil || calls.Load() != 1 {
		t.Errorf("what is allowed: %v", err)
	} else {
		_ = answer.Body.Close()
	}
}

func TestTheStandardsExample(t *testing.T) {
	got, err := notify.Sign([]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "msg_p5jXN8AQM9LWM0D4loKWxJek",
		"1614265330", []byte(`{"test": 2432232314}`))
	if err != nil || got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("got %s %v", got, err)
	}
	for _, secrets := range [][]string{nil, {"whsec_"}, {"plain"}, {"whsec_c2hvcnQ="}} {
		if _, err := notify.Sign(secrets, "i", "1", nil); err == nil {
			t.Errorf("%v: want an error", secrets)
		}
	}
}

func TestWhatNobodyMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, _, err := w.History(t.Context(), w.actor("dana"), "", "", 10); !fault.Is(err, fault.NotFound) {
		t.Errorf("the history is for those who see all, got %v", err)
	}
	if err := w.Choose(t.Context(), w.actor("dana"), notify.Preferences{Language: "xx"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("an unknown language: %v", err)
	}
	if _, err := w.Try(t.Context(), w.actor("dana"), notify.Webhook); !fault.Is(err, fault.Invalid) {
		t.Errorf("no webhook yet: %v", err)
	}
	if d, err := w.Try(t.Context(), w.actor("dana"), notify.Mail); err != nil || d.State != notify.Sent ||
		len(w.post.Mails()) != 1 {
		t.Errorf("a test by mail: %+v %v", d, err)
	}
}
