package storetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func workloadID(w workload.Workload) string { return string(w.ID) }

// named is a workload of that state, with the name; its spec follows the state.
func named(id, name string, state workload.State) workload.Workload {
	w := Workload(id)
	w.Name, w.State, w.Desired = name, state, workload.WantRunning
	switch state {
	case workload.Stopped, workload.Stopping:
		w.Desired = workload.WantStopped
	case workload.Ended:
		w.Desired = workload.WantDeleted
	}
	return w
}

var workloadCases = cases{
	"a workload comes back as it was saved, at version 1": func(t *testing.T, s *store.Store) {
		want := Workload("w-1")
		filled(t, want, "Version")
		filled(t, want.Observed)
		filled(t, want.Size)
		filled(t, want.Image)
		saveWorkload(t, s, want)
		want.Version = 1
		equal(t, want, got(s.Workload(context.Background(), "w-1"))(t))
		equal(t, want, got(s.WorkloadByName(context.Background(), "name-of-w-1"))(t))
		equal(t, []workload.Workload{want}, got(s.Living(context.Background()))(t))
		items, _, err := s.Workloads(context.Background(), workload.Filter{})
		must(t, err)
		equal(t, []workload.Workload{want}, items)
	},
	"a list is narrowed by words in the names of workload and owner, and by the id": func(t *testing.T, s *store.Store) {
		for i, name := range []string{"train-1", "trainx1", "serve"} {
			w := named(fmt.Sprintf("w-%d", i), name, workload.Running)
			w.OwnerName, w.CreatedAt = []string{"Ada A", "Eve", "Eve"}[i], later(i)
			saveWorkload(t, s, w)
		}
		for want, words := range map[string][]string{"w-1 w-0": {"train"}, "w-0": {"train-1"}, "w-2": {"eve", "serv"},
			"": {"tr_in"}, "w-1": {"w-1"}} {
			items, _, err := s.Workloads(context.Background(), workload.Filter{Text: words})
			must(t, err)
			var ids []string
			for _, w := range items {
				ids = append(ids, workloadID(w))
			}
			equal(t, want, strings.Join(ids, " "))
		}
	},
	"times keep their microseconds and come back in UTC, whatever zone they were written in": func(t *testing.T,
		s *store.Store) {
		want := Workload("w-1")
		for i, at := range []time.Time{
			noon, time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC), time.Date(2026, 10, 25, 2, 30, 0, 1000,
				time.FixedZone("CEST", 7200)),
			time.Date(2100, 2, 28, 0, 0, 0, 1000, time.UTC), time.Unix(0, 0),
		} {
			want.Version, want.Lease.Until, want.Observed.At = int64(i), at, at.Add(999) // nanoseconds fall away
			saveWorkload(t, s, want)
			back := got(s.Workload(context.Background(), "w-1"))(t)
			equal(t, at.UTC(), back.Lease.Until)
			equal(t, at.UTC(), back.Observed.At)
		}
	},
	"what is saved is not written to": func(t *testing.T, s *store.Store) {
		w := Workload("w-1")
		local := time.FixedZone("X", 3600)
		w.Observed.Steps[0].At = w.Observed.Steps[0].At.In(local)
		w.Observed.Activity.At = w.Observed.Activity.At.In(local)
		saveWorkload(t, s, w)
		equal(t, "X", w.Observed.Steps[0].At.Location().String())
		equal(t, "X", w.Observed.Activity.At.Location().String())
	},
	"a change names every column, also those that became empty": func(t *testing.T, s *store.Store) {
		saveWorkload(t, s, Workload("w-1"))
		want := workload.Workload{ID: "w-1", Desired: workload.WantStopped, State: workload.Stopped, CreatedAt: later(0),
			UpdatedAt: later(0), Version: 1}
		saveWorkload(t, s, want)
		want.Version = 2
		equal(t, want, got(s.Workload(context.Background(), "w-1"))(t))
	},
	"an old version loses the race and changes nothing": func(t *testing.T, s *store.Store) {
		saveWorkload(t, s, Workload("w-1"))
		first, second := got(s.Workload(context.Background(), "w-1"))(t), got(s.Workload(context.Background(), "w-1"))(t)
		first.Grants, second.Namespace = nil, "elsewhere"
		saveWorkload(t, s, first)
		fails(t, fault.Conflict, s.SaveObserved(context.Background(), second, nil, nil))
		equal(t, "gpu-vision", got(s.Workload(context.Background(), "w-1"))(t).Namespace)
	},
	"who was inside is listed newest first, each once": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveWorkload(t, s, Workload("w-1"))
		for _, id := range []identity.PersonID{"p-a", "p-b"} {
			must(t, s.SavePerson(ctx, identity.Person{ID: id, Issuer: "i", Subject: string(id), Name: "N" + string(id)}))
		}
		must(t, s.SaveVisits(ctx, nil))
		must(t, s.SaveVisits(ctx, []workload.Visit{{Workload: "w-1", Person: "p-a", At: later(0)},
			{Workload: "w-1", Person: "p-b",
				At: later(1)}, {Workload: "w-2", Person: "p-b", At: later(0)}}))
		must(t, s.SaveVisits(ctx, []workload.Visit{{Workload: "w-1", Person: "p-a", At: later(2)}}))
		equal(t, []workload.Visit{{Workload: "w-1", Person: "p-a", Name: "Np-a", At: later(2)}, {Workload: "w-1",
			Person: "p-b", Name: "Np-b", At: later(1)}}, got(s.Visits(ctx, "w-1", 9))(t))
		equal(t, 1, len(got(s.Visits(ctx, "w-1", 1))(t)))
		equal(t, map[workload.ID]time.Time{"w-1": later(2), "w-2": later(0)}, got(s.LastVisits(ctx))(t))
		equal(t, map[workload.ID]time.Time{"w-1": later(2)}, got(s.LastVisits(ctx, "w-1", "w-none"))(t))
		equal(t, map[workload.ID]time.Time{}, got(s.LastVisits(ctx, "w-none"))(t))
	},
	"a state that does not exist is not saved": func(t *testing.T, s *store.Store) {
		w := Workload("w-1")
		w.State = "dancing"
		if err := s.SaveObserved(context.Background(), w, nil, nil); err == nil {
			t.Error("want an error")
		}
	},
	"a name belongs to one living workload; the end frees it": func(t *testing.T, s *store.Store) {
		saveWorkload(t, s, named("w-1", "same", workload.Ended), named("w-2", "same", workload.Stopped))
		err := s.SaveObserved(context.Background(), named("w-3", "same", workload.Queued), nil, nil)
		equal(t, "name", fails(t, fault.Conflict, err).Fields[0].Name)
		equal(t, workload.ID("w-2"), got(s.WorkloadByName(context.Background(), "same"))(t).ID)
		ended := got(s.Workload(context.Background(), "w-2"))(t)
		ended.State = workload.Ended
		saveWorkload(t, s, ended, named("w-3", "same", workload.Queued))
		equal(t, workload.ID("w-3"), got(s.WorkloadByName(context.Background(), "same"))(t).ID)
	},
	"a workload that does not exist is not found": func(t *testing.T, s *store.Store) {
		_, err := s.Workload(context.Background(), "w-1")
		equal(t, "workload.not_found", fails(t, fault.NotFound, err).Sentence.ID)
		saveWorkload(t, s, named("w-1", "gone", workload.Ended))
		_, err = s.WorkloadByName(context.Background(), "gone")
		equal(t, "workload.not_found", fails(t, fault.NotFound, err).Sentence.ID)
		w := Workload("w-9")
		w.Version = 4
		fails(t, fault.Conflict, s.SaveObserved(context.Background(), w, nil, nil))
	},
	"a name is taken by a living workload, kept storage or a pending start": func(t *testing.T, s *store.Store) {
		saveWorkload(t, s, named("w-1", "living", workload.Failed), named("w-2", "ended", workload.Ended))
		saveVolume(t, s, Volume("kept-home"))
		pending, decided, longer := Request("r-1"), Request("r-2"), Request("r-3")
		pending.Spec.Name, decided.Spec.Name, longer.Spec.Name = "pending", "decided", "longer"
		decided.State, longer.Kind = request.Rejected, request.ExtendKind
		saveRequest(t, s, pending, decided, longer)
		must(t, decide(s, func(tx request.Tx) error {
			for name, want := range map[string]bool{"living": true, "ended": false, "kept": true, "kept-home": false,
				"pending": true, "decided": false,
				"longer": false, "free": false, "": false} {
				if taken := got(tx.NameTaken(context.Background(), name))(t); taken != want {
					t.Errorf("%q: want taken %v", name, want)
				}
			}
			return nil
		}))
	},
	"what is wanted or still stopping holds its size and seat": func(t *testing.T, s *store.Store) {
		onNode, waiting := named("w-1", "a", workload.Running), named("w-2", "b", workload.Queued)
		waiting.Observed = workload.Observation{}
		waiting.Size.LicensePool = ""
		deleting := named("w-5", "e", workload.Stopping)
		deleting.Desired = workload.WantDeleted
		others, unseated := named("w-7", "g", workload.Running), named("w-8", "h", workload.Running)
		others.Tenant, unseated.Tenant, unseated.Size.LicensePool = "speech", "speech", ""
		saveWorkload(t, s, onNode, waiting, named("w-3", "c", workload.Stopping), named("w-4", "d", workload.Stopped),
			deleting, named("w-6", "f", workload.Ended), others, unseated)
		byPool := func(a, b workload.Holding) int {
			return cmp.Or(strings.Compare(a.LicensePool, b.LicensePool), strings.Compare(b.Tenant, a.Tenant))
		}
		for tenant, want := range map[string][]workload.Holding{
			"vision": {{Tenant: "vision", Size: "mig-10gb", Cluster: "west", Count: 1, Seats: 2},
				{Tenant: "vision", Size: "mig-10gb", Cluster: "west", LicensePool: "rtx", Count: 3, Seats: 6},
				{LicensePool: "rtx", Count: 1, Seats: 2}},
			"speech": {{Tenant: "speech", Size: "mig-10gb", Cluster: "west", Count: 1, Seats: 2},
				{Tenant: "speech", Size: "mig-10gb", Cluster: "west", LicensePool: "rtx", Count: 1, Seats: 2},
				{LicensePool: "rtx", Count: 3, Seats: 6}},
			"": {{LicensePool: "rtx", Count: 4, Seats: 8}},
		} {
			holdings := got(s.Holdings(context.Background(), tenant))(t)
			slices.SortFunc(holdings, byPool)
			equal(t, want, holdings)
		}
	},
	"holdings agree with the rule for every spec and state": func(t *testing.T, s *store.Store) {
		want := 0
		for i, state := range workload.States() {
			for j, spec := range []workload.Desired{workload.WantRunning, workload.WantStopped, workload.WantDeleted,
				workload.Finished} {
				w := named(fmt.Sprintf("w-%d-%d", i, j), fmt.Sprintf("n-%d-%d", i, j), state)
				w.Desired = spec
				saveWorkload(t, s, w)
				if w.Holds() {
					want++
				}
			}
		}
		equal(t, []workload.Holding{{Tenant: "vision", Size: "mig-10gb", Cluster: "west", LicensePool: "rtx", Count: want,
			Seats: 2 * want}}, got(s.Holdings(context.Background(), "vision"))(t))
		equal(t, []workload.Holding{{LicensePool: "rtx", Count: want, Seats: 2 * want}},
			got(s.Holdings(context.Background(), "speech"))(t))
	},
	"who waits for a place is counted by cluster and size": func(t *testing.T, s *store.Store) {
		for i, c := range []struct {
			cluster string
			state   workload.State
			spec    workload.Desired
		}{{"a", workload.Queued, workload.WantRunning}, {"a", workload.Queued, workload.WantRunning},
			{"b", workload.Queued, workload.WantRunning},
			{"a", workload.Queued, workload.WantStopped}, {"a", workload.Starting, workload.WantRunning},
			{"a", workload.Running, workload.WantRunning}, {"a", workload.Ended, workload.WantDeleted}} {
			w := named(fmt.Sprintf("w-%d", i), fmt.Sprintf("n-%d", i), c.state)
			w.Cluster, w.Desired, w.Lease.From = c.cluster, c.spec, later(i)
			saveWorkload(t, s, w)
		}
		equal(t, []request.SizeQueue{{Cluster: "a", Size: "mig-10gb", Count: 2, Placed: []workload.ID{"w-5"}},
			{Cluster: "b", Size: "mig-10gb", Count: 1}}, got(s.Queued(context.Background(), later(5)))(t))
	},
	"a list is narrowed by owner, tenants, states and end": func(t *testing.T, s *store.Store) {
		for i, who := range []struct {
			owner  identity.PersonID
			tenant string
			state  workload.State
		}{{"p-ada", "vision", workload.Running}, {"p-eve", "vision", workload.Stopped}, {"p-ada", "speech", workload.Ended}} {
			w := Workload(fmt.Sprintf("w-%d", i))
			w.Owner, w.Tenant, w.State, w.CreatedAt = who.owner, who.tenant, who.state, later(i)
			saveWorkload(t, s, w)
		}
		for _, c := range []struct {
			want string
			f    workload.Filter
		}{
			{"w-1 w-0", workload.Filter{}}, {"w-2 w-1 w-0", workload.Filter{Ended: true}},
			{"w-0", workload.Filter{Owner: "p-ada"}},
			{"w-2 w-0", workload.Filter{Owner: "p-ada", Ended: true}}, {"", workload.Filter{Tenants: []string{}}},
			{"", workload.Filter{Tenants: []string{"speech"}}},
			{"w-1 w-0", workload.Filter{Tenants: []string{"vision"}, Ended: true}},
			{"w-1", workload.Filter{States: []workload.State{workload.Stopped}}},
			{"w-2", workload.Filter{States: []workload.State{workload.Ended}}},
			{"", workload.Filter{Owner: "p-nobody", Tenants: []string{"vision"}}},
		} {
			items, next, err := s.Workloads(context.Background(), c.f)
			must(t, err)
			equal(t, c.want, idsOf(items, workloadID))
			equal(t, "", next)
		}
		equal(t, "w-0 w-1", idsOf(got(s.Living(context.Background()))(t), workloadID))
	},
	"all that had a name in a namespace are known, also those that have ended": func(t *testing.T, s *store.Store) {
		var want []workload.Namesake
		for i, c := range []struct {
			name, cluster, namespace string
			kind                     catalog.WorkloadKind
			state                    workload.State
			asked                    bool
		}{
			{"x", "west", "gpu-vision", catalog.Endpoint, workload.Ended, true},
			{"x", "west", "gpu-vision", catalog.Endpoint, workload.Running, true},
			{"x-bcdfgh", "west", "gpu-vision", catalog.Job, workload.Succeeded, true},
			{"y", "west", "gpu-vision", catalog.Job, workload.Running, false},
			{"x", "east", "gpu-vision", catalog.Endpoint, workload.Ended, false},
			{"x", "west", "gpu-speech", catalog.Endpoint, workload.Ended, false},
		} {
			w := Workload(fmt.Sprintf("w-%d", i))
			w.Name, w.Cluster, w.Namespace, w.Kind, w.State, w.CreatedAt = c.name, c.cluster, c.namespace, c.kind, c.state,
				later(i)
			saveWorkload(t, s, w)
			if c.asked {
				want = append(want, workload.Namesake{ID: w.ID, Kind: c.kind, Name: c.name, CreatedAt: later(i)})
			}
		}
		equal(t, want, got(s.Namesakes(context.Background(), "west", "gpu-vision", []string{"x", "x-bcdfgh"}))(t))
	},
	"a list has several orders, both ways, and is counted by state": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i, state := range []workload.State{workload.Stopped, workload.Running, workload.Queued, workload.Ended,
			workload.Running, workload.Failed} {
			w := Workload(fmt.Sprintf("w-%d", i))
			w.Name, w.State, w.CreatedAt, w.Desired = fmt.Sprintf("n-%d", i*5%6), state, later(i), workload.WantRunning
			w.Size.Name = fmt.Sprintf("s-%d", i%2)
			w.Lease.Until, w.Observed.Pod = later(100-i*7%10), "pod-"+w.Name
			if state == workload.Stopped {
				w.Desired, w.Lease.Until = workload.WantStopped, later(1)
			}
			saveWorkload(t, s, w)
		}
		for _, c := range []struct {
			want string
			f    workload.Filter
		}{
			{"w-5 w-4 w-1 w-2 w-0", workload.Filter{Sort: workload.ByState}},
			{"w-5 w-4 w-1 w-2 w-0", workload.Filter{}}, // what is unknown is the usual one
			{"w-0 w-2 w-1 w-4 w-5", workload.Filter{Sort: workload.ByState, Down: true}},
			{"w-0 w-5 w-4 w-2 w-1", workload.Filter{Sort: workload.ByName}},
			{"w-1 w-2 w-4 w-5 w-0", workload.Filter{Sort: workload.ByName, Down: true}},
			{"w-4 w-2 w-0 w-5 w-1", workload.Filter{Sort: workload.BySize}},
			{"w-4 w-1 w-5 w-2 w-0", workload.Filter{Sort: workload.ByLease}},
			{"w-2 w-5 w-1 w-4 w-0", workload.Filter{Sort: workload.ByLease, Down: true}},
			{"w-5 w-4", workload.Filter{Sort: workload.ByName, Limit: 2, Offset: 1}},
			{"w-1", workload.Filter{Sort: workload.ByName, Limit: 2, Offset: 4}},
			{"", workload.Filter{Limit: 2, Offset: 40}}, {"", workload.Filter{Tenants: []string{}}},
			{"w-2", workload.Filter{Text: []string{"n-4"}}},
			{"w-4 w-1", workload.Filter{Sort: workload.ByState, Limit: 2, Offset: 1}},
			{"", workload.Filter{Sort: workload.ByState, Limit: 2, Offset: 9}},
			{"w-4 w-1", workload.Filter{Sort: workload.ByState, States: []workload.State{workload.Running}}},
			{"w-4 w-1 w-3", workload.Filter{Sort: workload.ByState, States: []workload.State{workload.Running,
				workload.Ended}}},
			{"", workload.Filter{Sort: workload.ByState, Owner: "p-nobody"}},
			{"w-5 w-4 w-1 w-2 w-0", workload.Filter{Sort: workload.ByState, Owner: Workload("w-0").Owner,
				Tenants: []string{"none", Workload("w-0").Tenant}}},
			{"", workload.Filter{Sort: workload.ByState, Tenants: []string{"none"}}},
		} {
			ids := got(s.WorkloadIDs(ctx, c.f))(t)
			equal(t, c.want, idsOf(got(s.WorkloadsByID(ctx, ids))(t), workloadID))
		}
		equal(t, map[workload.State]int{workload.Running: 2, workload.Queued: 1, workload.Failed: 1, workload.Stopped: 1},
			got(s.CountWorkloads(ctx, workload.Filter{}))(t))
		equal(t, map[workload.State]int{}, got(s.CountWorkloads(ctx, workload.Filter{Tenants: []string{}}))(t))
		equal(t, "w-4 w-1", idsOf(got(s.WorkloadsByID(ctx, []workload.ID{"w-4", "w-none", "w-1"}))(t), workloadID))
		longer := got(s.WorkloadsByID(ctx, []workload.ID{"w-4"}))(t)[0] // of what runs, what ends next comes first
		longer.Lease.Until = later(500)
		saveWorkload(t, s, longer)
		for _, text := range [][]string{nil, {"n-"}} { // from memory, and by the database
			ids := got(s.WorkloadIDs(ctx, workload.Filter{Sort: workload.ByState, Text: text}))(t)
			equal(t, "w-5 w-1 w-4 w-2 w-0", idsOf(got(s.WorkloadsByID(ctx, ids))(t), workloadID))
		}
		changed := got(s.WorkloadsByID(ctx, []workload.ID{"w-4"}))(t)[0]
		changed.OwnerName, changed.State = "Grace", workload.Failed
		saveWorkload(t, s, changed)
		equal(t, "Grace", got(s.WorkloadsByID(ctx, []workload.ID{"w-4"}))(t)[0].OwnerName)
		equal(t, map[workload.State]int{workload.Running: 1, workload.Queued: 1, workload.Failed: 2, workload.Stopped: 1},
			got(s.CountWorkloads(ctx, workload.Filter{}))(t))
		equal(t, "w-5 w-4 w-1 w-2 w-0", idsOf(got(s.WorkloadsByID(ctx, // both have failed
			got(s.WorkloadIDs(ctx, workload.Filter{Sort: workload.ByState}))(t)))(t), workloadID))
	},
	"the living are those of now, also to who asked before": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		w := Workload("w-2")
		saveWorkload(t, s, w)
		before := got(s.Living(ctx))(t)
		older, newer := Workload("w-1"), Workload("w-3")
		older.CreatedAt, newer.CreatedAt = w.CreatedAt.Add(-time.Second), w.CreatedAt.Add(time.Second)
		saveWorkload(t, s, newer)
		saveWorkload(t, s, older)
		equal(t, "w-1 w-2 w-3", idsOf(got(s.Living(ctx))(t), workloadID))
		older.Version, older.OwnerName = 1, "Grace"
		saveWorkload(t, s, older)
		equal(t, "Grace", got(s.Living(ctx))(t)[0].OwnerName)
		w.Version, w.State = 1, workload.Ended
		saveWorkload(t, s, w)
		equal(t, "w-1 w-3", idsOf(got(s.Living(ctx))(t), workloadID))
		equal(t, "w-2", idsOf(before, workloadID))
		equal(t, workload.Running, before[0].State)
	},
	"the living are those of now after changes that were purged": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		equal(t, 0, len(got(s.Living(ctx))(t)))
		saveWorkload(t, s, Workload("w-1"))
		must(t, s.PurgeOld(ctx, time.Now().Add(1000*time.Hour)))
		saveWorkload(t, s, Workload("w-2"))
		equal(t, "w-1 w-2", idsOf(got(s.Living(ctx))(t), workloadID))
	},
	"a meter that was read before is the one of now": func(t *testing.T, s *store.Store) {
		ctx, ids := context.Background(), []workload.ID{"w-1", "w-2"}
		w := Workload("w-1")
		saveWorkload(t, s, w)
		saveWorkload(t, s, Workload("w-2"))
		equal(t, 0, len(got(s.Intervals(ctx, ids))(t)))
		w.Version = 1
		begun := usage.Interval{Workload: "w-1", Tenant: w.Tenant, Size: w.Size.Name, From: later(0)}
		must(t, s.SaveObserved(ctx, w, nil, &begun))
		equal(t, map[workload.ID][]usage.Interval{"w-1": {begun}}, got(s.Intervals(ctx, ids))(t))
		w.Version = 2
		ended := begun
		ended.Until = later(60)
		must(t, s.SaveObserved(ctx, w, nil, &ended))
		equal(t, map[workload.ID][]usage.Interval{"w-1": {ended}}, got(s.Intervals(ctx, ids))(t))
	},
	"seats are those of now, and in a transaction those of that": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		w := Workload("w-1")
		w.Size.LicensePool, w.LicenseSeats, w.Replicas = "vws", 2, workload.Replicas{Wanted: 2}
		equal(t, 0, len(got(s.Checkouts(ctx))(t)))
		must(t, decide(s, func(tx request.Tx) error {
			if err := tx.SaveWorkload(ctx, w); err != nil {
				return err
			}
			written, err := tx.Checkouts(ctx)
			equal(t, w.Replicas.Hold(), len(written))
			return err
		}))
		read := got(s.Checkouts(ctx))(t)
		must(t, decide(s, func(tx request.Tx) error { // reads the rows themselves
			equal(t, read, got(tx.Checkouts(ctx))(t))
			return nil
		}))
		must(t, s.ReadOnly(ctx, func(in request.Reader) error {
			equal(t, read, got(in.Checkouts(ctx))(t))
			w.Version, w.Desired, w.State = 1, workload.WantStopped, workload.Stopped
			saveWorkload(t, s, w)
			equal(t, 0, len(got(s.Checkouts(ctx))(t)))
			equal(t, read, got(in.Checkouts(ctx))(t)) // the transaction began before
			return nil
		}))
	},
	"pages go on where the last one ended, whatever arrives meanwhile": func(t *testing.T, s *store.Store) {
		pages(t, func(i, second int) {
			w := Workload(fmt.Sprintf("w-%03d", i))
			w.CreatedAt = later(second)
			saveWorkload(t, s, w)
		}, func(cursor string) ([]string, string) {
			items, next, err := s.Workloads(context.Background(), workload.Filter{Cursor: cursor, Limit: 7})
			must(t, err)
			return eachID(items, workloadID), next
		})
	},
}

