package storetest

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// cases is what a store must do, by the sentence that says so. Each gets a store of its own, migrated and empty.
type cases map[string]func(t *testing.T, s *store.Store)

// Run asks everything of a store. open gives a migrated, empty one that is closed when the test ends.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	for _, group := range []cases{requestCases, workloadCases, volumeCases, meterCases, auditCases, outboxCases,
		identityCases, otherCases, raceCases, textCases, catalogCases, rulesCases, usageCases, replicaCases, priceCases,
		demandCases, budgetCases, licenseCases, tenantCases, delegationCases, notifyCases, fleetCases, engineCases,
		seatCases, markCases, backlogCases, startCases, idleCases, adviceCases, previewCases, driftCases, jobCases,
		logLevelCases, undoCases,
		processCases, keyCases, trafficCases, clusterCases, embedCases, secretCases, datasetCases, keptCases} {
		for _, sentence := range slices.Sorted(maps.Keys(group)) {
			t.Run(sentence, func(t *testing.T) {
				t.Parallel()
				group[sentence](t, open(t))
			})
		}
	}
}

// noon is where time begins in the tests: with microseconds, and written down in a zone that is neither UTC nor the
// server's.
var noon = time.Date(2026, 3, 29, 12, 0, 0, 123456000, time.FixedZone("NPT", 5*3600+45*60))

// later is noon and so many seconds, in UTC, as a store gives it back.
func later(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second).UTC() }

// Workload is one with every field set, so that a forgotten column shows.
func Workload(id string) workload.Workload {
	user, code := int64(1000), int32(3)
	at := later(0)
	result := workload.Result{Succeeded: true, ExitCode: &code, Attempts: 2, StartedAt: later(9), At: later(10)}
	return workload.Workload{
		ID: workload.ID(id), Name: "name-of-" + id, Kind: catalog.Notebook, Tenant: "vision", Owner: "p-ada",
		OwnerName: "Ada Lovelace",
		Size:      Size("mig-10gb"), Image: catalog.Image{Name: "torch", Title: "PyTorch", Kind: catalog.Notebook,
			Titles: catalog.Titles{"ko": "파이토치"}, Reference: "example.org/torch@sha256:00",
			Command: []string{"start"}, Args: []string{"--all"}, Env: map[string]string{"A": "b"}, TokenEnv: "JUPYTER_TOKEN",
			Auth: "token", Port: 8888, Runtime: &catalog.Runtime{Engine: catalog.VLLM,
				ServingRuntime: "kserve-huggingfaceserver", ModelFormat: "huggingface",
				MaxNodes: 4, WorkerCommand: []string{"ray"}, WorkerArgs: []string{"start"},
				Sources: []catalog.Source{{Kind: catalog.FromHub, Args: []string{"--x"}}}},
			Backend: catalog.OnJobSet, HealthPath: "/api", OpenPath: "/lab",
			SSH:   &catalog.SSH{Port: 2222, User: "jovyan"},
			Ports: map[string]int32{"grpc": 8001}, Home: "/home/jovyan",
			RunAsUser: &user, FSGroup: &user,
			Tenants: []string{"vision"}, Order: 2, Hidden: true, Deprecated: &catalog.Deprecation{Message: "m", Successor: "s"}},
		Cluster: "west", Namespace: "gpu-vision", Volume: "name-of-" + id + "-home", StorageGiB: 10,
		Desired: workload.WantRunning, Generation: 3,
		State: workload.Running, Reason: i18n.T("workload.stopped_by", "Name", "Ada", "Why", i18n.T("state.running")),
		Lease: workload.Lease{From: at, Until: later(3600)}, PlacedAt: later(1), WarnedAt: later(2),
		Grants: []workload.Grant{{ID: "g-1", To: workload.ToTeam, Permission: workload.MayUse, At: at},
			{ID: "g-2", To: workload.ToPerson, Person: "p-2", Name: "Otto", Link: "g-3", Permission: workload.MayRead,
				Until: later(9), At: at},
			{ID: "g-3", To: workload.ToLink, SecretHash: "00ff", Permission: workload.MayRead, At: at},
			{ID: "g-4", To: workload.ToGroup, Group: "gpu-vision-phd", Permission: workload.MayUse, At: at}},
		Request: "r-1", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Observed: workload.Observation{At: later(3), Generation: 3, PodPresent: true, Pod: "pod-0", PodIP: "10.64.0.1",
			ProgramEnded: later(2), Node: "node-1", Ready: true, Failed: true,
			Restarts: 4, Reason: i18n.Literal("raw words"), Detail: "detail",
			Steps: []workload.Step{{Name: workload.StepDecided, At: at}, {Name: workload.StepReady}},
			Activity: &workload.Activity{At: later(4), LastActivity: later(5), Connections: 2,
				Kernels: []workload.Kernel{{Name: "python3", State: "busy", LastActivity: later(6), Connections: 1}}},
			Edits: []workload.ForeignEdit{{Object: "StatefulSet w-0", Path: "spec.replicas", By: "kubectl-edit",
				Outcome: workload.EditRemoved, At: later(8)}}, Result: &result,
			Rollout:    &workload.RolloutObservation{Revision: 2},
			Autoscaler: &workload.Autoscaler{Replicas: 3, Detail: "Triggers defined in ScaledObject are not working"},
			Route:      &workload.Route{Address: "https://models.example.org/a/b", Accepted: true, AsksForKeys: true},
			Pods: []workload.Replica{{Pod: "pod-0", IP: "10.64.0.1", Node: "node-1", Ready: true},
				{Pod: "pod-1", Leaving: true, Reason: i18n.Literal("raw words")}}, Scaled: true,
			Missing: i18n.Literal("raw words")},
		Replicas: replicas(), Revisions: workload.Revisions{Serving: 2}, Schedule: followed(),
		Reach: workload.Reach{External: true, Since: at, Until: later(9), By: "Ada", Request: "r-2"},
		Job: &workload.Job{Command: []string{"train"}, Args: []string{"--all"}, Env: map[string]string{"A": "b"}, Retries: 2,
			TimeLimit: catalog.Duration(time.Hour)}, Model: &Model, Result: &result,
		LicenseSeats: 2, AvoidNodes: []string{"node-8", "node-9"},
		Secrets: []workload.SecretUse{{ID: "s-0", Name: "hub", Kind: "huggingface", Team: true, Env: []string{"HF_TOKEN"},
			Files: []string{"token"}}},
		Git:    &workload.Git{URL: "https://example.org/a/b.git", Ref: "main", Image: "example.org/git@sha256:00"},
		Mounts: []workload.Mount{{Claim: "vision.data", GiB: 5, TeamShare: share}}, CreatedAt: at, UpdatedAt: later(7),
	}
}

