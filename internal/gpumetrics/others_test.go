package gpumetrics

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCardsWithoutAPod: XPU Manager 2.x tells of no pod, so its cards are known by the node alone; a sensor that is no
// card's is none.
func TestCardsWithoutAPod(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(recorded(t, "intel-2.prom"), true)
	p := newPoller(t, f.URL, clock)
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string][]Reading{}
	for _, d := range p.samples.devices {
		if d.Node != "arc-01" || d.Model != "Intel(R) Arc(TM) Pro B60 Graphics" || d.Pods != 0 {
			t.Errorf("want a free card of arc-01, got %+v", d.Device)
		}
		live := p.samples.of(d, podKey{})
		got[d.UUID[21:23]] = []Reading{live.Engine, live.MemoryUsed, live.MemoryTotal, live.Power, live.Temperature}
	}
	want := map[string][]float64{"03": {50, 8192, 24480, 131.5, 66}, "05": {0, 0, 24480, -1, -1}}
	if len(got) != len(want) {
		t.Fatalf("want %d cards, got %v", len(want), got)
	}
	for card, values := range want {
		for i, r := range got[card] {
			if r.Known() != (values[i] >= 0) || r.Known() && r.Value != values[i] {
				t.Errorf("%s, reading %d: want %g, got %+v", card, i, values[i], r)
			}
		}
	}
}

// TestPartitionsAreOneCard: AMD's exporter gives each partition of a card its own gpu_uuid, or none; the card is known
// by its serial number, and its partitions by theirs.
func TestPartitionsAreOneCard(t *testing.T) {
	for sentence, uuid := range map[string]string{"no gpu_uuid": "", "one for each partition": "c3ff74a1-"} {
		text := recorded(t, "amd-partitions.prom")
		if uuid != "" {
			text = regexp.MustCompile(`gpu_id="(\d+)"`).ReplaceAllString(text, `$0,gpu_uuid="`+uuid+`$1"`)
		}
		clock := newClock()
		f := newFake(t, clock.Now)
		f.scrape(text, true)
		p := newPoller(t, f.URL, clock)
		if err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		nodes := p.Fleet().Nodes
		if len(nodes) != 1 || len(nodes[0].Cards) != 1 || len(nodes[0].Cards[0].Cells) != 3 {
			t.Errorf("%s: want one card with three partitions, got %+v", sentence, nodes)
		}
		one := p.Live("tenant-red", "llm-0").Devices
		if len(one) != 1 || one[0].Profile != "cpx_nps4" || one[0].Instance != "0" || !one[0].CardShared {
			t.Errorf("%s: want partition 0 of a card that others share, got %+v", sentence, one)
		}
	}
}

// TestOtherMakersCards: what AMD's, Gaudi's and Intel's exporters tell of a card is read in the units of the pages;
// what they do not tell is unknown, and no field of DCGM is missed on their cards.
func TestOtherMakersCards(t *testing.T) {
	type card struct {
		Node, Model                             string
		Engine, Used, Total, Power, Temperature float64 // -1: unknown
	}
	for file, c := range map[string]struct {
		namespace, pod string
		want           card
		cards          int
	}{
		"amd.prom": {"default", "high-utilization-57ls6", card{"tw038", "AMD Instinct MI300X OAM", 100, 185000, 196592, 731,
			78}, 2},
		"gaudi.prom": {"tenant-red", "llm-0", card{"", "", 83, 65536, 131072, 412, 55}, 1},
		"intel.prom": {"tenant-red", "sim-0", card{"max-01", "Intel(R) Data Center GPU Max 1100", 42, 12288, 49152, 212.5,
			61}, 1},
		// a partition of its own memory; the activity of the card says nothing of it, its power and heat are the card's
		"amd-partitions.prom": {"tenant-red", "llm-1", card{"tw009", "AMD Instinct MI300X OAM", -1, 11000, 24574, 640, 71},
			1},
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			clock := newClock()
			f := newFake(t, clock.Now)
			f.scrape(string(text), true)
			p := newPoller(t, f.URL, clock)
			if err := p.Poll(t.Context()); err != nil {
				t.Fatal(err)
			}
			number := func(r Reading) float64 {
				if !r.Known() {
					return -1
				}
				return r.Value
			}
			var got []card
			for _, d := range p.Live(c.namespace, c.pod).Devices {
				got = append(got, card{d.Node, d.Model, number(d.Engine), number(d.MemoryUsed), number(d.MemoryTotal),
					number(d.Power), number(d.Temperature)})
			}
			if diff := cmp.Diff([]card{c.want}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			r := p.Report()
			if r.Cards != c.cards {
				t.Errorf("want %d cards, got %d", c.cards, r.Cards)
			}
			for _, one := range r.Findings {
				if one.ID != "shared" && one.Severity > Info {
					t.Errorf("want no complaint, got %s", one.ID)
				}
			}
			for _, one := range r.Health {
				if len(one.MissingErrors()) > 0 {
					t.Errorf("want no field of DCGM missed on %s", one.UUID)
				}
			}
		})
	}
}
