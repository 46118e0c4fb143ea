package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// snapshot writes one of a volume as it is when its cluster has said so much of it.
func (w *world) snapshot(v workload.Volume, name string, state workload.SnapshotState) workload.VolumeSnapshot {
	w.t.Helper()
	s := workload.VolumeSnapshot{ID: workload.SnapshotID(v.Name, name), Volume: v.Name, Name: name, Tenant: v.Tenant,
		Cluster: v.Cluster, Namespace: v.Namespace, CreatedAt: w.clock.now(), State: state}
	w.save(func(tx request.Tx) error { return tx.(workload.Tx).AddVolumeSnapshot(w.t.Context(), s) })
	return s
}

// bound has the cluster say that it has made a volume.
func (w *world) bound(v workload.Volume) {
	w.t.Helper()
	if err := w.store.SaveClaim(w.t.Context(), v.Name, workload.ClaimState{Phase: workload.ClaimBound, Asked: 5 << 30,
		Has: 5 << 30, At: w.clock.now()}); err != nil {
		w.t.Fatal(err)
	}
}

// says has the cluster say something of a snapshot.
func (w *world) says(id string, state workload.SnapshotState) {
	w.t.Helper()
	state.At = w.clock.now()
	if err := w.store.SaveSnapshotState(w.t.Context(), id, state); err != nil {
		w.t.Fatal(err)
	}
}

// from makes a volume from a snapshot.
func (w *world) from(subject, team, name, id string, gib int) error {
	_, err := w.workloads.AddVolume(w.t.Context(), w.actorOf(subject), workload.PersonalDraft{Team: team, Name: name,
		GiB: gib, Snapshot: id})
	return err
}

