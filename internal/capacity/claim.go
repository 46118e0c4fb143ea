package capacity

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// claim is a catalog.Claim that is ready to be matched.
type claim struct {
	requests    []deviceRequest
	constraints []catalog.DeviceConstraint
}

// deviceRequest is met by the first of its options that can be had.
type deviceRequest struct {
	name    string
	options []option
}

type option struct {
	name      string // "" where the request has no alternatives
	selectors []*selector
	count     int
}

// classes are the selectors of the device classes that the vendors' charts install. A snapshot holds no DeviceClass, so
// of another class nothing is known but what its name tells: many drivers call their class as they are called. Sources:
// kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1; ROCm/k8s-gpu-dra-driver.
var classes = map[string]string{
	"gpu.nvidia.com":      `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'`,
	"mig.nvidia.com":      `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'`,
	"vfio.gpu.nvidia.com": `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'`,
	"gpu.amd.com":         `device.driver == 'gpu.amd.com'`,
	"gpu.intel.com":       `device.driver == 'gpu.intel.com'`,
	"gaudi.intel.com":     `device.driver == 'gaudi.intel.com'`,
}

// claimOf is not ok for a claim that cannot be matched against devices: a class that is not known, or an expression
// that does not compile.
func claimOf(c *catalog.Claim) (*claim, bool) {
	ready := &claim{constraints: c.Constraints}
	for _, r := range c.Requests {
		request := deviceRequest{name: r.Name}
		alternatives := r.FirstAvailable
		if len(alternatives) == 0 {
			alone := r
			alone.Name = ""
			alternatives = []catalog.DeviceRequest{alone}
		}
		for _, a := range alternatives {
			o, ok := optionOf(a)
			if !ok {
				return nil, false
			}
			request.options = append(request.options, o)
		}
		ready.requests = append(ready.requests, request)
	}
	return ready, len(ready.requests) > 0
}

func optionOf(r catalog.DeviceRequest) (option, bool) {
	class, ok := classes[r.DeviceClass]
	if !ok {
		return option{}, false
	}
	o := option{name: r.Name, count: r.Devices()}
	for _, expression := range append([]string{class}, r.Selectors...) {
		s, err := compile(expression)
		if err != nil {
			return option{}, false
		}
		o.selectors = append(o.selectors, s)
	}
	return o, true
}

// matches reports whether a device may serve the option. An evaluation error is an error of the whole attempt.
func (o option) matches(d *inventory.Device) (bool, error) {
	for _, s := range o.selectors {
		if yes, err := s.matches(&device{d}); err != nil || !yes {
			return false, err
		}
	}
	return true, nil
}

// allocator gives out the devices of one node, claim after claim, as the scheduler's does: requests in their order,
// alternatives in theirs, devices in that in which they are published, and back again where that leads nowhere.
type allocator struct {
	claim      *claim
	devices    []inventory.Device
	candidates [][][]int // by request and option: indexes of devices that match
	taken      []bool
	costs      [][]cost
	budget     []int64 // of each counter
	left       []int64 // of each counter
	chosen     []choice
	steps      int
}

type choice struct {
	request, option, device int
}

// mostAttempts bounds the search for one claim. The scheduler has a time limit in the same place; with what sites
// publish a few dozen attempts do.
const mostAttempts = 20_000

// allocatorFor matches every device once. It is not ok where an expression fails on a device: then the scheduler
// allocates nothing there.
func allocatorFor(n *inventory.Node, c *claim) (*allocator, bool) {
	a := &allocator{claim: c, devices: n.Devices, taken: make([]bool, len(n.Devices)),
		costs: make([][]cost, len(n.Devices)), candidates: make([][][]int, len(c.requests))}
	a.costsOf(n)
	for i, r := range c.requests {
		a.candidates[i] = make([][]int, len(r.options))
		for j, o := range r.options {
			for k := range n.Devices {
				yes, err := o.matches(&n.Devices[k])
				if err != nil {
					return nil, false
				}
				if yes {
					a.candidates[i][j] = append(a.candidates[i][j], k)
				}
			}
		}
	}
	return a, true
}

// count says how many claims can be met one after another, at most most of them. With empty, devices that are held
// count as free: what the node has, not what is left.
func (a *allocator) count(empty bool, most int64) int64 {
	a.left = append(a.left[:0], a.budget...)
	for i := range a.devices {
		held := a.devices[i].Claim != "" && !empty
		a.taken[i] = held || a.devices[i].Tainted || a.devices[i].Gone
		if held {
			a.spend(i, 1)
		}
	}
	met := int64(0)
	for met < most {
		a.chosen, a.steps = a.chosen[:0], 0
		if !a.allocate(0) {
			break
		}
		met++
	}
	return met
}

