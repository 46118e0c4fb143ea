package gpumetrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const smallFleet = `
DCGM_FI_DEV_FB_USED{UUID="GPU-a",Hostname="n1",modelName="NVIDIA H100 80GB HBM3",GPU_I_ID="1",GPU_I_PROFILE="3g.40gb",namespace="red",pod="a"} 100
DCGM_FI_DEV_FB_USED{UUID="GPU-a",Hostname="n1",modelName="NVIDIA H100 80GB HBM3",GPU_I_ID="2",GPU_I_PROFILE="1g.10gb"} 0
DCGM_FI_DEV_FB_USED{UUID="GPU-b",Hostname="n1",modelName="NVIDIA H100 80GB HBM3",namespace="blue",pod="b"} 7
DCGM_FI_DEV_FB_USED{UUID="GPU-c",Hostname="n0",modelName="NVIDIA L4"} 7
DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID="GPU-a",Hostname="n1",modelName="NVIDIA H100 80GB HBM3",GPU_I_ID="1",GPU_I_PROFILE="3g.40gb",namespace="red",pod="a"} 0.5
DCGM_FI_PROF_GR_ENGINE_ACTIVE{UUID="GPU-b",Hostname="n1",modelName="NVIDIA H100 80GB HBM3",namespace="blue",pod="b"} 9223372036854775794
DCGM_FI_DEV_GPU_UTIL{UUID="GPU-c",Hostname="n0",modelName="NVIDIA L4"} 12
`

// sketch is a fleet in few words.
func sketch(f *Fleet) (out []string) {
	for _, n := range f.Nodes {
		for _, c := range n.Cards {
			for _, x := range c.Cells {
				use := "?"
				if x.Engine.Known() {
					use = fmt.Sprintf("%.0f", x.Engine.Value)
				}
				out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %.2f %s %v", n.Name, c.UUID, x.Profile, x.Part, use,
					x.Pods)))
			}
		}
	}
	return out
}

// TestFleetByNodeAndCard: slices stand in their card, a value that cannot be is unknown, and after long silence all is.
func TestFleetByNodeAndCard(t *testing.T) {
	c := newClock()
	f := newFake(t, c.Now)
	f.scrape(smallFleet, true)
	p := newPoller(t, f.URL, c)
	if p.Fleet() != nil {
		t.Error("want nothing before the first answer")
	}
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"n0 GPU-c  1.00 12 []", "n1 GPU-a 3g.40gb 0.43 50 [{red a}]", "n1 GPU-a 1g.10gb 0.14 ? []",
		"n1 GPU-b  1.00 ? [{blue b}]"}
	if diff := cmp.Diff(want, sketch(p.Fleet())); diff != "" {
		t.Error(diff)
	}
	if first, second := p.Fleet(), p.Fleet(); first != second {
		t.Error("want one value for all who look")
	}
	c.pass(16 * time.Minute)
	for _, line := range sketch(p.Fleet()) {
		if !strings.Contains(line, "?") {
			t.Errorf("want all unknown after long silence, got %q", line)
		}
	}
}

// TestQueriesDoNotGrowWithViewers: ten minutes with one viewer and with a thousand, who all look at everything, cost
// Prometheus the same.
func TestQueriesDoNotGrowWithViewers(t *testing.T) {
	asked := func(viewers int) int {
		c := newClock()
		f := newFake(t, c.Now)
		f.scrape(smallFleet, true)
		p := newPoller(t, f.URL, c)
		for range 120 {
			if p.due() {
				if err := p.Poll(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for range viewers {
				p.Live("red", "a")
				p.Fleet()
				p.LastHour("red", "a")
			}
			p.settle()
			c.pass(5 * time.Second)
		}
		return f.count()
	}
	one, many := asked(1), asked(1000)
	if one != many || one == 0 {
		t.Errorf("want as many queries for a thousand viewers as for one, %d, got %d", one, many)
	}
}

// settle waits for the calls that are under way.
func (p *Poller) settle() {
	p.history.mu.Lock()
	call := p.history.call
	p.history.mu.Unlock()
	if call != nil {
		<-call
	}
	p.ranges.settle()
}

func (a *queryCache[K, V]) settle() {
	a.mu.Lock()
	var calls []chan struct{}
	for _, k := range a.entries {
		if k.call != nil {
			calls = append(calls, k.call)
		}
	}
	a.mu.Unlock()
	for _, call := range calls {
		<-call
	}
}