func followed() workload.Schedule {
	hours := schedule.Office("Europe/Berlin")
	hours.StopOnly = true
	return workload.Schedule{Mode: workload.OwnHours, Hours: &hours, Since: later(11), KeptUntil: later(12),
		Followed: workload.Followed{Print: "0123", At: later(13), On: true, Generation: 3, Tries: 2, RetryAt: later(14),
			Problem: i18n.T("workload.gone"), Warned: later(15)}}
}

// Model is one with every field set.
var Model = catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen2.5-7B-Instruct", Revision: "main",
	ContextLength: 8192, Quantization: "fp8"}

// Size is a size with every field set.
func Size(name string) catalog.Size {
	return catalog.Size{
		Name: name, Title: "MIG slice 10 GB", Titles: catalog.Titles{"de": "MIG-Slice 10 GB"}, Clusters: []string{"west"},
		Technology: catalog.MIG, Isolation: catalog.IsolationHard,
		Accelerator: catalog.Accelerator{Vendor: "nvidia", Model: "H100 80GB", Profile: "1g.10gb",
			Resource: "nvidia.com/mig-1g.10gb", Count: 1, MemoryGiB: 9.75, Share: 1.0 / 7},
		CPU: "4", Memory: "16Gi", SharedMem: "1Gi",
		Placement: catalog.Placement{NodeSelector: map[string]string{"a": "b"},
			Tolerations:  []catalog.Toleration{{Key: "gpu", Operator: "Equal", Value: "yes", Effect: "NoSchedule"}},
			RuntimeClass: "nvidia", SchedulerName: "kai", PriorityClass: "low", PodAnnotations: map[string]string{"c": "d"}},
		PricePerHour: usage.Money{Minor: 75, Currency: "EUR"}, LicensePool: "rtx",
		DefaultLease: catalog.Duration(8 * time.Hour), MaxLease: catalog.Duration(72 * time.Hour),
		Tenants: []string{"vision"}, Order: 1, AutoExtend: true, Preemptible: true, Hidden: true,
		Deprecated: &catalog.Deprecation{Message: "m", Successor: "s"},
	}
}

// Request is one with every field set.
func Request(id string) request.Request {
	return request.Request{
		ID: request.ID(id), Kind: request.StartKind, Asker: "p-ada", AskerName: "Ada Lovelace", State: request.Pending,
		Spec: request.Spec{Kind: catalog.Notebook, Tenant: "vision", Name: "spec-of-" + id, Size: Size("mig-10gb"),
			Image: Workload("w").Image, Cluster: "west",
			Lease: catalog.Duration(8 * time.Hour), StorageGiB: 10, Volume: "kept", Reason: "because", Workload: "w-1",
			Replicas: workload.Range{Min: 1, Max: 4}},
		Decision: request.Decision{Rule: "whole-gpus", Sentence: i18n.T("policy.approve", "By", i18n.T("role.approver")),
			By: "p-eve", ByName: "Eve", Note: "fine", Since: later(5), Facts: &policy.Facts{Kind: "start", Tenant: "vision",
				Roles: []string{"developer"}, Hours: 8, Share: 1.0 / 7},
			Steps: []policy.Step{{From: []identity.Approvers{{Role: identity.Owner}, {Group: "größe"}}, All: true,
				After: catalog.Duration(time.Hour), Then: []identity.Approvers{{Role: identity.Admin}}}},
			Consents: []policy.Consent{{Step: 0, By: "p-eve", ByName: "Eve", For: "p-bob", ForName: "Bob",
				Approvers: []identity.Approvers{{Role: identity.Owner}}, Note: "yes", At: later(6),
				Change: &policy.Change{Size: "h100", Lease: catalog.Duration(time.Hour)}}}},
		Estimate:     usage.Money{Minor: 600, Currency: "EUR"},
		EstimateMost: usage.Money{Minor: 2400, Currency: "EUR"}, Workload: "w-1", Key: "key-of-" + id,
		Fingerprint: "print-of-" + id, CreatedAt: later(0), ExpiresAt: later(60), DecidedAt: later(30),
	}
}

