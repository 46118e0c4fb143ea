package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// share makes storage that a team shares.
func (w *world) share(team, name string) {
	w.t.Helper()
	if _, err := w.workloads.ShareVolume(w.t.Context(), w.actorOf(admin), workload.ShareDraft{Team: team, Name: name, Cluster: "main", Class: "nfs", GiB: 10}); err != nil {
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
	return w.requests.Submit(w.t.Context(), w.actorOf(developer), request.Draft{Kind: "notebook", Tenant: "vision", Size: size, Image: "jupyterlab", Lease: "1h", Reason: "a test", Mounts: mounts})
}

// TestSharedStorage goes the whole way: an owner makes it, a member's workload has it, the summary shows the claim, it is metered, and it goes only when no workload has it.
func TestSharedStorage(t *testing.T) {
	w := newWorld(t)
	olga, dora := w.signedIn(owner), w.signedIn(developer)
	if a := olga.post("/team/vision/volumes", url.Values{"name": {"data"}, "class": {"main/nfs"}, "gib": {"20"}, "readOnly": {"on"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := dora.get("/start?tenant=vision"); !strings.Contains(a.body, "/shared/data") {
		t.Error("a member is not offered the storage")
	}
	wish := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"}, "lease": {"1h"}, "mounts": {"data"}}
	if a := dora.post("/start/summary", wish); !strings.Contains(a.body, "claimName: vision.data") || !strings.Contains(a.body, "mountPath: /shared/data") {
		t.Error("the summary's objects do not have the claim")
	}
	started := dora.post("/start", wish)
	if started.status != http.StatusSeeOther {
		t.Fatalf("%d %s", started.status, started.body)
	}
	id := workload.ID(strings.TrimPrefix(started.header.Get("Location"), "/workloads/"))
	item, err := w.store.Workload(t.Context(), id)
	if err != nil || len(item.Mounts) != 1 || item.Mounts[0].Claim != "vision.data" || item.Mounts[0].GiB != 20 || !item.Mounts[0].ReadOnly {
		t.Fatal(item.Mounts, err)
	}
	if a := dora.get("/workloads/" + string(id)); !strings.Contains(a.body, "/shared/data") {
		t.Error("the workload's page does not say that it has it")
	}

	for path, form := range map[string]url.Values{"/team/vision/volumes/data/delete": {"confirm": {"data"}}, "/storage/vision.data/delete": {}} {
		if a := olga.post(path, form); a.status != http.StatusConflict || strings.Contains(path, "team") && !strings.Contains(a.body, item.Name+" (Dora Dev)") {
			t.Errorf("%s: want a refusal that names who has it, got %d", path, a.status)
		}
	}
	if _, err := w.requests.Submit(t.Context(), w.actorOf(owner), request.Draft{Kind: "notebook", Tenant: "vision", Size: "cpu", Image: "jupyterlab", Lease: "1h", Volume: "vision.data"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("somebody takes it for storage of their own: %v", err)
	}
	if _, err := w.requests.Submit(t.Context(), w.actorOf(other), request.Draft{Kind: "notebook", Tenant: "speech", Size: "cpu", Image: "jupyterlab", Lease: "1h", Mounts: []string{"data"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("another team has it: %v", err)
	}
	w.share("speech", "data") // another team's of the same name is another one
	kept, err := w.store.Kept(t.Context(), usage.Filter{Span: usage.Span{From: w.clock.now().AddDate(0, 0, -1), Until: w.clock.now().AddDate(0, 0, 1)}})
	if err != nil || len(kept) != 2 || kept[1].Volume != "vision.data" || kept[1].GiB != 20 || kept[1].Tenant != "vision" {
		t.Errorf("want it metered for the team, got %+v %v", kept, err)
	}

	w.end(id)
	if a := olga.post("/team/vision/volumes/data/delete", url.Values{"confirm": {"dat"}}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("want its whole name, got %d", a.status)
	}
	if a := olga.post("/team/vision/volumes/data/delete", url.Values{"confirm": {"data"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if gone, err := w.store.DeletedVolumes(t.Context()); err != nil || len(gone) != 1 || gone[0].Name != "vision.data" {
		t.Errorf("want it left to the controller, got %v %v", gone, err)
	}
	if _, err := w.with("cpu", "data"); !fault.Is(err, fault.Invalid) {
		t.Errorf("something starts with what is being deleted: %v", err)
	}
	if shared, deleted := w.events(audit.VolumeShared), w.events(audit.VolumeDeleted); len(shared) != 2 || len(deleted) != 1 || deleted[0].Tenant != "vision" {
		t.Errorf("on record: %v %v", shared, deleted)
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
	if err := w.store.ChangeExclusively(w.t.Context(), func(tx workload.Tx) error { return tx.SaveWorkload(w.t.Context(), item) }); err != nil {
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
	if _, err := w.requests.Approve(t.Context(), w.actorOf(approver), r.ID, ""); !fault.Is(err, fault.Conflict) || fault.As(err).Sentence.ID != "request.mount_gone" {
		t.Errorf("want the reason, got %v", err)
	}
	if now, err := w.requests.Get(t.Context(), w.actorOf(developer), r.ID); err != nil || now.State != request.Pending {
		t.Errorf("want it left as it is, got %s %v", now.State, err)
	}
}

// TestSharedStorageIsChecked: a wrong wish comes back with what was typed.
func TestSharedStorageIsChecked(t *testing.T) {
	w := newWorld(t)
	w.share("vision", "taken")
	olga := w.signedIn(owner)
	for name, c := range map[string]struct{ field, value, says string }{
		"a name that is none":  {"name", "My Data", "A name has at most"},
		"a dot in the name":    {"name", "a.b", "A name has at most"},
		"a name that is taken": {"name", "taken", "shared storage called taken already"},
		"a class nobody has":   {"class", "main/fast", "storage classes that are offered"},
		"another cluster":      {"class", "other/nfs", "storage classes that are offered"},
		"nothing":              {"gib", "0", "Between 1 and 2048"},
		"too much":             {"gib", "4096", "Between 1 and 2048"},
		"no number":            {"gib", "lots", "Between 1 and 2048"},
	} {
		form := url.Values{"name": {"fresh"}, "class": {"main/nfs"}, "gib": {"10"}}
		form.Set(c.field, c.value)
		if a := olga.post("/team/vision/volumes", form); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, c.says) {
			t.Errorf("%s: want it back with %q, got %d", name, c.says, a.status)
		}
	}
	if list, err := w.workloads.TeamVolumes(t.Context(), w.actorOf(developer), "vision"); err != nil || len(list) != 1 {
		t.Errorf("something was made: %v %v", list, err)
	}
}
