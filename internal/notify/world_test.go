package notify_test

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/notify/notifytest"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// world is a service over SQLite with a developer, an owner, an approver and an administrator.
type world struct {
	*notify.Service
	t     *testing.T
	store *store.Store
	post  *notifytest.Post
	now   time.Time
	ids   int
	opts  notify.Options
}

var people = map[string]identity.Person{
	"dana": {ID: "p-dana", Issuer: "i", Subject: "dana", Name: "Dana Develop", Email: "dana@example.org",
		Groups: []string{"devs"}},
	"otto": {ID: "p-otto", Issuer: "i", Subject: "otto", Name: "Otto Owner", Email: "otto@example.org",
		Groups: []string{"leads"}},
	"ada": {ID: "p-ada", Issuer: "i", Subject: "ada", Name: "Ada Approve", Email: "ada@example.org",
		Groups: []string{"approvers"}},
	"pat": {ID: "p-pat", Issuer: "i", Subject: "pat", Name: "Pat Platform", Email: "pat@example.org",
		Groups: []string{"admins"}},
}

var directory = tenant.Directory{Platform: tenant.Roles{identity.Approver: {"approvers"}, identity.Admin: {"admins"}},
	Tenants: []tenant.Tenant{{Name: "vision", Groups: map[identity.Role][]string{identity.Developer: {"devs"},
		identity.Owner: {"leads"}}}}}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := context.Background()
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "portal.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: s, post: newPost(t), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	for _, p := range people {
		if err := s.SavePerson(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	words, err := notify.LoadWords(i18n.MustLoad())
	if err != nil {
		t.Fatal(err)
	}
	w.opts = notify.Options{Store: s, Actor: directory.Actor, Words: words,
		Guard: notify.Guard{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Mail:  &notify.MailServer{Host: "127.0.0.1", Port: w.post.Port(), From: "GPU Portal <gpu@example.org>", TLS: "none"},
		URL:   "https://gpu.example.org", Language: "en",
		Seal: func(_, text string) (string, error) { return "sealed:" + text, nil },
		Open: func(_, sealed string) (string, error) { return strings.TrimPrefix(sealed, "sealed:"), nil },
		Now:  func() time.Time { return w.now }, NewID: func(prefix string) string {
			w.ids++
			return fmt.Sprint(prefix,
				w.ids)
		}}
	w.Service = notify.New(w.opts)
	return w
}

func (w *world) actor(who string) identity.Actor {
	return directory.Actor(people[who], identity.ViaSession)
}

func newPost(t *testing.T) *notifytest.Post {
	t.Helper()
	p, err := notifytest.NewPost()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// asked is a request of Dana's, in a state.
func (w *world) asked(id string, state request.State) request.Request {
	return w.asks(id, state, nil)
}

// late is one that nobody answered: from now on owners may as well.
func (w *world) late(id string) {
	w.asks(id, request.Pending, []policy.Step{{From: []identity.Approvers{{Role: identity.Approver}},
		Then: []identity.Approvers{{Role: identity.Owner}}}})
}

func (w *world) asks(id string, state request.State, steps []policy.Step) request.Request {
	w.t.Helper()
	r := request.Request{ID: request.ID(id), Kind: request.StartKind, Asker: "p-dana", AskerName: "Dana Develop",
		State: state, CreatedAt: w.now, ExpiresAt: w.now.Add(time.Hour),
		Spec: request.Spec{Kind: catalog.Notebook, Tenant: "vision", Name: "nb-" + id,
			Size: catalog.Size{Name: "h100", Title: "H100"}, Reason: "for the paper"}, Decision: request.Decision{Steps: steps}}
	err := w.store.DecideExclusively(context.Background(),
		func(tx request.Tx) error { _, err := tx.SaveRequest(context.Background(), r); return err })
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// happens writes an event.
func (w *world) happens(who string, kind audit.Kind, change func(*audit.Event)) {
	w.t.Helper()
	a := identity.System()
	if who != "" {
		a = w.actor(who)
	}
	e := audit.By(a, kind, w.now)
	e.Tenant = "vision"
	change(&e)
	if err := w.store.Append(context.Background(), e); err != nil {
		w.t.Fatal(err)
	}
}

// rejected is what most tests begin with: Ada says no to a request of Dana's.
func (w *world) rejected(id, note string) {
	w.t.Helper()
	w.asked(id, request.Rejected)
	w.happens("ada", audit.RequestRejected, func(e *audit.Event) { e.Request, e.Detail = id, i18n.Literal(note) })
}

// round composes and sends once.
func (w *world) round() (queued, tried int) {
	w.t.Helper()
	queued, err := w.Derive(context.Background())
	if err == nil {
		tried, err = w.Deliver(context.Background())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return queued, tried
}

func (w *world) list() []notify.Delivery {
	w.t.Helper()
	list, _, err := w.store.Deliveries(context.Background(), "", "", 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// runs is a workload of Dana's.
func (w *world) runs(id string) {
	w.t.Helper()
	w.has(id, func(*workload.Workload) {})
}

// finished is a job of Dana's that has failed.
func (w *world) finished(id string) {
	w.t.Helper()
	w.has(id, func(item *workload.Workload) {
		item.Kind, item.Job, item.Desired, item.State = catalog.Job, &workload.Job{}, workload.Finished, workload.Failed
	})
}

func (w *world) has(id string, change func(*workload.Workload)) {
	w.t.Helper()
	item := workload.Workload{ID: workload.ID(id), Name: "nb-" + id, Kind: catalog.Notebook, Tenant: "vision",
		Owner: "p-dana", OwnerName: "Dana Develop", Size: catalog.Size{Name: "h100", Title: "H100"},
		Desired: workload.WantRunning, State: workload.Running, Generation: 1,
		Lease: workload.Lease{From: w.now, Until: w.now.Add(time.Hour)}, CreatedAt: w.now, UpdatedAt: w.now}
	change(&item)
	if err := w.store.SaveObserved(context.Background(), item, nil, nil); err != nil {
		w.t.Fatal(err)
	}
}