var volumeCases = cases{
	"storage comes back as it was saved, and a change names every column": func(t *testing.T, s *store.Store) {
		want := Volume("v-1")
		filled(t, want, "Deleted", "Version")
		saveVolume(t, s, want)
		want.Version = 1
		must(t, s.ChangeExclusively(context.Background(), func(tx workload.Tx) error {
			equal(t, want, got(tx.Volume(context.Background(), "v-1"))(t))
			return nil
		}))
		want = workload.Volume{Name: "v-1", CreatedAt: later(0), UpdatedAt: later(2), Version: 1}
		saveVolume(t, s, want)
		want.Version = 2
		equal(t, []workload.Volume{want}, got(s.Volumes(context.Background(), workload.VolumeFilter{}))(t))
	},
	"the database knows the time": func(t *testing.T, s *store.Store) {
		before := time.Now().Truncate(time.Second)
		at := got(s.Clock(context.Background()))(t)
		if at.Before(before) || at.After(time.Now()) { // it is on this machine
			t.Errorf("it is %s, not %s", before, at)
		}
	},
	"storage that does not exist is not found; an old version loses": func(t *testing.T, s *store.Store) {
		_, err := s.Volume(context.Background(), "v-1")
		equal(t, "volume.not_found", fails(t, fault.NotFound, err).Sentence.ID)
		saveVolume(t, s, Volume("v-1"))
		for _, version := range []int64{0, 7} {
			v := Volume("v-1")
			v.Version = version
			fails(t, fault.Conflict, decide(s, func(tx request.Tx) error { return tx.SaveVolume(context.Background(), v) }))
		}
	},
	"storage is listed by owner and tenants": func(t *testing.T, s *store.Store) {
		other := Volume("v-2")
		other.Owner, other.Tenant, other.Cluster, other.Share = "p-eve", "speech", "east", workload.TeamShare{}
		saveVolume(t, s, Volume("v-1"))
		saveVolume(t, s, other)
		for _, c := range []struct {
			want string
			f    workload.VolumeFilter
		}{{"v-1 v-2", workload.VolumeFilter{}}, {"v-2", workload.VolumeFilter{Owner: "p-eve"}},
			{"v-1", workload.VolumeFilter{Tenants: []string{"vision"}}},
			{"v-1", workload.VolumeFilter{Shared: true}}, {"v-2", workload.VolumeFilter{Cluster: "east"}},
			{"", workload.VolumeFilter{Cluster: "east", Shared: true}},
			{"", workload.VolumeFilter{Tenants: []string{}}}} {
			items := got(s.Volumes(context.Background(), c.f))(t)
			equal(t, c.want, idsOf(items, func(v workload.Volume) string { return v.Name }))
		}
	},
	"who has a volume of the team is told by its claim, until they have ended": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for id, change := range map[string]func(*workload.Workload){
			"w-1": func(*workload.Workload) {}, "w-2": func(w *workload.Workload) {
				w.State, w.Desired = workload.Stopped,
					workload.WantStopped
			},
			"w-3": func(w *workload.Workload) { w.State = workload.Ended }, "w-4": func(w *workload.Workload) {
				w.Mounts[0].Claim = "vision.data2"
			},
			"w-5": func(w *workload.Workload) { w.Mounts = nil }, "w-6": func(w *workload.Workload) { w.Tenant = "speech" },
		} {
			w := Workload(id)
			change(&w)
			must(t, decide(s, func(tx request.Tx) error { return tx.SaveWorkload(ctx, w) }))
		}
		v := Volume("vision.data")
		equal(t, "w-1 w-2", idsOf(got(s.Mounting(ctx, v))(t), func(w workload.Workload) string { return string(w.ID) }))
	},
	"snapshots of a volume are kept whole, what a cluster says of one too, and one goes when it was deleted": func(
		t *testing.T, s *store.Store) {
		ctx := context.Background()
		v := Volume("vision.corpus.00112233")
		saveVolume(t, s, v)
		one := workload.VolumeSnapshot{ID: v.Name + ".one", Volume: v.Name, Name: "one", Tenant: "vision", Cluster: "main",
			Namespace: "gpu-vision", CreatedAt: later(1)}
		two := one
		two.ID, two.Name, two.CreatedAt = v.Name+".two", "two", later(2)
		add := func(snapshot workload.VolumeSnapshot) error {
			return s.ChangeExclusively(ctx, func(tx workload.Tx) error { return tx.AddVolumeSnapshot(ctx, snapshot) })
		}
		must(t, add(two))
		must(t, add(one))
		if err := add(one); err == nil {
			t.Error("there are two of one name")
		}
		equal(t, []workload.VolumeSnapshot{one, two}, got(s.VolumeSnapshots(ctx, v.Name, "vision.none"))(t))
		equal(t, 0, len(got(s.VolumeSnapshots(ctx))(t)))
		equal(t, 0, len(got(s.ClusterSnapshots(ctx, "west"))(t)))
		one.State = workload.SnapshotState{UID: "u", Ready: true, Bytes: 5 << 30, TakenAt: later(3).UTC(), Gone: true,
			Reason: i18n.T("snapshot.gone"), Detail: "gone", Failed: true, At: later(4)}
		filled(t, one.State)
		must(t, s.SaveSnapshotState(ctx, one.ID, one.State))
		older := one.State
		older.Ready, older.At = false, later(3)
		must(t, s.SaveSnapshotState(ctx, one.ID, older))
		must(t, s.SaveSnapshotState(ctx, "vision.none", one.State)) // there is no such snapshot: nothing happens
		equal(t, one, got(s.VolumeSnapshot(ctx, one.ID))(t))
		must(t, s.PurgeVolumeSnapshot(ctx, one.ID)) // it is not deleted: nothing happens
		must(t, s.ChangeExclusively(ctx, func(tx workload.Tx) error { return tx.DropVolumeSnapshots(ctx, v, one.ID) }))
		one.Deleted = true
		equal(t, []workload.VolumeSnapshot{one, two}, got(s.ClusterSnapshots(ctx, "main"))(t))
		must(t, s.PurgeVolumeSnapshot(ctx, one.ID))
		equal(t, []workload.VolumeSnapshot{two}, got(s.ClusterSnapshots(ctx, "main"))(t))

		found := two
		found.ID, found.Name = v.Name+".found", "found"
		e := audit.Event{Kind: audit.SnapshotAdopted, At: later(5), Tenant: "vision", Volume: v.Name}
		must(t, s.AdoptVolumeSnapshot(ctx, found, e))
		must(t, s.AdoptVolumeSnapshot(ctx, found, e)) // it is known
		lost := found
		lost.ID, lost.Volume = "vision.none.found", "vision.none"
		must(t, s.AdoptVolumeSnapshot(ctx, lost, e)) // there is no such volume
		equal(t, []workload.VolumeSnapshot{found, two}, got(s.VolumeSnapshots(ctx, v.Name))(t))
		equal(t, 0, len(got(s.VolumeSnapshots(ctx, "vision.none"))(t)))
	},
	"what a cluster says of a claim is kept whole, nothing older replaces it, and it goes with its volume": func(
		t *testing.T, s *store.Store) {
		ctx := context.Background()
		seen := workload.ClaimState{Phase: workload.ClaimPending, Asked: 20 << 30, Has: 10 << 30,
			Reason: i18n.T("explain.disk_first"), Detail: "waits", At: later(3)}
		filled(t, seen)
		must(t, s.SaveClaim(ctx, "vision.data", seen)) // there is no such volume: nothing happens
		equal(t, 0, len(got(s.Claims(ctx, "vision.data"))(t)))
		v := Volume("vision.data")
		saveVolume(t, s, v)
		saveVolume(t, s, Volume("vision.other"))
		must(t, s.SaveClaim(ctx, "vision.data", seen))
		must(t, s.SaveClaim(ctx, "vision.other", workload.ClaimState{At: later(1)}))
		older := seen
		older.Phase, older.At = workload.ClaimBound, later(2)
		must(t, s.SaveClaim(ctx, "vision.data", older))
		equal(t, map[string]workload.ClaimState{"vision.data": seen}, got(s.Claims(ctx, "vision.data", "vision.none"))(t))
		equal(t, 0, len(got(s.Claims(ctx))(t)))
		v.Deleted, v.Version = true, 1
		saveVolume(t, s, v)
		must(t, s.PurgeVolume(ctx, "vision.data"))
		equal(t, []string{"vision.other"}, slices.Collect(maps.Keys(got(s.Claims(ctx, "vision.data", "vision.other"))(t))))
	},
	"deleted storage keeps its name until the cluster has let it go": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveVolume(t, s, Volume("v-home"))
		must(t, s.PurgeVolume(ctx, "v-home")) // not deleted: nothing happens
		v := got(s.Volume(ctx, "v-home"))(t)
		v.Deleted = true
		saveVolume(t, s, v)
		v.Version++
		equal(t, 0, len(got(s.Volumes(ctx, workload.VolumeFilter{}))(t)))
		equal(t, []workload.Volume{v}, got(s.DeletedVolumes(ctx))(t))
		must(t, decide(s, func(tx request.Tx) error {
			equal(t, true, got(tx.NameTaken(ctx, "v"))(t))
			return nil
		}))
		must(t, s.PurgeVolume(ctx, "v-home"))
		must(t, s.PurgeVolume(ctx, "v-home"))
		equal(t, 0, len(got(s.DeletedVolumes(ctx))(t)))
		saveVolume(t, s, Volume("v-home"))
	},
}

