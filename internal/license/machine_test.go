package license

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func device(node, uuid string, s State, seen time.Time) Device {
	return Device{Cluster: "west", Node: node, UUID: uuid, Index: "0", State: s, SeenAt: seen}
}

func TestSinceIsWhenTheStateBegan(t *testing.T) {
	list := MergeDevices(nil, []Device{device("vm-1", "a", Licensed, noon)})
	list = MergeDevices(list, []Device{device("vm-1", "a", Unlicensed, hours(1))})
	list = MergeDevices(list, []Device{device("vm-1", "a", Unlicensed, hours(2))})
	list = MergeDevices(list, []Device{device("vm-1", "a", Licensed, hours(1.5))}) // overtaken on its way
	if len(list) != 1 || !list[0].Since.Equal(hours(1)) || !list[0].SeenAt.Equal(hours(2)) || list[0].State != Unlicensed {
		t.Errorf("want unlicensed since the first hour, got %+v", list)
	}
}

func TestStateOfMachines(t *testing.T) {
	devices := []Device{
		device("vm-1", "a", Licensed, noon), device("vm-1", "b", Unlicensed, noon), device("vm-2", "c", Licensed, noon),
		device("vm-3", "d", Unlicensed, hours(-1)),
		device("vm-4", "e", Restricted, noon), device("bare", "f", Unlicensed, noon),
	}
	machines := Machines(map[string][]string{"west": {"vm-1", "vm-2", "vm-3", "vm-4", "vm-5"}}, devices)
	got := map[string]State{}
	for _, m := range machines {
		got[m.Node] = m.State(noon)
	}
	want := map[string]State{"vm-1": Unlicensed, "vm-2": Licensed, "vm-3": StateUnknown, "vm-4": Restricted,
		"vm-5": StateUnknown}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGrace(t *testing.T) {
	lost := device("vm-1", "a", Unlicensed, noon)
	lost.Since = noon.Add(-5 * time.Minute)
	if until, in := lost.GracePeriod(noon); !in || !until.Equal(noon.Add(15*time.Minute)) {
		t.Errorf("want fifteen minutes more, got %s %v", until, in)
	}
	lost.State = Restricted
	if _, in := lost.GracePeriod(noon); in {
		t.Error("what is restricted is in no grace")
	}
}
