package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// facts reads one of the tables of facts about hardware; each names its sources.
func facts(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func sortedWords(text string) []string {
	words := strings.Fields(text)
	slices.Sort(words)
	return words
}

// Every card of the facts has exactly the slices that the table says, by its title and by each of its product labels.
func TestSlicesAgreeWithTheFacts(t *testing.T) {
	var mig struct {
		GPUs []struct {
			ID       string  `json:"id"`
			MemoryGB float64 `json:"memory_gb"`
			Products []struct {
				GFD string `json:"gfd_product"`
			} `json:"products"`
			Profiles []struct {
				Name string `json:"name"`
			} `json:"profiles"`
		} `json:"gpus"`
	}
	facts(t, "mig.json", &mig)
	proven := map[string]bool{"1g.8gbH100": true} // the H100 with 64 GB, which the facts leave out
	for _, gpu := range mig.GPUs {
		var names []string
		for _, p := range gpu.Profiles {
			names = append(names, p.Name)
		}
		want := sortedWords(strings.Join(names, " "))
		id := strings.ToUpper(gpu.ID)
		exact, known := cardsOf(id)
		if !known || len(exact) != 1 {
			t.Errorf("%s: want one card, got %v", gpu.ID, exact)
			continue
		}
		if diff := cmp.Diff(want, sortedWords(exact[0].profiles)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", gpu.ID, diff)
		}
		proven[strings.Fields(exact[0].profiles)[0]+exact[0].names[0]] = true
		for _, product := range gpu.Products {
			cards, known := cardsOf(product.GFD)
			for _, name := range names {
				if known && !slices.ContainsFunc(cards, func(c migCard) bool { return c.has(name) }) {
					t.Errorf("%s is refused its slice %s", product.GFD, name)
				}
			}
			if !known && product.GFD != "" && !strings.Contains(product.GFD, "PG506") { // an unnamed board
				t.Errorf("%s is in no row", product.GFD)
			}
		}
	}
	for _, c := range migCards {
		if !proven[strings.Fields(c.profiles)[0]+c.names[0]] {
			t.Errorf("%v with %v GB is in no fact", c.names, c.gb)
		}
	}
}

// A slice of one card is not one of another: of each two cards, what only one has is refused for the other.
func TestSlicesTellCardsApart(t *testing.T) {
	for _, c := range migCards {
		for _, other := range migCards {
			for _, profile := range strings.Fields(other.profiles) {
				listed := slices.Contains(strings.Fields(c.profiles), profile)
				_, gb, _ := profileParts(profile)
				if gb <= 12 && c.has(profile) != listed {
					t.Errorf("%v %v: has(%s) is %v", c.names, c.gb, profile, !listed)
				}
			}
		}
	}
}

func TestVGPUTypesAgreeWithTheFacts(t *testing.T) {
	var vgpu struct {
		Boards map[string]string `json:"boards"`
		Types  []struct {
			Type, Board string
			MIGSlices   *int `json:"mig_slices"`
			MaxPerGPU   int  `json:"max_per_gpu"`
		} `json:"types"`
	}
	facts(t, "vgpu-types.json", &vgpu)
	want, got := map[string][]string{}, map[string][]string{}
	for _, v := range vgpu.Types {
		want[v.Board] = append(want[v.Board], strings.TrimPrefix(v.Type, v.Board+"-"))
		if m := vgpuType.FindStringSubmatch(v.Type); m == nil || m[1] != v.Board {
			t.Errorf("%s is not read as a type of %s", v.Type, v.Board)
		}
		if v.MIGSlices == nil && ownSlice(v.Type) {
			t.Errorf("%s has no slice of its own", v.Type)
		}
	}
	for board := range vgpu.Boards {
		types, known := typesOf(board)
		if !known {
			t.Errorf("%s is in no row", board)
		}
		got[board] = types
		slices.Sort(want[board])
		slices.Sort(got[board])
		if card := vgpu.Boards[board]; !holds(wordsOf(card), wordsOf(cardOf(board))) {
			t.Errorf("%s: %q is not how %q begins", board, cardOf(board), card)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whether a card can be cut at all.
func TestCardsThatCannotBeCut(t *testing.T) {
	var all struct {
		GPUs []struct {
			ID, Vendor string
			GFD        string `json:"gfd_product"`
			MIG        *struct{ Supported bool }
		} `json:"gpus"`
	}
	facts(t, "gpus.json", &all)
	for _, gpu := range all.GPUs {
		if gpu.Vendor != "nvidia" || gpu.MIG == nil {
			continue
		}
		_, cuttable := cardsOf(gpu.GFD)
		if cuttable != gpu.MIG.Supported || (uncutCard(gpu.GFD) == "") != gpu.MIG.Supported {
			t.Errorf("%s: want MIG=%v, got a row %v, cannot be cut: %q", gpu.GFD, gpu.MIG.Supported, cuttable,
				uncutCard(gpu.GFD))
		}
	}
}

func TestCardsAreFoundByTheirNames(t *testing.T) {
	cases := map[string]struct {
		name string
		want []float64 // memory of the cards found
	}{
		"as people say it":     {"H100 80GB", []float64{80}},
		"chip alone":           {"A100", []float64{40, 80}},
		"memory with a blank":  {"NVIDIA A100 40 GB", []float64{40}},
		"product label":        {"NVIDIA-A100-SXM4-80GB", []float64{80}},
		"memory of the box":    {"NVIDIA-GH200-480GB", []float64{96, 144}},
		"memory of the advert": {"B200 192GB", []float64{180}},
		"not the other chip":   {"H200", []float64{141}},
		"words of several":     {"RTX PRO 6000 Blackwell", []float64{96}},
		"another RTX 6000":     {"RTX 6000 Ada", nil},
		"unheard of":           {"Something 9000", nil},
		"nothing":              {"", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cards, _ := cardsOf(c.name)
			var got []float64
			for _, card := range cards {
				got = append(got, card.gb)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