// Volume is one with every field set, but for Deleted.
func Volume(name string) workload.Volume {
	return workload.Volume{Name: name, Tenant: "vision", Owner: "p-ada", OwnerName: "Ada Lovelace", Cluster: "west",
		Namespace: "gpu-vision", GiB: 10,
		Workload: "w-1", CreatedAt: later(0), UpdatedAt: later(1), UnusedFrom: later(2), WarnedAt: later(3),
		WarnedFor: 24 * time.Hour, Share: share,
		DeleteAfter: later(4),
		Personal:    workload.Personal{Name: "corpus", From: "vision.data", Snapshot: "vision.data.before"},
		Refused:     workload.Refusal{GiB: 20, Cause: "volume.refused_class", Words: "no", At: later(5)}}
}

var share = workload.TeamShare{Name: "data", Class: "nfs", Access: workload.ManyNodes, ReadOnly: true,
	Note: "All of it."}

// Person is one with every field set, but for those of Disable.
func Person(id string) identity.Person {
	return identity.Person{ID: identity.PersonID(id), Issuer: "https://id.example.org", Subject: "subject-of-" + id,
		Name: "Ada Lovelace", Email: "ada@example.org",
		Groups: []string{"vision-devs", "Größe/ß"}, SeenAt: later(0), ConfirmedAt: later(0)}
}

// Event is one with every field set.
func Event(at int) audit.Event {
	return audit.Event{At: later(at), Kind: audit.WorkloadStopped, Actor: "p-ada", ActorName: "Ada Lovelace",
		Address: "192.0.2.1", Tenant: "vision", Request: "r-1",
		Workload: "w-1", Volume: "v-1", Rule: "rule", Detail: i18n.T("audit.detail", "Name", "Ada"), Via: identity.ViaToken,
		Credential: "gpp_abc", CredentialName: "nightly",
		Behalf: "p-eve", BehalfName: "Eve", Changes: []audit.Change{{Field: "shared", Old: "false", New: "true"},
			{Field: "größe", New: "<h100>"}}}
}

// filled fails when a field of a sample was left zero: then the round trip would prove nothing about it.
func filled(t *testing.T, sample any, except ...string) {
	t.Helper()
	value := reflect.ValueOf(sample)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		if value.Field(i).IsZero() && !slices.Contains(except, name) {
			t.Errorf("the sample leaves %T.%s empty", sample, name)
		}
	}
}

// sameTime asks for the same moment in the same zone: a store gives back UTC.
var sameTime = cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.String() == b.String() })

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, sameTime); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got is must for a value.
func got[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return value
	}
}

// one is the error of a call whose value does not matter.
func one[T any](_ T, err error) error { return err }

// fails asks for a fault of a kind, and gives it.
func fails(t *testing.T, want fault.Kind, err error) *fault.Error {
	t.Helper()
	if !fault.Is(err, want) {
		t.Fatalf("want a fault %q, got: %v", want, err)
	}
	return fault.As(err)
}

func saveWorkload(t *testing.T, s *store.Store, items ...workload.Workload) {
	t.Helper()
	for _, w := range items {
		must(t, s.SaveObserved(context.Background(), w, nil, nil))
	}
}

func saveRequest(t *testing.T, s *store.Store, items ...request.Request) {
	t.Helper()
	must(t, decide(s, func(tx request.Tx) error {
		for _, r := range items {
			if _, err := tx.SaveRequest(context.Background(), r); err != nil {
				return err
			}
		}
		return nil
	}))
}

// keep saves a request in a transaction, for those who do not ask for the version.
func keep(tx request.Tx, r request.Request) error {
	_, err := tx.SaveRequest(context.Background(), r)
	return err
}

func saveVolume(t *testing.T, s *store.Store, v workload.Volume) {
	t.Helper()
	must(t, decide(s, func(tx request.Tx) error { return tx.SaveVolume(context.Background(), v) }))
}

func decide(s *store.Store, fn func(request.Tx) error) error {
	return s.DecideExclusively(context.Background(), fn)
}