// allocate meets the requests from the i-th on.
func (a *allocator) allocate(i int) bool {
	if i == len(a.claim.requests) {
		return true
	}
	for j, o := range a.claim.requests[i].options {
		if a.pick(i, j, o.count, 0) {
			return true
		}
	}
	return false
}

// pick takes count more devices for an option, each further on in the list than the last, and then goes on with the
// next request.
func (a *allocator) pick(request, option, count, from int) bool {
	if count == 0 {
		return a.allocate(request + 1)
	}
	list := a.candidates[request][option]
	for k := from; k+count <= len(list); k++ {
		if a.steps++; a.steps > mostAttempts {
			return false
		}
		index := list[k]
		if a.taken[index] || !a.affords(index) || !a.agrees(choice{request, option, index}) {
			continue
		}
		a.taken[index] = true
		a.spend(index, 1)
		a.chosen = append(a.chosen, choice{request, option, index})
		if a.pick(request, option, count-1, k+1) {
			return true
		}
		a.chosen = a.chosen[:len(a.chosen)-1]
		a.taken[index] = false
		a.spend(index, -1)
	}
	return false
}

// agrees: under each constraint on the request the device has the attribute, and with the value that those chosen
// before it have.
func (a *allocator) agrees(c choice) bool {
	for _, k := range a.claim.constraints {
		if !a.bound(k, c) {
			continue
		}
		value, ok := attributeOf(&a.devices[c.device], k.MatchAttribute)
		if !ok {
			return false
		}
		for _, other := range a.chosen {
			if !a.bound(k, other) {
				continue
			}
			if has, _ := attributeOf(&a.devices[other.device], k.MatchAttribute); has != value {
				return false
			}
		}
	}
	return true
}

// bound: a constraint without requests binds all; "main" binds each alternative of main, "main/sub" that one.
func (a *allocator) bound(k catalog.DeviceConstraint, c choice) bool {
	if len(k.Requests) == 0 {
		return true
	}
	r := a.claim.requests[c.request]
	return slices.Contains(k.Requests, r.name) || slices.Contains(k.Requests, r.name+"/"+r.options[c.option].name)
}

// attributeOf is a value that can be compared: two attributes of different types are never the same.
func attributeOf(d *inventory.Device, name string) (any, bool) {
	a, ok := d.Attributes[name]
	switch {
	case !ok:
		return nil, false
	case a.String != nil:
		return *a.String, true
	case a.Int != nil:
		return *a.Int, true
	case a.Bool != nil:
		return *a.Bool, true
	case a.Version != nil:
		return "version " + *a.Version, true
	}
	return nil, false
}

// cost is what a device takes from one counter while it is allocated.
type cost struct {
	counter int // index into left
	amount  int64
}

// costsOf numbers the counters of a node and says what each device takes from them. A counter that the pool does not
// publish has nothing to give.
func (a *allocator) costsOf(n *inventory.Node) {
	numbers := map[string]int{}
	number := func(driver, pool, set, counter string) int {
		key := driver + "\x00" + pool + "\x00" + set + "\x00" + counter
		at, ok := numbers[key]
		if !ok {
			at = len(a.budget)
			numbers[key] = at
			a.budget = append(a.budget, 0)
		}
		return at
	}
	for _, set := range n.Counters {
		for name, text := range set.Counters {
			a.budget[number(set.Driver, set.Pool, set.Name, name)] = amountOf(text)
		}
	}
	for i := range n.Devices {
		for _, c := range n.Devices[i].Consumes {
			for name, text := range c.Counters {
				a.costs[i] = append(a.costs[i], cost{number(n.Devices[i].Driver, n.Devices[i].Pool, c.Set, name), amountOf(text)})
			}
		}
	}
}

// amountOf counts in whole units, rounded up: no driver publishes parts of a slice or of a byte.
func amountOf(text string) int64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.Value()
}

func (a *allocator) affords(device int) bool {
	return !slices.ContainsFunc(a.costs[device], func(c cost) bool { return c.amount > a.left[c.counter] })
}

// spend takes what a device needs, or gives it back with -1.
func (a *allocator) spend(device int, sign int64) {
	for _, c := range a.costs[device] {
		a.left[c.counter] -= sign * c.amount
	}
}
