package gpumetrics

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// trap is an exposition with one peculiarity: what a person is told of a pod, and what the page about the metrics says.
type trap struct {
	exposition string
	honour     bool
	labels     Labels
	pod        string // in tenant-a
	want       []string
	findings   []string
	absent     []string
}

const (
	slice1 = `UUID="GPU-aaaa",GPU_I_ID="1",GPU_I_PROFILE="3g.40gb",modelName="NVIDIA H100 80GB HBM3",hostname="n"`
	slice2 = `UUID="GPU-aaaa",GPU_I_ID="2",GPU_I_PROFILE="4g.40gb",modelName="NVIDIA H100 80GB HBM3",hostname="n"`
	whole  = `UUID="GPU-bbbb",modelName="NVIDIA L4",hostname="n"`
	guestL = `UUID="GPU-cccc",modelName="NVIDIA A40-12Q",hostname="n"`
	nb0    = `,namespace="tenant-a",pod="nb-0"`
	nb1    = `,namespace="tenant-a",pod="nb-1"`
)

// rows writes one line for each name and value, with the labels given.
func rows(labels string, pairs ...any) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, "%s{%s} %v\n", pairs[i], labels, pairs[i+1])
	}
	return b.String()
}

const (
	engineName, utilName, usedName, freeName, wattName = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL",
		"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_POWER_USAGE"
)

