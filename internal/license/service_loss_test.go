package license

import (
	"context"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
)

// recordingStore is a Store that keeps the devices and the events it was given.
type recordingStore struct {
	Store
	devices   []Device
	checkouts []Checkout
	told      []audit.Event
}

func (k *recordingStore) LicensePoolSettings(context.Context) ([]PoolSetting, error) { return nil, nil }

func (k *recordingStore) Entitlements(context.Context) ([]Entitlement, error) { return nil, nil }
func (k *recordingStore) LicenseAnswers(context.Context) ([]Answer, error)    { return nil, nil }
func (k *recordingStore) LicenseDevices(context.Context) ([]Device, error)    { return k.devices, nil }
func (k *recordingStore) Checkouts(context.Context) ([]Checkout, error)       { return k.checkouts, nil }
func (k *recordingStore) SaveLicenseDevices(_ context.Context, list []Device, _ time.Time, _ bool,
	events ...audit.Event) error {
	k.devices, k.told = list, append(k.told, events...)
	return nil
}

// TestOwnersAndAdministratorsAreToldOnce: one event for the node and one for each workload on it, however often one
// looks; another cluster's node of the same name has nothing to do with it.
func TestOwnersAndAdministratorsAreToldOnce(t *testing.T) {
	elsewhere := checkout("c", "red", "vm-1", 1)
	here := checkout("a", "red", "vm-1", 1)
	here.Cluster, elsewhere.Cluster = "main", "west"
	k, now, state := &recordingStore{checkouts: []Checkout{here, elsewhere, checkout("d", "red", "", 1)}}, noon, Licensed
	s := New(Options{Store: k, Now: func() time.Time { return now },
		Virtual: func(context.Context) map[string][]string { return map[string][]string{"main": {"vm-1"}} },
		Seen: func(context.Context, map[string][]string) []Device {
			return []Device{{Cluster: "main", Node: "vm-1", UUID: "a", State: state, SeenAt: now}}
		}})
	looks := func(want ...string) {
		t.Helper()
		now = now.Add(time.Minute)
		if err := s.Poll(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range k.told {
			got = append(got, string(e.Kind)+" "+e.Workload+" "+e.Tenant+" "+e.Detail.Args["Node"].(string))
		}
		if len(got) != len(want) {
			t.Fatalf("want %q, got %q", want, got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("want %q, got %q", want[i], got[i])
			}
		}
	}
	looks()
	state = Unlicensed
	looks() // it may only be restarting its license service
	if got := s.Unlicensed()["main"]; len(got) != 1 {
		t.Errorf("want new starts to avoid the node at once, got %v", got)
	}
	first := []string{"license.lost   vm-1", "license.lost a red vm-1"}
	looks(first...)
	looks(first...)
	state = Restricted
	looks(first...)
	state = Licensed
	looks(first...)
	if got := s.Unlicensed(); len(got) != 0 {
		t.Errorf("want the node to be taken again, got %v", got)
	}
	state = Unlicensed
	looks(first...)
	looks(append(first, first...)...)
}

// TestTriggerPoll: whoever sees a license go does not wait for the interval, and a second trigger is no second poll.
func TestTriggerPoll(t *testing.T) {
	s := New(Options{Store: &recordingStore{}, Now: func() time.Time { return noon }})
	s.TriggerPoll()
	s.TriggerPoll()
	for want := range 2 {
		select {
		case <-s.PollTrigger():
			if want == 1 {
				t.Error("asked for twice")
			}
		default:
			if want == 0 {
				t.Error("not asked for")
			}
		}
	}
}
