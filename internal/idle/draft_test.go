package idle_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/idle"
)

func TestSettingsAsTextComeBack(t *testing.T) {
	h := func(n int) catalog.Duration { return catalog.Duration(time.Duration(n) * time.Hour) }
	stop := idle.Setting{Action: idle.Stop, After: h(4), Below: 5, KeepAlive: h(8)}
	for name, s := range map[string]idle.Settings{
		"nothing": {},
		"for all": {All: &stop},
		"of pods": {All: &idle.Setting{Action: idle.Stop, After: h(4), Below: 5, CPU: 0.125, Network: 20000,
			KeepAlive: h(8)}},
		"for several": {All: &idle.Setting{Action: idle.Off},
			Sizes: map[string]idle.Setting{"mig-1g.10gb": stop, "1": stop},
			Teams: map[string]idle.Setting{"vision": {Action: idle.Warn, After: h(1), Below: 9, KeepAlive: h(1)},
				"on": {Action: idle.Off}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, text := idle.ReadYAML(s.YAML())
			if len(text.Problems) > 0 {
				t.Fatalf("%v in\n%s", text.Problems, s.YAML())
			}
			if diff := cmp.Diff(s, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSettingsAsTextHaveTheUsual(t *testing.T) {
	got, _ := idle.ReadYAML("all: {action: stop, after: 4h}\n")
	if got.All.Below != idle.UsualBelow || got.All.KeepAlive != got.All.After {
		t.Errorf("want the usual, got %+v", got.All)
	}
}

// TestCPUAndNetworkAreJudgedTogether: one threshold alone has the usual one of the other beside it.
func TestCPUAndNetworkAreJudgedTogether(t *testing.T) {
	for text, want := range map[string][2]float64{"": {0, 0}, "cpu: 0.2": {0.2, idle.UsualNetwork},
		"network: 500": {idle.UsualCPU, 500}, "cpu: 1, network: 2": {1, 2}} {
		got, problems := idle.ReadYAML("all: {action: stop, after: 4h, " + text + "}\n")
		if len(problems.Problems) > 0 || got.All.CPU != want[0] || float64(got.All.Network) != want[1] ||
			got.All.ByPod() != (text != "") {
			t.Errorf("%q: want %v, got %+v, %v", text, want, got.All, problems.Problems)
		}
	}
	for _, text := range []string{"cpu: many", "cpu: 0", "cpu: -1", "cpu: .nan", "network: 1.5", "network: 0"} {
		if _, problems := idle.ReadYAML("all: {action: stop, after: 4h, " + text + "}\n"); len(problems.Problems) != 1 {
			t.Errorf("%q: want one problem, got %v", text, problems.Problems)
		}
	}
}

func TestProblemsOfSettingsAsTextHaveLines(t *testing.T) {
	_, text := idle.ReadYAML("all:\n  action: stop\n  after: soon\n  below: many\nsizes:\n  h100: stop\nteam: {}\n")
	var got []string
	for _, p := range text.Problems {
		got = append(got, strconv.Itoa(p.Line)+" "+p.Reason.ID)
	}
	want := []string{"3 idle.no_time", "4 idle.bad_below", "6 yamltext.want_map", "7 yamltext.unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