var traps = map[string]trap{
	"slices of a card share its UUID: the key is card and instance, and the card's power is one value, not their sum": {
		exposition: rows(slice1+nb0, engineName, 0.9, usedName, 10, freeName, 30, wattName, 350) + rows(slice2+nb1,
			engineName, 0.2, usedName, 20, freeName, 20, wattName, 350),
		honour: true, pod: "nb-0", want: []string{"aaaa n 3g.40gb#1 engine 90 memory 10/40 power 350 temp ? shared"},
		findings: []string{"slices"}, absent: []string{"slices_unknown"}},
	"utilisation of a slice is no zero, even where an old exporter writes one": {
		exposition: rows(slice1+nb0, utilName, 0, usedName, 10, freeName, 30),
		honour:     true, pod: "nb-0", want: []string{"aaaa n 3g.40gb#1 engine ? memory 10/40 power ? temp ? shared"},
		findings: []string{"slices_unknown"}},
	"whole-card rows beside those of the slices": {
		exposition: rows(slice1+nb0, engineName, 0.5, usedName, 1, freeName, 1) + rows(`UUID="GPU-aaaa",hostname="n"`,
			wattName, 300, usedName, 2, freeName, 2),
		honour: true, pod: "nb-0", want: []string{"aaaa n 3g.40gb#1 engine 50 memory 1/2 power 300 temp ? shared"}},
	"a free card has the exporter's own namespace, and belongs to nobody": {
		exposition: rows(whole, usedName, 1, freeName, 1) + rows(slice1+nb0, engineName, 0.5, usedName, 1, freeName, 1),
		honour:     false, pod: "nb-0", want: []string{"aaaa n 3g.40gb#1 engine 50 memory 1/2 power ? temp ? shared"},
		findings: []string{"exported"}, absent: []string{"no_pods"}},
	"an exporter that is not told of Kubernetes names no pods": {
		exposition: rows(whole, usedName, 1, freeName, 1), honour: true, pod: "nb-0", findings: []string{"no_pods"}},
	"one value for many pods is apportioned, and said to be": {
		exposition: rows(whole+nb0, engineName, 0.8, usedName, 90, freeName, 10, wattName, 60) + rows(whole+nb1, engineName,
			0.8, usedName, 90, freeName, 10, wattName, 60),
		honour: true, pod: "nb-0", want: []string{"bbbb n # engine 80 memory 90/100 power 60 temp ? shared own ~40 ~45 ~30 " +
			"of 2"}, findings: []string{"shared"}},
	"values of processes beside the card's are each pod's own": {
		exposition: rows(whole, utilName, 80, usedName, 90, freeName, 10) + rows(whole+nb0, utilName, 50, usedName, 60) +
			rows(whole+nb1, utilName, 30, usedName, 30),
		honour: true, pod: "nb-0", want: []string{"bbbb n # engine 80 memory 90/100 power ? temp ? shared own 50 60 ? of 2"},
		absent: []string{"shared"}},
	"values of processes that add up to more than the card are scaled": {
		exposition: rows(whole, usedName, 90, freeName, 10) + rows(whole+nb0, usedName, 90) + rows(whole+nb1, usedName, 90),
		honour:     true, pod: "nb-0", want: []string{"bbbb n # engine ? memory 90/100 power ? temp ? shared own ? ~45 ? " +
			"of 2"}},
	"a vGPU guest sees neither power nor profiling, and that is no fault": {
		exposition: rows(guestL+nb0, utilName, 33, usedName, 1, freeName, 1, "DCGM_FI_DEV_VGPU_LICENSE_STATUS", 1),
		honour:     true, pod: "nb-0", want: []string{"cccc n # engine 33 memory 1/2 power ? temp ?"},
		findings: []string{"guests"}, absent: []string{"no_profiling"}},
	"no profiling metrics on a whole card": {
		exposition: rows(whole+nb0, utilName, 12, usedName, 1, freeName, 1), honour: true, pod: "nb-0",
		want: []string{"bbbb n # engine 12 memory 1/2 power ? temp ?"}, findings: []string{"no_profiling"}},
	"blank values of each width": {
		exposition: rows(whole+nb0, usedName, "2147483632", freeName, "9223372036854775794", wattName, "140737488355330",
			utilName, "NaN", engineName, "+Inf"),
		honour: true, pod: "nb-0", want: []string{"bbbb n # engine ? memory ?/? power ? temp ?"},
		findings: []string{"invalid"}},
	"rows that name no card": {
		exposition: rows(whole+nb0, usedName, 1, freeName, 1) + rows(`gpu="0",hostname="n"`, usedName, 5), honour: true,
		pod:  "nb-0",
		want: []string{"bbbb n # engine ? memory 1/2 power ? temp ?"}, findings: []string{"nameless"}},
	"one UUID on two nodes": {
		exposition: rows(whole+nb0, usedName, 1, freeName, 1) + rows(`UUID="GPU-bbbb",modelName="NVIDIA L4",hostname="other"`,
			engineName, 0.1), honour: true, pod: "nb-1", findings: []string{"twice"}},
	"names since DCGM 4.6": {
		exposition: rows(whole+nb0, usedName, 1, freeName, 1, "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", 0.4), honour: true,
		pod:  "nb-0",
		want: []string{"bbbb n # engine 40 memory 1/2 power ? temp ?"}, findings: []string{"new_names"}},
	"labels that a site has renamed": {
		exposition: rows(`card="GPU-bbbb",node="n",team="tenant-a",workload="nb-0"`, usedName, 1, freeName, 1), honour: true,
		pod: "nb-0",
		labels: Labels{UUID: []string{"card"}, Node: []string{"node"}, Namespace: []string{"team"},
			Pod: []string{"workload"}}, want: []string{"bbbb n # engine ? memory 1/2 power ? temp ?"}},
	"the exporter's old spelling": {
		exposition: rows(`uuid="GPU-bbbb",Hostname="n",pod_namespace="tenant-a",pod_name="nb-0"`, usedName, 1, freeName, 1),
		honour:     true, pod: "nb-0",
		want: []string{"bbbb n # engine ? memory 1/2 power ? temp ?"}},
	"labels in other alphabets, and empty ones": {
		exposition: rows(
			`UUID="GPU-bbbb",modelName="卡\"\\",hostname="n",GPU_I_ID="",namespace="tenant-a",pod="nb-0",container=""`, usedName,
			1, freeName, 1), honour: true, pod: "nb-0",
		want: []string{"bbbb n # engine ? memory 1/2 power ? temp ?"}},
	"series of DCGM without the fields that tell of a card": {
		exposition: rows(whole, "DCGM_FI_DEV_SM_CLOCK", 1980, "DCGM_FI_DEV_XID_ERRORS", 0), honour: true, pod: "nb-0",
		findings: []string{"no_fields"}, absent: []string{"no_devices"}},
	"series that name no card": {exposition: rows(`modelName="NVIDIA L4"`, usedName, 1), honour: true, pod: "nb-0",
		findings: []string{"nameless"}, absent: []string{"no_devices", "no_fields"}},
	"nothing at all": {honour: true, pod: "nb-0", findings: []string{"no_devices"}},
}

