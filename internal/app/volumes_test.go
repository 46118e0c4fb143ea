package app

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// own makes a personal volume.
func (w *world) own(subject, team, name, from string, gib int) (workload.OwnVolume, error) {
	w.t.Helper()
	return w.workloads.AddVolume(w.t.Context(), w.actorOf(subject), workload.PersonalDraft{Team: team, Name: name,
		GiB: gib, From: from})
}

// attach is a start of somebody with personal volumes.
func (w *world) attach(subject, team string, uses ...request.VolumeUse) (request.Request, error) {
	w.t.Helper()
	return w.requests.Requests.Submit(w.t.Context(), w.actorOf(subject), request.Draft{Kind: "notebook", Tenant: team,
		Size: "cpu", Image: "jupyterlab", Lease: "1h", Reason: "a test", Volumes: uses})
}

// wrongField is the id of the sentence at a field of a refusal.
func wrongField(err error, field string) string {
	for _, f := range fault.As(err).Fields {
		if f.Name == field {
			return f.Reason.ID
		}
	}
	return ""
}

// TestPersonalVolume goes the whole way: somebody makes it, it is metered, a workload has it read-only, the summary
// shows that, one that runs keeps it from another one, and it is deleted when none has it.
func TestPersonalVolume(t *testing.T) {
	w := newWorld(t)
	dora := w.signedIn(developer)
	if a := dora.post("/storage/new", url.Values{"name": {"corpus"}, "place": {"vision/main"},
		"gib": {"20"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	claim := workload.PersonalClaim("vision", w.person(developer).ID, "corpus")
	if a := dora.get("/storage"); !strings.Contains(a.body, "/data/corpus") ||
		!strings.Contains(a.body, "not created it yet") {
		t.Error("the page does not show it, and that it is still to be made")
	}
	if a := dora.post("/storage/new", url.Values{"name": {"corpus"}, "place": {"vision/main"},
		"gib": {"20"}}); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "already") {
		t.Errorf("the name is had twice: %d", a.status)
	}
	kept, err := w.store.StorageIntervals(t.Context(), usage.Filter{Span: usage.Span{From: w.clock.now().AddDate(0, 0, -1),
		Until: w.clock.now().AddDate(0, 0, 1)}})
	if err != nil || len(kept) != 1 || kept[0].Volume != claim || kept[0].GiB != 20 || kept[0].Tenant != "vision" {
		t.Errorf("want it metered for the team, got %+v %v", kept, err)
	}

	spec := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "volumes": {"", claim + ":ro"}, "manifest": {"1"}}
	if a := dora.post("/start/summary", spec); !strings.Contains(a.body, "claimName: "+claim) ||
		!strings.Contains(a.body, "mountPath: /data/corpus") {
		t.Error("the summary's objects do not have the claim")
	}
	started := dora.post("/start", spec)
	if started.status != http.StatusSeeOther {
		t.Fatalf("%d %s", started.status, started.body)
	}
	id := workload.ID(strings.TrimPrefix(started.header.Get("Location"), "/workloads/"))
	item, err := w.store.Workload(t.Context(), id)
	if err != nil || len(item.Mounts) != 1 || item.Mounts[0].Claim != claim || !item.Mounts[0].ReadOnly ||
		!item.Mounts[0].Personal {
		t.Fatal(item.Mounts, err)
	}
	if a := dora.get("/workloads/" + string(id)); !strings.Contains(a.body, "/data/corpus") {
		t.Error("the workload's page does not say that it has it")
	}
	if a := dora.get("/start?tenant=vision"); !strings.Contains(a.body, "in use by "+item.Name) {
		t.Error("the form does not say who runs with it")
	}
	for who, use := range map[string]string{developer: "corpus", owner: claim} {
		_, err := w.attach(who, "vision", request.VolumeUse{Name: use})
		want := map[string]string{developer: "request.own_volume_in_use", owner: "request.own_volume_unknown"}[who]
		if got := wrongField(err, "volumes"); got != want {
			t.Errorf("%s: want %s, got %v", who, want, err)
		}
	}
	if err := w.workloads.DeleteVolume(t.Context(), w.actorOf(developer), claim); !fault.Is(err, fault.Conflict) ||
		!strings.Contains(err.Error(), "volume.mounted") && !strings.Contains(err.Error(), item.Name) {
		t.Errorf("it is deleted while a workload has it: %v", err)
	}

	w.end(id)
	if _, err := w.attach(developer, "vision", request.VolumeUse{Name: "corpus"},
		request.VolumeUse{Name: claim}); wrongField(err, "volumes") != "request.own_volume_twice" {
		t.Errorf("it is there twice: %v", err)
	}
	if err := w.workloads.DeleteVolume(t.Context(), w.actorOf(developer), claim); err != nil {
		t.Error(err)
	}
	if added := w.events(audit.VolumeAdded); len(added) != 1 || added[0].Volume != claim || added[0].Tenant != "vision" {
		t.Errorf("on record: %+v", added)
	}
}

// TestPersonalVolumeInUseIsNotReclaimed: a workload that has it keeps it, running or stopped; without one the time
// counts for which unused storage is kept.
func TestPersonalVolumeInUseIsNotReclaimed(t *testing.T) {
	w := newWorld(t)
	w.workloads.Retention = workload.Retention{Period: 24 * time.Hour, Warnings: workload.Warnings{time.Hour}}
	v, err := w.own(developer, "vision", "corpus", "", 5)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.attach(developer, "vision", request.VolumeUse{Name: "corpus"})
	if err != nil {
		t.Fatal(err)
	}
	look := func() workload.Volume {
		t.Helper()
		if err := w.workloads.EnforceRetention(t.Context(), func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		got, err := w.store.Volume(t.Context(), v.Name)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := look(); !got.UnusedFrom.IsZero() {
		t.Error("it counts as unused while a workload has it")
	}
	w.end(r.Workload)
	if got := look(); got.UnusedFrom.IsZero() {
		t.Error("its time does not begin when none has it")
	}
}

// TestClonesAreOfOnesOwn: what cannot be cloned is refused with the reason, and what a clone is still to be made of
// stays as it is.
func TestClonesAreOfOnesOwn(t *testing.T) {
	w := newWorld(t)
	source := w.unusedVolume(developer, "vision")
	theirs := w.unusedVolume(owner, "vision")
	w.share("vision", "shared")
	for name, c := range map[string]struct {
		from string
		gib  int
		wrong,
		field string
	}{
		"somebody else's": {theirs.Name, 20, "volume.from_unknown", "from"},
		"the team's":      {"vision.shared", 20, "volume.from_unknown", "from"},
		"none":            {"nothing", 20, "volume.from_unknown", "from"},
		"smaller":         {source.Name, 9, "volume.from_larger", "gib"},
		"in use":          {w.running(developer, "vision").Volume, 20, "volume.from_in_use", "from"},
	} {
		if _, err := w.own(developer, "vision", "copy", c.from, c.gib); wrongField(err, c.field) != c.wrong {
			t.Errorf("%s: want %s, got %v", name, c.wrong, err)
		}
	}
	state := func(name string, phase workload.Phase) {
		t.Helper()
		if err := w.store.SaveClaim(t.Context(), name, workload.ClaimState{Phase: phase, At: w.clock.now()}); err != nil {
			t.Fatal(err)
		}
	}
	state(source.Name, workload.ClaimPending)
	if _, err := w.own(developer, "vision", "copy", source.Name, 20); wrongField(err, "from") != "volume.from_unbound" {
		t.Errorf("it is cloned before it is there: %v", err)
	}
	state(source.Name, workload.ClaimBound)
	v, err := w.own(developer, "vision", "copy", source.Name, 20)
	if err != nil || v.Personal.From != source.Name {
		t.Fatal(v, err)
	}
	actor := w.actorOf(developer)
	if err := w.workloads.DeleteVolume(t.Context(), actor, source.Name); !fault.Is(err, fault.Conflict) {
		t.Errorf("what is still to be cloned is deleted: %v", err)
	}
	if _, err := w.workloads.ExpandOwnVolume(t.Context(), actor, source.Name, 10, 30); !fault.Is(err, fault.Conflict) {
		t.Errorf("what is still to be cloned grows: %v", err)
	}
	state(v.Name, workload.ClaimBound)
	if err := w.workloads.DeleteVolume(t.Context(), actor, source.Name); err != nil {
		t.Error(err)
	}
}

// TestOwnStorageGrows: a home as well as a personal volume, only larger, within the limit, and the owner reads why its
// cluster would not have it.
func TestOwnStorageGrows(t *testing.T) {
	w := newWorld(t)
	home := w.running(developer, "vision").Volume
	dora := w.signedIn(developer)
	for name, c := range map[string]struct {
		form   url.Values
		status int
	}{
		"smaller":   {url.Values{"from": {"10"}, "gib": {"9"}}, http.StatusUnprocessableEntity},
		"too large": {url.Values{"from": {"10"}, "gib": {"999999"}}, http.StatusUnprocessableEntity},
		"old":       {url.Values{"from": {"5"}, "gib": {"20"}}, http.StatusConflict},
	} {
		if a := dora.post("/storage/"+home+"/expand", c.form); a.status != c.status {
			t.Errorf("%s: want %d, got %d", name, c.status, a.status)
		}
	}
	if a := dora.post("/storage/"+home+"/expand", url.Values{"from": {"10"}, "gib": {"20"}}); a.status !=
		http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	v, err := w.store.Volume(t.Context(), home)
	if err != nil || v.GiB != 20 {
		t.Fatal(v.GiB, err)
	}
	if err := w.store.SaveClaim(t.Context(), home, workload.ClaimState{Phase: workload.ClaimBound, Asked: 20 << 30,
		Has: 10 << 30, At: w.clock.now()}); err != nil {
		t.Fatal(err)
	}
	if a := dora.get("/storage"); !strings.Contains(a.body, "Expanding: 10 GiB available so far.") {
		t.Error("the page does not say how far it is")
	}
	if err := w.workloads.NotExpanded(t.Context(), v, 10, "volume.refused_class", "only dynamically"); err != nil {
		t.Fatal(err)
	}
	if a := dora.get("/storage"); !strings.Contains(a.body, "storage class of this storage does not support expansion") {
		t.Error("the page does not say that its class does not let it grow")
	}
	if _, err := w.workloads.ExpandOwnVolume(t.Context(), w.actorOf(approver), home, 10, 20); err == nil {
		t.Error("an approver makes somebody's home larger")
	}
}