func interval(from, until int) *usage.Interval {
	i := &usage.Interval{Workload: "w-1", Tenant: "vision", Size: "mig-10gb",
		PerHour: usage.Money{Minor: 75, Currency: "EUR"}, From: later(from)}
	if until > 0 {
		i.Until = later(until)
	}
	return i
}

var meterCases = cases{
	"the meter opens once, closes, and opens again": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		w := Workload("w-1")
		for _, meter := range []*usage.Interval{nil, interval(1, 0), interval(2, 0), nil, interval(1, 10), interval(1, 11),
			interval(20, 0)} {
			must(t, s.SaveObserved(ctx, w, nil, meter))
			w.Version++
		}
		open, closed := *interval(20, 0), *interval(1, 10)
		equal(t, map[workload.ID]usage.Interval{"w-1": open}, got(s.OpenIntervals(ctx))(t))
		equal(t, &open, got(s.OpenInterval(ctx, "w-1"))(t))
		equal(t, nil, got(s.OpenInterval(ctx, "w-2"))(t))
		equal(t, map[workload.ID][]usage.Interval{"w-1": {closed, open}},
			got(s.Intervals(ctx, []workload.ID{"w-1", "w-2"}))(t))
		equal(t, 0, len(got(s.Intervals(ctx, nil))(t)))
	},
	"a job that is over gives its storage back": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		w := Workload("w-1")
		w.Kind, w.Desired, w.State = catalog.Job, workload.WantRunning, workload.Running
		v := Volume(w.Volume)
		v.Workload = w.ID
		saveWorkload(t, s, w)
		saveVolume(t, s, v)
		user := func() workload.ID { return got(s.Volumes(ctx, workload.VolumeFilter{}))(t)[0].Workload }
		w.Version = 1
		must(t, s.SaveObserved(ctx, w, nil, nil))
		equal(t, w.ID, user())
		w.Desired, w.State, w.Version = workload.Finished, workload.Succeeded, 2
		must(t, s.SaveObserved(ctx, w, nil, nil))
		equal(t, "", user())
		next := got(s.Volumes(ctx, workload.VolumeFilter{}))(t)[0]
		next.Workload = "w-2"
		saveVolume(t, s, next)
		w.Version = 3
		must(t, s.SaveObserved(ctx, w, nil, nil))
		equal(t, "w-2", user())
	},
	"a clock that was set back makes no negative interval": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		w := Workload("w-1")
		for _, meter := range []*usage.Interval{interval(10, 0), interval(10, 5)} {
			must(t, s.SaveObserved(ctx, w, nil, meter))
			w.Version++
		}
		equal(t, []usage.Interval{*interval(10, 10)}, got(s.Intervals(ctx, []workload.ID{"w-1"}))(t)["w-1"])
		must(t, s.SaveObserved(ctx, w, nil, interval(10, 0)))
		equal(t, []usage.Interval{*interval(10, 0)}, got(s.Intervals(ctx, []workload.ID{"w-1"}))(t)["w-1"])
	},
	"a lost race leaves the meter alone": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SaveObserved(ctx, Workload("w-1"), nil, nil))
		w := Workload("w-1")
		w.Version = 9
		fails(t, fault.Conflict, s.SaveObserved(ctx, w, nil, interval(1, 0)))
		equal(t, 0, len(got(s.OpenIntervals(ctx))(t)))
	},
	"the meters of very many workloads are read at once": func(t *testing.T, s *store.Store) {
		must(t, s.SaveObserved(context.Background(), Workload("w-1"), nil, interval(1, 0)))
		ids := make([]workload.ID, 70_000)
		for i := range ids {
			ids[i] = workload.ID(fmt.Sprint("x-", i))
		}
		ids[69_999] = "w-1"
		equal(t, 1, len(got(s.Intervals(context.Background(), ids))(t)))
	},
}