func TestTraps(t *testing.T) {
	for name, c := range traps {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			f := newFake(t, clock.Now)
			f.labels = c.labels.orDefaults()
			f.scrape(c.exposition, c.honour)
			p := newPoller(t, f.URL, clock, func(cfg *Config) { cfg.Labels = c.labels })
			if err := p.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, briefs(p.Live("tenant-a", c.pod))); c.want != nil && diff != "" {
				t.Errorf("devices (-want +got):\n%s", diff)
			}
			var got []string
			for _, x := range p.Report().Findings {
				got = append(got, x.ID)
			}
			for _, id := range c.findings {
				if !slices.Contains(got, id) {
					t.Errorf("want %s among %v", id, got)
				}
			}
			for _, id := range c.absent {
				if slices.Contains(got, id) {
					t.Errorf("do not want %s among %v", id, got)
				}
			}
			checkShot(t, p.samples, p.health)
		})
	}
}

// TestApportionedIsNotMeasured: what cannot be told apart is unknown as long as nobody knows how many share it.
func TestApportionedIsNotMeasured(t *testing.T) {
	l := Live{Devices: []Device{{Pods: 1, OwnEngine: Reading{Value: 80, Unit: Percent, Source: Measured}}}}
	if got := l.OnSharedCards().Devices[0].OwnEngine; got.Known() || got.Why != OneForAll || got.Value != 0 {
		t.Errorf("want unknown for an unknown number of pods, got %+v", got)
	}
	if !l.Devices[0].OwnEngine.Known() {
		t.Error("the original was changed")
	}
}

// Power of slices: by their size, and together never more than the card, whatever the profiles claim.
func TestPowerOfSlices(t *testing.T) {
	for profile, want := range map[string]float64{"1g.10gb": 100, "3g.40gb": 300, "7g.80gb": 700, "1c.3g.40gb": 300,
		"1g.10gb+me": 100} {
		clock := newClock()
		f := newFake(t, clock.Now)
		f.scrape(rows(`UUID="GPU-aaaa",GPU_I_ID="9",modelName="NVIDIA H100",GPU_I_PROFILE="`+profile+`"`+nb0, usedName, 1,
			wattName, 700), true)
		p := newPoller(t, f.URL, clock)
		if err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := p.Live("tenant-a", "nb-0").Devices[0].OwnPower
		if want != 700 && got.Source != Apportioned || got.Value < want-1e-9 || got.Value > want+1e-9 {
			t.Errorf("%s: want %v W apportioned, got %+v", profile, want, got)
		}
	}
}

