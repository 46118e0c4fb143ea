package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func TestValueInJSON(t *testing.T) {
	cases := map[string]struct {
		value fmt.Stringer
		want  string
	}{
		"known":             {show(Known(7)), `{"value":7}`},
		"a known zero":      {show(Known(0)), `{"value":0}`},
		"known to be false": {show(Known(false)), `{"value":false}`},
		"an empty list":     {show(KnownList[int](nil)), `{"value":[]}`},
		"unknown":           {show(Unknown[int](NoPermission)), `{"unknown":"no_permission"}`},
		"nobody asked":      {show(Value[int]{}), `{"unknown":"not_read"}`},
		"a list with unknowns inside": {show(Known([]Value[int]{Known(1), Unknown[int](GPULost)})),
			`{"value":[{"value":1},{"unknown":"gpu_lost"}]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.value.String(); got != c.want {
				t.Errorf("want %s, got %s", c.want, got)
			}
		})
	}
}

type shown string

func (s shown) String() string { return string(s) }

// show writes a value, reads it back and complains in place of the text when it is another then.
func show[T any](v Value[T]) fmt.Stringer {
	data, err := json.Marshal(v)
	if err != nil {
		return shown(err.Error())
	}
	var back Value[T]
	if err := json.Unmarshal(data, &back); err != nil || !back.Equal(v) {
		return shown(fmt.Sprintf("read back as %+v (%v)", back, err))
	}
	return shown(data)
}

func TestParse(t *testing.T) {
	const driver = `"driver":{"state":"ready","version":{"value":"580.1"}}`
	cases := map[string]struct {
		text string
		want func(*testing.T, Report)
		err  string
	}{
		"fields of a newer agent are passed over": {
			text: `{"schema":"gpu-portal.agent/v1","new":{"a":[1]},` + driver +
				`,"gpus":{"value":[{"index":3,"uuid":{"value":"GPU-1","how":"x"},"novelty":1}]}}`,
			want: func(t *testing.T, r Report) {
				gpus := r.GPUs.Or(nil)
				if len(gpus) != 1 || gpus[0].Index != 3 || gpus[0].UUID.Or("") != "GPU-1" || r.Driver.Version.Or("") != "580.1" {
					t.Errorf("got %+v", r)
				}
			},
		},
		"what is missing is unknown, not zero": {
			text: `{"schema":"gpu-portal.agent/v1","gpus":{"value":[{}]}}`,
			want: func(t *testing.T, r Report) {
				g := r.GPUs.Or(nil)[0]
				if _, ok := g.Memory.Total.Get(); ok || g.Memory.Total.Why() != NotRead {
					t.Errorf("memory is %+v", g.Memory.Total)
				}
				if _, ok := g.ECC.AggregateUncorrected.Get(); ok {
					t.Error("errors are known")
				}
			},
		},
		"a reason of a newer agent stays": {
			text: `{"schema":"gpu-portal.agent/v1","gpus":{"unknown":"eaten_by_a_dog"}}`,
			want: func(t *testing.T, r Report) {
				if r.GPUs.Why() != "eaten_by_a_dog" {
					t.Errorf("got %q", r.GPUs.Why())
				}
			},
		},
		"a value that is null is unknown": {
			text: `{"schema":"gpu-portal.agent/v1","gpus":{"value":null}}`,
			want: func(t *testing.T, r Report) {
				if _, ok := r.GPUs.Get(); ok {
					t.Error("known")
				}
			},
		},
		"another schema": {text: `{"schema":"gpu-portal.agent/v2"}`, err: "schema"},
		"no schema":      {text: `{}`, err: "schema"},
		"no report":      {text: `<html>`, err: "read report"},
		"cut off":        {text: `{"schema":"gpu-portal.agent/v1","gpus":{"value":[{`, err: "read report"},
		"a value of no kind": {text: `{"schema":"gpu-portal.agent/v1","gpus":{"value":[{"minor":{"value":"seven"}}]}}`,
			err: "read report"},
		"too long": {text: strings.Repeat(" ", MaxReport+1), err: "more than"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := Parse(strings.NewReader(c.text))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("want an error about %q, got %v", c.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c.want(t, r)
		})
	}
}

func TestUnknownsAreCounted(t *testing.T) {
	r := Report{GPUs: Known([]GPU{unreadableEverywhere(GPULost)})}
	r.Driver = Driver{Version: Known("1"), NVML: Unknown[string](NoData), CUDA: Known("1")}
	got := unknowns(r)
	if got[NoData] != 1 || got[GPULost] < 20 || got[NotRead] != 0 {
		t.Errorf("got %v", got)
	}
}

// unreadableEverywhere goes over JSON, so that a field added later is part of the test.
func unreadableEverywhere(why Reason) GPU {
	var g GPU
	data, _ := json.Marshal(g)
	text := strings.ReplaceAll(string(data), `"not_read"`, fmt.Sprintf("%q", why))
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		panic(err)
	}
	return g
}

// The cases are those of an A100 with 40 GB: 2g.10gb starts at 0, 2 and 4, 3g.20gb at 0 and 4.
func TestFreePlacements(t *testing.T) {
	two := Profile{ID: 14, MaxInstances: 3, Placements: Known([]Placement{{0, 2}, {2, 2}, {4, 2}})}
	three := Profile{ID: 9, MaxInstances: 2, Placements: Known([]Placement{{0, 4}, {4, 4}})}
	one := func(id, start, size int) GPUInstance {
		return GPUInstance{ProfileID: id, Placement: Placement{start, size}}
	}
	cases := map[string]struct {
		profile Profile
		there   []GPUInstance
		want    Value[[]Placement]
	}{
		"an empty card":               {three, nil, Known([]Placement{{0, 4}, {4, 4}})},
		"one end is taken":            {three, []GPUInstance{one(19, 6, 1)}, Known([]Placement{{0, 4}})},
		"neighbours do not overlap":   {two, []GPUInstance{one(9, 4, 4)}, Known([]Placement{{0, 2}, {2, 2}})},
		"free slices that do not fit": {three, []GPUInstance{one(19, 3, 1), one(19, 4, 1)}, KnownList[Placement](nil)},
		"the maximum counts before the room": {Profile{ID: 20, MaxInstances: 1,
			Placements: Known([]Placement{{0, 1}, {1, 1}})}, []GPUInstance{one(20, 0, 1)}, KnownList[Placement](nil)},
		"placements are unknown": {Profile{ID: 20, MaxInstances: 1, Placements: Unknown[[]Placement](NoPermission)}, nil,
			Unknown[[]Placement](NotComputed)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, free(c.profile, c.there)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
