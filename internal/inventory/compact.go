package inventory

import "encoding/json"

// Devices are devices of a node or pool. Written as JSON, devices of one driver, pool and kind say once what they have
// in common: a thousand nodes with their cards cut into slices would otherwise be fifty megabytes of which most is the
// same.
type Devices []Device

// alike is devices with what they share taken out.
type alike struct {
	Driver     string               `json:"driver"`
	Pool       string               `json:"pool"`
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	Capacity   map[string]string    `json:"capacity,omitempty"`
	Devices    []own                `json:"devices"`
}

// own is what only one device has; driver and pool are those of the others.
type own struct {
	Device
	Driver string `json:"driver,omitempty"`
	Pool   string `json:"pool,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (list Devices) MarshalJSON() ([]byte, error) {
	groups := []alike{}
	for at := 0; at < len(list); {
		end := at + 1
		for end < len(list) && similar(list[at], list[end]) {
			end++
		}
		groups = append(groups, together(list[at:end]))
		at = end
	}
	return json.Marshal(groups)
}

// similar devices stand one after the other: devices are ordered by name, and drivers put card and cut into it.
func similar(a, b Device) bool {
	return a.Driver == b.Driver && a.Pool == b.Pool && a.Gone == b.Gone && a.text("type") == b.text("type") &&
		a.text("profile") == b.text("profile")
}

func together(list []Device) alike {
	g := alike{Driver: list[0].Driver, Pool: list[0].Pool,
		Attributes: common(list, func(d Device) map[string]Attribute { return d.Attributes }, sameAttribute),
		Capacity: common(list, func(d Device) map[string]string { return d.Capacity },
			func(a, b string) bool { return a == b })}
	for _, d := range list {
		d.Attributes, d.Capacity = without(d.Attributes, g.Attributes), without(d.Capacity, g.Capacity)
		g.Devices = append(g.Devices, own{Device: d})
	}
	return g
}

func common[V any](list []Device, of func(Device) map[string]V, same func(a, b V) bool) map[string]V {
	shared := map[string]V{}
	if len(list) == 1 {
		return nil
	}
next:
	for name, value := range of(list[0]) {
		for _, d := range list[1:] {
			if other, there := of(d)[name]; !there || !same(value, other) {
				continue next
			}
		}
		shared[name] = value
	}
	return shared
}

func without[V any](all, shared map[string]V) map[string]V {
	var rest map[string]V
	for name, value := range all {
		if _, is := shared[name]; !is {
			if rest == nil {
				rest = map[string]V{}
			}
			rest[name] = value
		}
	}
	return rest
}

func sameAttribute(a, b Attribute) bool {
	return equal(a.String, b.String) && equal(a.Int, b.Int) && equal(a.Bool, b.Bool) && equal(a.Version, b.Version)
}

func equal[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// UnmarshalJSON implements json.Unmarshaler.
func (list *Devices) UnmarshalJSON(text []byte) error {
	var groups []alike
	if err := json.Unmarshal(text, &groups); err != nil {
		return err
	}
	*list = nil
	for _, g := range groups {
		for _, o := range g.Devices {
			d := o.Device
			d.Driver, d.Pool = g.Driver, g.Pool
			d.Attributes, d.Capacity = join(d.Attributes, g.Attributes), join(d.Capacity, g.Capacity)
			*list = append(*list, d)
		}
	}
	return nil
}

func join[V any](own, shared map[string]V) map[string]V {
	if len(shared) == 0 {
		return own
	}
	all := make(map[string]V, len(own)+len(shared))
	for name, value := range shared {
		all[name] = value
	}
	for name, value := range own {
		all[name] = value
	}
	return all
}