// TestSnapshot goes the whole way on the page and by the API: it is taken, the cluster says so, a volume is made from
// it, and neither can be deleted before that is there.
func TestSnapshot(t *testing.T) {
	w := newWorld(t)
	v, err := w.own(developer, "vision", "corpus", "", 5)
	if err != nil {
		t.Fatal(err)
	}
	dora := w.signedIn(developer)
	take := "/storage/" + v.Name + "/snapshots"
	if a := dora.post(take, url.Values{"name": {"before"}}); a.status != http.StatusConflict {
		t.Errorf("a snapshot of what the cluster has not made: %d", a.status)
	}
	w.bound(v.Volume)
	if a := dora.post(take, url.Values{"name": {"before"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	id := workload.SnapshotID(v.Name, "before")
	for name, status := range map[string]int{"before": http.StatusUnprocessableEntity,
		"My Files": http.StatusUnprocessableEntity} {
		if a := dora.post(take, url.Values{"name": {name}}); a.status != status {
			t.Errorf("%q: want %d, got %d", name, status, a.status)
		}
	}
	if a := dora.get("/storage"); !strings.Contains(a.body, "creating") {
		t.Error("the page does not say that it is being taken")
	}
	if got := wrongField(w.from(developer, "vision", "copy", id, 5), "snapshot"); got != "snapshot.not_ready" {
		t.Errorf("before it is ready: %q", got)
	}
	w.clock.pass(20 * time.Minute)
	if a := dora.get("/storage"); !strings.Contains(a.body, "snapshot controller") {
		t.Error("nobody is told to ask an administrator")
	}
	w.says(id, workload.SnapshotState{UID: "u", Failed: true, Detail: "no room"})
	if got := wrongField(w.from(developer, "vision", "copy", id, 5), "snapshot"); got != "snapshot.source_failed" {
		t.Errorf("one that failed: %q", got)
	}
	if a := dora.get("/storage"); !strings.Contains(a.body, "no room") {
		t.Error("the cluster's own error is not shown")
	}
	w.says(id, workload.SnapshotState{UID: "u", Ready: true, Bytes: 4<<30 + 1, TakenAt: w.clock.now()})
	if a := w.call(w.token(developer), http.MethodGet, "/api/v1/volumes", nil); !strings.Contains(a.body,
		`"restoreGiB":5`) || !strings.Contains(a.body, `"state":"ready"`) {
		t.Error(a.body)
	}
	for what, c := range map[string]struct {
		who, team, id string
		gib           int
		field, want   string
	}{
		"too small":       {developer, "vision", id, 4, "gib", "snapshot.larger"},
		"unknown":         {developer, "vision", id + "x", 5, "snapshot", "snapshot.unknown"},
		"somebody else's": {owner, "vision", id, 5, "snapshot", "snapshot.unknown"},
	} {
		if got := wrongField(w.from(c.who, c.team, "copy", c.id, c.gib), c.field); got != c.want {
			t.Errorf("%s: want %s, got %q", what, c.want, got)
		}
	}
	if a := dora.post("/storage/new", url.Values{"name": {"copy"}, "place": {"vision/main"}, "gib": {"5"},
		"from": {"snapshot/" + id}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	copied, err := w.store.Volume(t.Context(), workload.PersonalClaim("vision", w.person(developer).ID, "copy"))
	if err != nil || copied.Personal.Snapshot != id || copied.Personal.From != "" || copied.Mounted().Snapshot != id {
		t.Errorf("%+v %v", copied, err)
	}
	gone := func() error {
		return w.workloads.DeleteSnapshot(t.Context(), w.actorOf(developer), v.Name, "before")
	}
	if err := gone(); !fault.Is(err, fault.Conflict) {
		t.Errorf("the snapshot goes while a volume is made from it: %v", err)
	}
	if err := w.workloads.DeleteVolume(t.Context(), w.actorOf(developer), v.Name); !fault.Is(err, fault.Conflict) {
		t.Errorf("its volume goes, and the snapshot with it: %v", err)
	}
	w.bound(copied)
	if a := dora.get("/storage/" + v.Name + "/delete"); !strings.Contains(a.body, "Its snapshots: before") {
		t.Error("the dialog does not say that the snapshot goes too")
	}
	if err := w.workloads.DeleteVolume(t.Context(), w.actorOf(developer), v.Name); err != nil {
		t.Fatal(err)
	}
	if s, err := w.store.VolumeSnapshot(t.Context(), id); err != nil || !s.Deleted {
		t.Errorf("the snapshot does not go with its volume: %+v %v", s, err)
	}
	if err := w.store.PurgeVolumeSnapshot(t.Context(), id); err != nil {
		t.Error(err)
	}
	if _, err := w.store.VolumeSnapshot(t.Context(), id); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is there after it is gone: %v", err)
	}
	if taken := w.events(audit.SnapshotTaken); len(taken) != 1 || taken[0].Volume != v.Name {
		t.Errorf("on record: %+v", taken)
	}
}

// TestSnapshotsAreLimited, and only there where the cluster has them.
func TestSnapshotsAreLimited(t *testing.T) {
	w := newWorld(t)
	v, err := w.own(developer, "vision", "corpus", "", 5)
	if err != nil {
		t.Fatal(err)
	}
	w.bound(v.Volume)
	take := func(name string) error {
		_, err := w.workloads.TakeSnapshot(t.Context(), w.actorOf(developer), v.Name, name)
		return err
	}
	for i := range workload.MaxSnapshots {
		if err := take(fmt.Sprintf("s-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := take("more"); fault.As(err).Sentence.ID != "snapshot.too_many" {
		t.Errorf("want it to say how many, got %v", err)
	}
	if err := w.workloads.DeleteSnapshot(t.Context(), w.actorOf(developer), v.Name, "s-3"); err != nil {
		t.Fatal(err)
	}
	if err := take("more"); fault.As(err).Sentence.ID != "snapshot.too_many" {
		t.Errorf("one that is still being deleted counts: %v", err)
	}
	if err := w.store.PurgeVolumeSnapshot(t.Context(), workload.SnapshotID(v.Name, "s-3")); err != nil {
		t.Fatal(err)
	}
	offered := w.workloads.Sharing
	w.workloads.Sharing = func() workload.Sharing {
		s := offered()
		s.Snapshots = nil
		return s
	}
	if err := take("more"); fault.As(err).Sentence.ID != "snapshot.not_offered" {
		t.Errorf("a cluster without snapshots: %v", err)
	}
	if a := w.signedIn(developer).get("/storage"); strings.Contains(a.body, "snapshot-take") {
		t.Error("the page offers what the cluster has not")
	}
}
