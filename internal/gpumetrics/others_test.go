package gpumetrics

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		"intel.prom": {"tenant-red", "sim-0", card{"max-01", "Intel(R) Data Center GPU Max 1100", 42, 12288, 49152, -1, -1},
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