// TestWhoHasLeftIsNoHolder: a Prometheus that was away goes on telling of the pod that was on a slice before. The slice
// is its new pod's alone; free, it is nobody's.
func TestWhoHasLeftIsNoHolder(t *testing.T) {
	now := newClock().Now()
	slice := labels{{"UUID", "GPU-1"}, {"GPU_I_ID", "3"}, {"GPU_I_PROFILE", "1g.10gb"}, {"modelName", "NVIDIA H100"}}
	of := func(pod string) labels {
		l := slices.Clone(slice)
		if pod != "" {
			l = append(l, labels{{"namespace", "red"}, {"pod", pod}}...)
		}
		return l
	}
	for name, c := range map[string]struct {
		next    string
		ago     time.Duration
		holders int
	}{
		"another pod has it now":       {"new", 3 * time.Minute, 1},
		"nobody has it now":            {"", 3 * time.Minute, 0},
		"two scrapes, not at one time": {"new", time.Minute, 2},
	} {
		s := newSampleSet(DefaultLabels(), now, 10*time.Minute)
		tell := func(pod string, ago time.Duration, engine float64) {
			s.describe(series{of(pod), []sample{{now, float64(now.Add(-ago).Unix())}}})
			s.put(series{append(of(pod), labels{{"__name__", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"}}...), []sample{{now, engine}}})
		}
		tell("old", c.ago, 0.9)
		tell(c.next, 5*time.Second, 0.1)
		s.close(now, NodeIndex{})
		d := s.devices[deviceKey{"GPU-1", "3"}]
		if len(d.pods) != c.holders {
			t.Errorf("%s: want %d pods on it, got %d", name, c.holders, len(d.pods))
		}
		if got := s.live(podKey{"red", "old"}).Devices; c.holders < 2 && len(got) > 0 {
			t.Errorf("%s: want nothing of the pod that left, got %+v", name, got)
		}
		if got := s.live(podKey{"red", "new"}).Devices; c.holders == 1 &&
			(len(got) != 1 || got[0].OwnEngine.Source != Measured || got[0].OwnEngine.Value != 10) {
			t.Errorf("%s: want its own 10 %% measured, got %+v", name, got)
		}
	}
}

// TestAnythingKeepsTheLaws builds worlds at random: parts never exceed the card, and what is no value never becomes a
// number.
func TestAnythingKeepsTheLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	now := newClock().Now()
	names := append(namesOf(func(kind, metric) bool { return true }), "something_else")
	for range 2000 {
		s, h := newSampleSet(DefaultLabels(), now, time.Minute), newHealthSampleSet(DefaultLabels(), time.Hour)
		for range r.IntN(40) {
			l := labels{{"UUID", pick("GPU-1", "GPU-2", "")}, {"GPU_I_ID", pick("", "", "1", "2", "x")},
				{"GPU_I_PROFILE", pick("", "1g.5gb", "7g.40gb", "3g", "?g")},
				{"modelName", pick("NVIDIA A30", "NVIDIA H100", "NVIDIA A40-12Q")},
				{"namespace", pick("", "a", "b")}, {"pod", pick("", "p", "q", "nvidia-dcgm-exporter-1")},
				{"exported_namespace", pick("", "", "a")}, {"exported_pod", pick("", "", "p", "z")},
				{"__name__", names[r.IntN(len(names))]}, {"xid", pick("", "31", "x")}}
			v := []float64{0, 1, 0.5, 50, 1e6, -1, 9223372036854775794, 2147483632, 140737488355328}[r.IntN(9)]
			row := series{l, []sample{{now, v}}}
			s.describe(series{l, []sample{{now, float64(now.Unix() - int64(r.IntN(90)))}}})
			s.put(row)
			h.put(row)
		}
		checkShot(t, s.close(now, NodeIndex{}), h)
	}
}

func TestWarningsOfThanosAreTold(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.answerInstead(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		_,
			_ = io.WriteString(w,
			`{"status":"success","warnings":["store 10.0.0.1 is away"],"data":{"resultType":"vector","result":[]}}`)
		return true
	})
	p := newPoller(t, f.URL, clock)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(p.Report().Findings, func(x Finding) bool {
		return x.ID == "warnings" &&
			x.What.Args["Words"] == "store 10.0.0.1 is away"
	}) {
		t.Errorf("want the warning told, got %+v", p.Report().Findings)
	}
}

// TestWrongTypeAndTooManyRows: a scalar is no vector, and an answer is taken whole or not at all.
func TestWrongTypeAndTooManyRows(t *testing.T) {
	row := `{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","UUID":"G"},"value":[1763715620,"1"]}`
	for name, body := range map[string]string{
		"a matrix": `{"status":"success","data":{"resultType":"matrix","result":[]}}`,
		"a scalar": `{"status":"success","data":{"resultType":"scalar","result":[1763715620,"1"]}}`,
		"too many rows": `{"status":"success","data":{"resultType":"vector","result":[` + strings.Repeat(row+",", 20) + row +
			`]}}`,
	} {
		clock := newClock()
		f := newFake(t, clock.Now)
		f.answerInstead(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
			return true
		})
		p := newPoller(t, f.URL, clock, func(c *Config) { c.MaxRows = 20 })
		if err := p.Poll(t.Context()); err == nil || len(p.Live("a", "b").Devices) > 0 || p.Status().OK {
			t.Errorf("%s: want it refused, got %v", name, err)
		}
	}
}

// TestParamsAndHeadersAreSent: the tenancy port of OpenShift's querier wants a namespace with each call, Mimir a
// header.
func TestParamsAndHeadersAreSent(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	seen := 0
	f.answerInstead(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.FormValue("namespace") == "nvidia-gpu-operator" && r.Header.Get("X-Scope-OrgID") == "gpu" {
			seen++
		}
		return false
	})
	p := newPoller(t, f.URL, clock, func(c *Config) {
		c.Params, c.Header = map[string][]string{"namespace": {"nvidia-gpu-operator"}}, http.Header{"X-Scope-Orgid": {"gpu"}}
	})
	// devices, values, health, and for want of any card the names of the fields
	if err := p.Poll(t.Context()); err != nil || seen != 4 {
		t.Errorf("want both with each of 4 calls, got %d, %v", seen, err)
	}
}
