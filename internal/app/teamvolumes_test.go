package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// share makes storage that a team shares.
func (w *world) share(team, name string) {
	w.t.Helper()
	if _, err := w.workloads.ShareVolume(w.t.Context(), w.actorOf(admin), workload.ShareDraft{Team: team, Name: name,
		Cluster: "main", Class: "nfs", GiB: 10}); err != nil {
		w.t.Fatal(err)
	}
}

// teamVolume is one that nobody has made before.
func (w *world) teamVolume(team string) string {
	name := fmt.Sprintf("data-%d", w.next())
	w.share(team, name)
	return name
}

// lastVolume is the name that teamVolume gave last.
func (w *world) lastVolume() string { return fmt.Sprintf("data-%d", w.number) }

// with is a start of the developer with shared storage.
func (w *world) with(size string, mounts ...string) (request.Request, error) {
	return w.requests.Requests.Submit(w.t.Context(), w.actorOf(developer),
		request.Draft{Kind: "notebook", Tenant: "vision",
			Size: size, Image: "jupyterlab", Lease: "1h", Reason: "a test", Mounts: mounts})
}

// TestSharedStorage goes the whole way: an owner makes it, a member's workload has it, the summary shows the claim, it
// is metered, and it goes only when no workload has it.
func TestSharedStorage(t *testing.T) {
	w := newWorld(t)
	olga, dora := w.signedIn(owner), w.signedIn(developer)
	if a := olga.post("/team/vision/volumes", url.Values{"name": {"data"}, "class": {"main/nfs"}, "gib": {"20"},
		"readOnly": {"on"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := dora.get("/start?tenant=vision"); !strings.Contains(a.body, "/shared/data") {
		t.Error("a member is not offered the storage")
	}
	spec := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "mounts": {"data"}, "manifest": {"1"}}
	if a := dora.post("/start/summary", spec); !strings.Contains(a.body, "claimName: vision.data") ||
		!strings.Contains(a.body, "mountPath: /shared/data") {
		t.Error("the summary's objects do not have the claim")
	}
	started := dora.post("/start", spec)
	if started.status != http.StatusSeeOther {
		t.Fatalf("%d %s", started.status, started.body)
	}
	id := workload.ID(strings.TrimPrefix(started.header.Get("Location"), "/workloads/"))
	item, err := w.store.Workload(t.Context(), id)
	if err != nil || len(item.Mounts) != 1 || item.Mounts[0].Claim != "vision.data" || item.Mounts[0].GiB != 20 ||
		!item.Mounts[0].ReadOnly {
		t.Fatal(item.Mounts, err)
	}
	if a := dora.get("/workloads/" + string(id)); !strings.Contains(a.body, "/shared/data") {
		t.Error("the workload's page does not say that it has it")
	}

	for path, form := range map[string]url.Values{"/team/vision/volumes/data/delete": {"confirm": {"data"}},
		"/storage/vision.data/delete": {}} {
		if a := olga.post(path, form); a.status != http.StatusConflict || strings.Contains(path, "team") &&
			!strings.Contains(a.body, item.Name+" (Dora Dev)") {
			t.Errorf("%s: want a refusal that names who has it, got %d", path, a.status)
		}
	}
	if _, err := w.requests.Requests.Submit(t.Context(), w.actorOf(owner),
		request.Draft{Kind: "notebook", Tenant: "vision",
			Size: "cpu", Image: "jupyterlab", Lease: "1h", Volume: "vision.data"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("somebody takes it for storage of their own: %v", err)
	}
	if _, err := w.requests.Requests.Submit(t.Context(), w.actorOf(other),
		request.Draft{Kind: "notebook", Tenant: "speech",
			Size: "cpu", Image: "jupyterlab", Lease: "1h", Mounts: []string{"data"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("another team has it: %v", err)
	}
	w.share("speech", "data") // another team's of the same name is another one
	kept, err := w.store.StorageIntervals(t.Context(), usage.Filter{Span: usage.Span{From: w.clock.now().AddDate(0, 0, -1),
		Until: w.clock.now().AddDate(0, 0, 1)}})
	if err != nil || len(kept) != 2 || kept[1].Volume != "vision.data" || kept[1].GiB != 20 || kept[1].Tenant != "vision" {
		t.Errorf("want it metered for the team, got %+v %v", kept, err)
	}

	w.end(id)
	if a := olga.post("/team/vision/volumes/data/delete",
		url.Values{"confirm": {"dat"}}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("want its whole name, got %d", a.status)
	}
	if a := olga.post("/team/vision/volumes/data/delete",
		url.Values{"confirm": {"data"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := olga.get("/team/vision/volumes"); !strings.Contains(a.body, "Restore") {
		t.Error("the page does not say that it goes, and how to take that back")
	}
	if a := dora.get("/start?tenant=vision"); strings.Contains(a.body, "/shared/data") {
		t.Error("what goes is offered for a start")
	}
	if _, err := w.with("cpu", "data"); !fault.Is(err, fault.Invalid) {
		t.Errorf("something starts with what is being deleted: %v", err)
	}
	if shared, ending := w.events(audit.VolumeShared), w.events(audit.VolumeEnding); len(shared) != 2 ||
		len(ending) != 1 || ending[0].Tenant != "vision" {
		t.Errorf("on record: %v %v", shared, ending)
	}
}

// TestDeletedSharedStorageHasATimeOfGrace: until it is over one click brings it back; then the leader removes it, once,
// and only where the cluster answers.
func TestDeletedSharedStorageHasATimeOfGrace(t *testing.T) {
	w := newWorld(t)
	w.share("vision", "data")
	olga, dora := w.signedIn(owner), w.signedIn(developer)
	pass := func(d time.Duration) { // longer than anybody stays signed in
		w.clock.pass(d)
		olga, dora = w.signedIn(owner), w.signedIn(developer)
	}
	remove := func() {
		t.Helper()
		if a := olga.post("/team/vision/volumes/data/delete",
			url.Values{"confirm": {"data"}}); a.status != http.StatusSeeOther {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	volume := func() workload.Volume {
		t.Helper()
		v, err := w.store.Volume(t.Context(), "vision.data")
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	due := func(answers bool) {
		t.Helper()
		if err := w.workloads.EnforceRetention(t.Context(), func(string) bool { return answers }); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	first := volume().DeleteAfter
	if want := w.clock.now().Add(7 * 24 * time.Hour); first.Sub(want).Abs() > time.Hour {
		t.Errorf("want it to go a week later, got %s", first)
	}
	pass(6 * 24 * time.Hour)
	remove() // once more changes nothing
	if got := volume().DeleteAfter; !got.Equal(first) {
		t.Errorf("a second click moves it from %s to %s", first, got)
	}
	due(true)
	if a := dora.post("/team/vision/volumes/data/restore", nil); a.status != http.StatusForbidden {
		t.Errorf("a member takes it back: %d", a.status)
	}
	if a := olga.post("/team/vision/volumes/data/expand",
		url.Values{"from": {"10"}, "gib": {"20"}}); a.status != http.StatusConflict {
		t.Errorf("what goes grows: %d", a.status)
	}
	for range 2 {
		if a := olga.post("/team/vision/volumes/data/restore", nil); a.status != http.StatusSeeOther {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	pass(30 * 24 * time.Hour)
	due(true)
	if v := volume(); v.PendingDeletion() || v.Deleted {
		t.Errorf("it was taken back and goes all the same: %+v", v)
	}
	remove()
	pass(7*24*time.Hour + time.Minute)
	due(false)
	if volume().Deleted {
		t.Error("it goes though its cluster does not answer")
	}
	due(true)
	due(true)
	if v := volume(); !v.Deleted {
		t.Errorf("want it left to the controller, got %+v", v)
	}
	if _, err := w.workloads.RestoreVolume(t.Context(), w.actorOf(owner), "vision", "data"); !fault.Is(err,
		fault.Conflict) {
		t.Errorf("want it said that it is too late, got %v", err)
	}
	for kind, want := range map[audit.Kind]int{audit.VolumeEnding: 2, audit.VolumeRestored: 1, audit.VolumeDeleted: 1} {
		if got := w.events(kind); len(got) != want {
			t.Errorf("%s: want %d on record, got %v", kind, want, got)
		}
	}
}

// TestSharedStorageGrows: only larger, only as large as it may, only by who saw how large it is; and what the cluster
// refuses is taken back with its words.
func TestSharedStorageGrows(t *testing.T) {
	w := newWorld(t, func(c *config.Config) {
		c.Clusters[0].SharedStorage[0].VolumeGiB, c.Clusters[0].SharedStorage[0].TeamGiB = 60, 100
	})
	w.share("vision", "data")
	w.share("vision", "other")
	olga := w.signedIn(owner)
	for name, c := range map[string]struct {
		from, gib string
		status    int
		says      string
	}{
		"smaller":                   {"10", "5", http.StatusUnprocessableEntity, "not shrunk"},
		"the same":                  {"10", "10", http.StatusUnprocessableEntity, "not shrunk"},
		"no number":                 {"10", "lots", http.StatusUnprocessableEntity, "not shrunk"},
		"more than one can have":    {"10", "61", http.StatusUnprocessableEntity, "At most 60 GiB"},
		"somebody else was faster":  {"9", "20", http.StatusConflict, "it now has 10 GiB"},
		"what was seen is not told": {"", "20", http.StatusConflict, "it now has 10 GiB"},
	} {
		if a := olga.post("/team/vision/volumes/data/expand",
			url.Values{"from": {c.from}, "gib": {c.gib}}); a.status != c.status || !strings.Contains(a.body, c.says) {
			t.Errorf("%s: want %d with %q, got %d", name, c.status, c.says, a.status)
		}
	}
	if a := olga.post("/team/vision/volumes/data/expand",
		url.Values{"from": {"10"}, "gib": {"60"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := olga.post("/team/vision/volumes/other/expand",
		url.Values{"from": {"10"}, "gib": {"41"}}); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "70 of 100 GiB") {
		t.Errorf("more than the team may have in all: %d", a.status)
	}
	if a := olga.post("/team/vision/volumes", url.Values{"name": {"third"}, "class": {"main/nfs"},
		"gib": {"31"}}); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "30 GiB are left") {
		t.Errorf("a new one of more than is left: %d", a.status)
	}
	if a := w.call(w.token(owner), http.MethodPost, "/api/v1/tenants/vision/volumes/other/expand",
		map[string]any{"from": 10, "gib": 40}); a.status != http.StatusOK || !strings.Contains(a.body, `"storage":"40Gi"`) {
		t.Errorf("exactly what is left: %d %s", a.status, a.body)
	}
	seen, err := w.store.Volume(t.Context(), "vision.other")
	if err != nil || seen.GiB != 40 {
		t.Fatal(seen, err)
	}
	for range 2 { // after a crash it is told twice
		if err := w.workloads.NotExpanded(t.Context(), seen, 10, "volume.refused_class",
			"the class must support resize"); err != nil {
			t.Fatal(err)
		}
	}
	page := olga.get("/team/vision/volumes")
	for _, want := range []string{"Requested size: 40 GiB", "not support expansion", "the class must support resize"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	a := w.call(w.token(developer), http.MethodGet, "/api/v1/tenants/vision/volumes", nil)
	if !strings.Contains(a.body, `"notExpanded":{"gib":40`) || !strings.Contains(a.body, `"storage":"10Gi"`) ||
		!strings.Contains(a.body, `"phase":"unknown"`) {
		t.Errorf("over the API: %s", a.body)
	}
	kept, err := w.store.StorageIntervals(t.Context(), usage.Filter{Span: usage.Span{From: w.clock.now().AddDate(0, 0, -1),
		Until: w.clock.now().AddDate(0, 0, 1)}})
	if err != nil || len(kept) == 0 || kept[len(kept)-1].Volume != "vision.other" || kept[len(kept)-1].GiB != 10 {
		t.Errorf("want it metered as large as it stayed, got %+v %v", kept, err)
	}
	if a := olga.post("/team/vision/volumes/other/expand",
		url.Values{"from": {"10"}, "gib": {"11"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if again, err := w.store.Volume(t.Context(), "vision.other"); err != nil || again.Refused.GiB != 0 {
		t.Errorf("an old refusal stands beside a new spec: %+v %v", again, err)
	}
	if grown, not := w.events(audit.VolumeExpanded), w.events(audit.VolumeNotExpanded); len(grown) != 3 || len(not) != 1 {
		t.Errorf("on record: %v %v", grown, not)
	}
}

// end takes a workload away, as the controller does when its objects are gone.
func (w *world) end(id workload.ID) {
	w.t.Helper()
	item, err := w.workloads.Delete(w.t.Context(), w.actorOf(owner), id, false)
	if err != nil {
		w.t.Fatal(err)
	}
	item.State = workload.Ended
	if err := w.store.ChangeExclusively(w.t.Context(),
		func(tx workload.Tx) error { return tx.SaveWorkload(w.t.Context(), item) }); err != nil {
		w.t.Fatal(err)
	}
}

// TestSharedStorageThatGoesWhileSomebodyDecides: what was asked for with it is not granted without it.
func TestSharedStorageThatGoesWhileSomebodyDecides(t *testing.T) {
	w := newWorld(t)
	w.share("vision", "data")
	r, err := w.with("h100", "data")
	if err != nil || r.State != request.Pending {
		t.Fatal(r.State, err)
	}
	if err := w.workloads.EndVolume(t.Context(), w.actorOf(owner), "vision", "data", "data"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), r, ""); !fault.Is(err, fault.Conflict) ||
		fault.As(err).Sentence.ID != "request.mount_gone" {
		t.Errorf("want the reason, got %v", err)
	}
	if now, err := w.requests.Requests.Get(t.Context(), w.actorOf(developer), r.ID); err != nil ||
		now.State != request.Pending {
		t.Errorf("want it left as it is, got %s %v", now.State, err)
	}
}

// TestSharedStorageIsChecked: a wrong spec comes back with what was typed.
func TestSharedStorageIsChecked(t *testing.T) {
	w := newWorld(t)
	w.share("vision", "taken")
	olga := w.signedIn(owner)
	for name, c := range map[string]struct{ field, value, says string }{
		"a name that is none":  {"name", "My Data", "Use at most"},
		"a dot in the name":    {"name", "a.b", "Use at most"},
		"a name that is taken": {"name", "taken", "already has shared storage named taken"},
		"a class nobody has":   {"class", "main/fast", "offered storage classes"},
		"another cluster":      {"class", "other/nfs", "offered storage classes"},
		"nothing":              {"gib", "0", "Enter 1 to 2048"},
		"too much":             {"gib", "4096", "Enter 1 to 2048"},
		"no number":            {"gib", "lots", "Enter 1 to 2048"},
	} {
		form := url.Values{"name": {"fresh"}, "class": {"main/nfs"}, "gib": {"10"}}
		form.Set(c.field, c.value)
		if a := olga.post("/team/vision/volumes", form); a.status != http.StatusUnprocessableEntity ||
			!strings.Contains(a.body, c.says) {
			t.Errorf("%s: want it back with %q, got %d", name, c.says, a.status)
		}
	}
	if list, err := w.workloads.TeamVolumes(t.Context(), w.actorOf(developer), "vision"); err != nil || len(list) != 1 {
		t.Errorf("something was made: %v %v", list, err)
	}
}
