package gpumetrics

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPodUsageOfOnePod: the parts of one answer become one PodUsage for each pod. What is missing, or cannot be a rate,
// is not known, and never a zero.
func TestPodUsageOfOnePod(t *testing.T) {
	from := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	until := from.Add(5 * time.Minute)
	type parts map[summaryPart]string
	whole := func(change ...summaryPart) parts {
		all := parts{usageContainers: "0.02", usageCPUTime: "3", usageReceived: "100", usageInTime: "3", usageSent: "20",
			usageOutTime: "3"}
		for _, name := range change {
			delete(all, name)
		}
		return all
	}
	with := func(name summaryPart, value string) parts {
		all := whole()
		all[name] = value
		return all
	}
	of := func(cpu, network Rate) UsageSlot { return UsageSlot{until, cpu, network} }
	cpu, network := Rate{0.02, 5 * time.Minute}, Rate{120, 5 * time.Minute}
	for name, c := range map[string]struct {
		parts parts
		want  UsageSlot
	}{
		"all of it":                          {whole(), of(cpu, network)},
		"the busier row of the pod counts":   {with(usagePod, "0.5"), of(Rate{0.5, 5 * time.Minute}, network)},
		"the calmer row of the pod does not": {with(usagePod, "0.01"), of(cpu, network)},
		"a row of the pod is not a number":   {with(usagePod, "NaN"), of(Rate{}, network)},
		"a step is missing":                  {with(usageCPUTime, "2"), of(Rate{0.02, 150 * time.Second}, network)},
		"only the step before is there":      {with(usageOutTime, "1"), of(cpu, Rate{120, 0})},
		"nobody counted the CPU's samples":   {whole(usageCPUTime), of(Rate{0.02, 0}, network)},
		"no CPU":                             {whole(usageContainers), of(Rate{}, network)},
		"nothing sent is not known":          {whole(usageSent), of(cpu, Rate{})},
		"nothing received is not known":      {whole(usageReceived), of(cpu, Rate{})},
		"endless":                            {with(usageSent, "+Inf"), of(cpu, Rate{})},
		"less than nothing":                  {with(usageContainers, "-1"), of(Rate{}, network)},
	} {
		t.Run(name, func(t *testing.T) {
			var rows []any
			for part, value := range c.parts {
				rows = append(rows, map[string]any{"metric": map[string]string{"namespace": "gpu-vision", "pod": "nb-0",
					partLabel: string(part)}, "values": [][]any{{float64(until.Unix()), value}}})
			}
			rows = append(rows, map[string]any{"metric": map[string]string{partLabel: string(usagePod)},
				"values": [][]any{{float64(until.Unix()), "9"}}}) // of no pod
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{
					"resultType": "matrix", "result": rows}})
			}))
			t.Cleanup(server.Close)
			p, err := New(Config{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.PodUsage(t.Context(), []string{"gpu-vision"}, from, until, 5*time.Minute, 150*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			want := []PodUsage{{Namespace: "gpu-vision", Pod: "nb-0", Slots: []UsageSlot{c.want}}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// cadvisor is a kubelet's page: nb-0 uses half a core in two containers and 3000 bytes a second, quiet-0 nothing, and
// torn-0 has a container that lives for two seconds at a time. Every row of a core and of lo would be too much.
func cadvisor(began time.Time) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		at := time.Since(began).Seconds()
		cpu := func(pod, container, id string, cores float64) {
			_, _ = fmt.Fprintf(w, "container_cpu_usage_seconds_total{namespace=\"gpu-vision\",pod=%q,container=%q,id=%q,"+
				"cpu=\"total\"} %f\n", pod, container, id, cores*at)
		}
		network := func(pod, way, device string, rate float64) {
			_, _ = fmt.Fprintf(w, "container_network_%s_bytes_total{namespace=\"gpu-vision\",pod=%q,container=\"\","+
				"interface=%q} %f\n", way, pod, device, rate*at)
		}
		cpu("nb-0", "main", "/pod1/a", 0.4)
		cpu("nb-0", "ssh", "/pod1/b", 0.1)
		cpu("quiet-0", "main", "/pod2/a", 0)
		cpu("torn-0", "main", fmt.Sprintf("/pod3/%d", int(at)/2), 0)
		_, _ = io.WriteString(w, "container_cpu_usage_seconds_total{namespace=\"gpu-vision\",pod=\"nb-0\","+
			"container=\"core\",id=\"/pod1/a\",cpu=\"cpu00\"} "+fmt.Sprint(90*at)+"\n")
		for _, pod := range []string{"nb-0", "quiet-0", "torn-0"} {
			busy := map[string]float64{"nb-0": 1}[pod]
			network(pod, "receive", "eth0", busy*1000)
			network(pod, "receive", "net1", busy*1500)
			network(pod, "receive", "lo", 1e9)
			network(pod, "transmit", "eth0", busy*500)
		}
	}
}

// TestPodUsageOfARealPrometheus: only it can say that the query is PromQL, that containers and interfaces add up, and
// that a container that came in place of another leaves a gap. With labels that are not honoured it is the same.
func TestPodUsageOfARealPrometheus(t *testing.T) {
	for _, honour := range []bool{true, false} {
		t.Run(fmt.Sprintf("honour=%t", honour), func(t *testing.T) {
			t.Parallel()
			kubelet := httptest.NewServer(cadvisor(time.Now().Add(-time.Minute)))
			t.Cleanup(kubelet.Close)
			p, err := New(Config{URL: scrapedBy(t, realProgram(t), kubelet.URL, honour)})
			if err != nil {
				t.Fatal(err)
			}
			const slot, step = 4 * time.Second, 2 * time.Second
			near := func(v, want float64) bool { return math.Abs(v-want) <= want/4 }
			within(t, "the clock of Prometheus", func() bool {
				_, err := p.Clock(t.Context())
				return err == nil
			})
			within(t, "usage that is known from its beginning to its end", func() bool {
				until := time.Now().Truncate(step)
				list, err := p.PodUsage(t.Context(), []string{"gpu-vision"}, until.Add(-slot), until, slot, step)
				if err != nil {
					t.Fatal(err)
				}
				seen := map[string]UsageSlot{}
				for _, u := range list {
					if u.Namespace == "gpu-vision" && len(u.Slots) == 1 {
						seen[u.Pod] = u.Slots[0]
					}
				}
				if torn := seen["torn-0"].CPU; torn.Known >= slot {
					t.Fatalf("a container that lived for two seconds is known for %s", torn.Known)
				}
				busy, quiet := seen["nb-0"], seen["quiet-0"]
				return busy.CPU.Known == slot && busy.Network.Known == slot && near(busy.CPU.Value, 0.5) &&
					near(busy.Network.Value, 3000) && quiet.CPU == Rate{0, slot} && quiet.Network == Rate{0, slot}
			})
			until := time.Now().Add(time.Hour).Truncate(step)
			if list, err := p.PodUsage(t.Context(), nil, until.Add(-slot), until, slot, step); err != nil || len(list) > 0 {
				t.Errorf("want nothing of the future, got %v %v", list, err)
			}
		})
	}
}
