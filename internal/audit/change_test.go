package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	type item struct {
		Name   string            `json:"name,omitempty"`
		Quota  map[string]int    `json:"quota,omitempty"`
		Groups []string          `json:"groups,omitempty"`
		Hook   map[string]string `json:"hook,omitempty"`
	}
	cases := map[string]struct {
		old, new any
		want     []Change
	}{
		"nothing":   {item{Name: "a"}, item{Name: "a"}, nil},
		"one value": {item{Name: "a"}, item{Name: "b"}, []Change{{"name", "a", "b"}}},
		"what came and went": {item{Quota: map[string]int{"cpu": 1}}, item{Quota: map[string]int{"h100": 2}},
			[]Change{{"quota.cpu", "1", ""}, {"quota.h100", "", "2"}}},
		"a list": {item{Groups: []string{"a"}}, item{Groups: []string{"a", "b"}},
			[]Change{{"groups[2]", "", "b"}}},
		"a secret is never in": {item{Hook: map[string]string{"clientSecret": "hush"}},
			item{Hook: map[string]string{"clientSecret": "hush2"}}, []Change{{"hook.clientSecret", "…", "…"}}},
		"a new one is seen": {item{}, item{Hook: map[string]string{"password": "hush"}},
			[]Change{{"hook.password", "", "…"}}},
		"out of nothing":   {nil, item{Name: "a"}, []Change{{"name", "", "a"}}},
		"what has no JSON": {func() {}, item{Name: "a"}, []Change{{"name", "", "a"}}},
		"a value of any length": {item{}, item{Name: strings.Repeat("ü", 1000)},
			[]Change{{"name", "", strings.Repeat("ü", 299) + "…"}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Diff(c.old, c.new)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDiffIsBounded(t *testing.T) {
	many := map[string]int{}
	for i := range 1000 {
		many[fmt.Sprintf("size-%03d", i)] = i
	}
	got := Diff(nil, many)
	if len(got) != maxChanges || got[maxChanges-1] != (Change{Field: "…", New: "+961"}) {
		t.Errorf("got %d, the last is %v", len(got), got[len(got)-1])
	}
}

func TestChanged(t *testing.T) {
	if got := Changed("shared", true, true); got != nil {
		t.Errorf("want nothing, got %v", got)
	}
	if diff := cmp.Diff([]Change{{"shared", "false", "true"}}, Changed("shared", false, true)); diff != "" {
		t.Error(diff)
	}
}
