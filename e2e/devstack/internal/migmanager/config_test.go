package migmanager

import (
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
)

// Every name in a generated config must be a layout that the cards take, and the node's own name its own layout.
func TestGeneratedConfigs(t *testing.T) {
	for _, kind := range nodes.Kinds() {
		if kind.Model == nil || kind.Model.Profiles == nil || kind.DRA {
			continue
		}
		text, err := Generated(kind)
		if err != nil {
			t.Fatal(err)
		}
		var file configFile
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for name := range file.Configs {
			if _, err := layoutOf(text, name, kind); err != nil {
				t.Errorf("%s: %s: %v", kind.Pool, name, err)
			}
		}
		if kind.MIGConfig == "" {
			continue
		}
		want, err := kind.Layout()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := layoutOf(text, kind.MIGConfig, kind); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: want %v, got %v, %v", kind.Pool, want, got, err)
		}
	}
}

func TestLayoutOf(t *testing.T) {
	kind, _ := nodes.FindKind("a100-mig-single")
	cases := map[string]struct {
		text, name string
		ok         bool
	}{
		"cards of their own": {"mig-configs:\n  a:\n  - {devices: [0, 1], mig-enabled: true, mig-devices: {3g.20gb: 2}}\n " +
			" - {devices: [2], mig-enabled: false}\n", "a", true},
		"a name not there": {"mig-configs: {}\n", "a", false},
		"more than a card takes": {"mig-configs:\n  a:\n  - {devices: all, mig-enabled: true, mig-devices: {4g.20gb: 2}}\n",
			"a", false},
		"no YAML": {"\t", "a", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			layout, err := layoutOf([]byte(c.text), c.name, kind)
			if c.ok != (err == nil) {
				t.Fatalf("want ok %v, got %v", c.ok, err)
			}
			if c.ok && (len(layout[0]) != 2 || len(layout[1]) != 2 || layout[2] != nil) {
				t.Errorf("want two instances on cards 0 and 1 only, got %v", layout)
			}
		})
	}
}
