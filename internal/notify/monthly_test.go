package notify_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// meters is a workload of a team that has held a GPU for an hour and still does.
func (w *world) meters(team string) {
	w.t.Helper()
	id := "w-" + team
	item := workload.Workload{ID: workload.ID(id), Name: "nb-" + team, Namespace: "gpu-" + team, Kind: catalog.Notebook,
		Tenant: team, Owner: "p-dana", OwnerName: "Dana Develop", Size: catalog.Size{Name: "h100", Title: "H100",
			Technology: catalog.Full, Accelerator: catalog.Accelerator{Model: "H100 80GB", Count: 1, Share: 1}},
		Desired: workload.WantRunning, State: workload.Running, Generation: 1,
		Lease: workload.Lease{From: w.now, Until: w.now.Add(time.Hour)}, CreatedAt: w.now, UpdatedAt: w.now}
	held := usage.Interval{Workload: id, Tenant: team, Size: "h100", PerHour: usage.Money{Minor: 200, Currency: "EUR"},
		From: w.now.Add(-time.Hour)}
	if err := w.store.SaveObserved(w.t.Context(), item, nil, &held); err != nil {
		w.t.Fatal(err)
	}
}

// tellMonth is what several portals on one database do at once.
func (w *world) tellMonth(portals int) {
	w.t.Helper()
	var group sync.WaitGroup
	for range portals {
		group.Go(func() {
			m := usage.StatementMail{Store: w.store, Statements: &usage.Service{Store: w.store, Zone: time.UTC,
				Now: func() time.Time { return w.now }}, Technology: func(name string) i18n.Text {
				return catalog.TechnologyWord(catalog.Technology(name))
			}}
			if err := m.Send(w.t.Context()); err != nil {
				w.t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestOwnersGetTheStatementOnce: from the meter to the mail. Of the teams, one has owners, one has none, and one held
// nothing.
func TestOwnersGetTheStatementOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.now = time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	w.meters("vision")
	w.meters("orphans")
	if err := w.Choose(t.Context(), w.actor("otto"), notify.Preferences{Language: "de",
		Channels: map[notify.Kind][]notify.Channel{notify.Statement: {notify.Mail}}}); err != nil {
		t.Fatal(err)
	}
	w.tellMonth(2)
	w.round()
	if got := w.list(); len(got) != 0 {
		t.Fatalf("the month is not over, got %+v", got)
	}
	w.now = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	for range 2 { // and again after a restart
		w.tellMonth(4)
		w.round()
	}
	list := w.list()
	if len(list) != 1 || list[0].Person != "p-otto" || list[0].State != notify.Sent || len(w.post.Mails()) != 1 {
		t.Fatalf("want one mail to the owner of vision, got %+v and %d mails", list, len(w.post.Mails()))
	}
	n := list[0].Notice
	want := []string{"Abrechnung des Teams vision für November 2026",
		"https://gpu.example.org/usage?month=2026-11&scope=team",
		"Was das Team vision belegt hat und was es kostet: 4,00 EUR für November 2026. GPU-Zeit: 2,0 h H100 80GB · Ganze " +
			"GPU. Ob GPUs ungenutzt waren, ist nicht bekannt. Die Seite zeigt jeden Workload, jede Person und jede Größe."}
	if diff := cmp.Diff(want, []string{n.Title, n.Link, n.Body}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnOwnerSwitchesTheStatementOff as any notice.
func TestAnOwnerSwitchesTheStatementOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.now = time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	w.meters("vision")
	if err := w.Choose(t.Context(), w.actor("otto"), notify.Preferences{Language: "en",
		Channels: map[notify.Kind][]notify.Channel{notify.Budget: {notify.Mail}}}); err != nil {
		t.Fatal(err)
	}
	w.now = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	w.tellMonth(1)
	w.round()
	if got := w.list(); len(got) != 0 {
		t.Errorf("want nothing sent, got %+v", got)
	}
}

// TestTheStatementsPageOfSeveralTeams is by team: its lines are what the messages say.
func TestTheStatementsPageOfSeveralTeams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opts := w.opts
	opts.Actor = func(p identity.Person, via identity.Via) identity.Actor {
		a := directory.Actor(p, via)
		if p.ID == "p-otto" {
			a.Tenants = map[string][]identity.Role{"vision": {identity.Owner}, "speech": {identity.Owner},
				"robots": {identity.Developer}}
		}
		return a
	}
	w.Service = notify.New(opts)
	w.now = time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)
	for _, team := range []string{"vision", "speech", "robots"} {
		w.meters(team)
	}
	w.now = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	w.tellMonth(1)
	w.round()
	links := map[string]string{}
	for _, d := range w.list() {
		links[string(d.Person)+" "+d.Notice.Tenant] = d.Notice.Link
	}
	const page = "https://gpu.example.org/usage?by=team&month=2026-11&scope=team"
	if diff := cmp.Diff(map[string]string{"p-otto vision": page, "p-otto speech": page}, links); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
