package devices

import (
	"maps"
	"slices"
	"testing"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
)

func shared(gpus, replicas int) []nodes.Device {
	var all []nodes.Device
	for gpu := range gpus {
		for r := range replicas {
			id := string(rune('a'+gpu)) + string(rune('0'+r))
			all = append(all, nodes.Device{Resource: "r", GPU: gpu, Replica: r, ID: id})
		}
	}
	return all
}

func ask(pod string, order, count int64) Ask {
	return Ask{Holder: Holder{Namespace: "ns", Pod: pod, UID: pod, Container: "main"}, Order: order,
		Units: map[string]int64{"r": count}}
}

func ids(h Held, pod string) []string {
	var list []string
	for id, holder := range h {
		if holder.Pod == pod {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

func TestAssign(t *testing.T) {
	cases := map[string]struct {
		devices []nodes.Device
		asks    []Ask
		before  Held
		want    map[string][]string
	}{
		"the older pod comes first": {shared(2, 1), []Ask{ask("young", 2, 1), ask("old", 1, 1)}, nil,
			map[string][]string{"old": {"a0"}, "young": {"b0"}}},
		"replicas are spread over the cards": {shared(2, 2), []Ask{ask("p", 1, 1), ask("q", 2, 1), ask("r", 3, 1)}, nil,
			map[string][]string{"p": {"a0"}, "q": {"b0"}, "r": {"a1"}}},
		"what a pod holds stays": {shared(3, 1), []Ask{ask("p", 1, 1), ask("q", 2, 1)}, Held{"c0": ask("p", 1, 1).Holder},
			map[string][]string{"p": {"c0"}, "q": {"a0"}}},
		"a pod that is gone holds nothing": {shared(1, 1), []Ask{ask("q", 2, 1)}, Held{"a0": ask("p", 1, 1).Holder},
			map[string][]string{"q": {"a0"}}},
		"a device that is gone is replaced": {shared(1, 1), []Ask{ask("p", 1, 1)}, Held{"z9": ask("p", 1, 1).Holder},
			map[string][]string{"p": {"a0"}}},
		"several at once":    {shared(4, 1), []Ask{ask("p", 1, 3)}, nil, map[string][]string{"p": {"a0", "b0", "c0"}}},
		"more than there is": {shared(1, 1), []Ask{ask("p", 1, 2)}, nil, map[string][]string{"p": {"a0"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			held := Assign(c.devices, c.asks, c.before)
			for pod, want := range c.want {
				if got := ids(held, pod); !slices.Equal(got, want) {
					t.Errorf("%s: want %v, got %v", pod, want, got)
				}
			}
			if again := Assign(c.devices, c.asks, held); !maps.Equal(again, held) {
				t.Errorf("a second look moves devices: %v, then %v", held, again)
			}
		})
	}
}

// TestMemoryIsNoDevice: a container asks for 24 GiB of memory beside its GPU. Handing memory out byte by byte kept
// every exporter busy for good.
func TestMemoryIsNoDevice(t *testing.T) {
	a := ask("p", 1, 1)
	a.Units["memory"] = 24 << 30
	if held := Assign(shared(1, 1), []Ask{a}, nil); !slices.Equal(ids(held, "p"), []string{"a0"}) {
		t.Errorf("want one device, got %v", held)
	}
}
