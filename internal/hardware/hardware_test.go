package hardware

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// proof reads one of the tables of facts about hardware; each names its sources.
func proof(t *testing.T, name string, into any) {
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
				Name       string `json:"name"`
				Slices     int    `json:"compute_slices"`
				Max        int    `json:"max_instances"`
				Placements struct {
					Starts []int `json:"starts"`
					Size   int   `json:"size"`
				} `json:"placements"`
			} `json:"profiles"`
		} `json:"gpus"`
	}
	proof(t, "mig.json", &mig)
	proven := map[string]bool{"1g.8gbH100": true} // the H100 with 64 GB, which the facts leave out
	for _, gpu := range mig.GPUs {
		var names []string
		placed := map[string]Profile{}
		for _, p := range gpu.Profiles {
			names = append(names, p.Name)
			placed[p.Name] = Profile{p.Name, p.Slices, p.Placements.Size, p.Placements.Starts, p.Max}
		}
		want := sortedWords(strings.Join(names, " "))
		id := strings.ToUpper(gpu.ID)
		exact, known := CardsOf(id)
		if !known || len(exact) != 1 {
			t.Errorf("%s: want one card, got %v", gpu.ID, exact)
			continue
		}
		if diff := cmp.Diff(want, sortedWords(strings.Join(exact[0].ProfileNames(), " "))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", gpu.ID, diff)
		}
		for _, p := range exact[0].Profiles {
			if diff := cmp.Diff(placed[p.Name], p); diff != "" {
				t.Errorf("%s (-want +got):\n%s", gpu.ID, diff)
			}
		}
		proven[exact[0].ProfileNames()[0]+exact[0].Names[0]] = true
		for _, product := range gpu.Products {
			cards, known := CardsOf(product.GFD)
			for _, name := range names {
				if known && !slices.ContainsFunc(cards, func(c Card) bool { return c.Has(name) }) {
					t.Errorf("%s is refused its slice %s", product.GFD, name)
				}
			}
			if !known && product.GFD != "" && !strings.Contains(product.GFD, "PG506") { // an unnamed board
				t.Errorf("%s is in no row", product.GFD)
			}
		}
	}
	for _, c := range Cards() {
		if !proven[c.ProfileNames()[0]+c.Names[0]] {
			t.Errorf("%v with %v GB is in no fact", c.Names, c.GB)
		}
	}
}

// A slice of one card is not one of another: of each two cards, what only one has is refused for the other.
func TestSlicesTellCardsApart(t *testing.T) {
	for _, c := range Cards() {
		for _, other := range Cards() {
			for _, profile := range other.ProfileNames() {
				listed := slices.Contains(c.ProfileNames(), profile)
				_, gb, _ := profileParts(profile)
				if gb <= 12 && c.Has(profile) != listed {
					t.Errorf("%v %v: has(%s) is %v", c.Names, c.GB, profile, !listed)
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
	proof(t, "vgpu-types.json", &vgpu)
	want, got := map[string][]string{}, map[string][]string{}
	for _, v := range vgpu.Types {
		want[v.Board] = append(want[v.Board], strings.TrimPrefix(v.Type, v.Board+"-"))
		if is, ok := ParseListedVGPU(v.Type); !ok || is.Board != v.Board {
			t.Errorf("%s is not read as a type of %s", v.Type, v.Board)
		}
		if v.MIGSlices == nil && OwnSlice(v.Type) {
			t.Errorf("%s has no slice of its own", v.Type)
		}
	}
	for board := range vgpu.Boards {
		types, known := TypesOf(board)
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
	proof(t, "gpus.json", &all)
	for _, gpu := range all.GPUs {
		if gpu.Vendor != "nvidia" || gpu.MIG == nil {
			continue
		}
		_, cuttable := CardsOf(gpu.GFD)
		if cuttable != gpu.MIG.Supported || (Uncut(gpu.GFD) == "") != gpu.MIG.Supported {
			t.Errorf("%s: want MIG=%v, got a row %v, cannot be cut: %q", gpu.GFD, gpu.MIG.Supported, cuttable,
				Uncut(gpu.GFD))
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
			cards, _ := CardsOf(c.name)
			var got []float64
			for _, card := range cards {
				got = append(got, card.GB)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEveryPartHasASource: and nothing is told without one.
func TestEveryPartHasASource(t *testing.T) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		t.Fatal(err)
	}
	for part := range parts {
		if part != "sources" && Sources()[part] == "" {
			t.Errorf("%s has no source", part)
		}
	}
	strict := json.NewDecoder(strings.NewReader(string(data)))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&table{}); err != nil {
		t.Error(err)
	}
}

// readers are the packages that know something of cards; they ask this one. gpumetrics is told names by exporters.
var readers = []string{"catalog", "capacity", "inventory", "gpumetrics", "web/blocks"}

// TestThereIsNoSecondTable: no package that reads this table names a MIG profile, a vGPU type or a board by itself.
func TestThereIsNoSecondTable(t *testing.T) {
	profile := regexp.MustCompile(`\b[1-7]g\.[0-9]+gb\b`)
	boards := map[string]bool{}
	for _, row := range facts().Boards {
		for _, b := range row.Boards {
			boards[b] = b != "DC"
		}
	}
	pages, err := filepath.Glob("../web/*/pages.go") // of cards they know what blocks tells them
	if err != nil || len(pages) == 0 {
		t.Fatalf("no areas of pages: %v", err)
	}
	packages := slices.Clone(readers)
	for _, file := range pages {
		packages = append(packages, "web/"+filepath.Base(filepath.Dir(file)))
	}
	for _, name := range packages {
		asks := false
		for _, file := range goFiles(t, filepath.Join("..", name)) {
			ast.Inspect(file, func(n ast.Node) bool {
				spec, is := n.(*ast.ImportSpec)
				asks = asks || is && strings.HasSuffix(spec.Path.Value, `/internal/hardware"`)
				text, is := n.(*ast.BasicLit)
				if !is || text.Kind != token.STRING {
					return true
				}
				for _, word := range strings.FieldsFunc(text.Value, func(r rune) bool { return strings.ContainsRune(" ,\"`", r) }) {
					board, _, _ := strings.Cut(word, "-")
					if profile.MatchString(word) || boards[word] || boards[board] && word != board {
						if !examples[word] {
							t.Errorf("%s names %s by itself", name, word)
						}
					}
				}
				return true
			})
		}
		if !asks && slices.Contains(readers, name) {
			t.Errorf("%s does not ask for hardware", name)
		}
	}
}

// examples stand in sentences for people.
var examples = map[string]bool{"1g.10gb": true, "1g.10gb+me": true, "A40-12Q": true,
	"L40S-24Q": true, "H100-1-10C": true}

func goFiles(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// TestTheDevstackCutsCardsLikeThis: the development stack is a module of its own with a table of the cards that it
// simulates; what that says of their slices is what this table says.
func TestTheDevstackCutsCardsLikeThis(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "e2e", "devstack", "internal", "nodes",
		"model.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	lists, checked := map[string][]int{}, 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 {
			return true
		}
		if list, is := spec.Values[0].(*ast.CompositeLit); is {
			lists[spec.Names[0].Name] = numbers(list)
			return false
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		model, is := n.(*ast.CompositeLit)
		if !is || field(model, "Profiles") == nil {
			return true
		}
		name := textOf(field(model, "Name"))
		cards, known := CardsOf(name)
		if !known {
			t.Errorf("%s is in no row", name)
			return false
		}
		for _, e := range field(model, "Profiles").(*ast.CompositeLit).Elts {
			p := e.(*ast.CompositeLit)
			starts, named := field(p, "Starts").(*ast.Ident)
			if !named {
				t.Errorf("%s: want the starts of %s by a name", name, textOf(field(p, "Name")))
				continue
			}
			got := Profile{Name: textOf(field(p, "Name")), Slices: number(field(p, "Slices")), Size: number(field(p, "Size")),
				Starts: lists[starts.Name], Max: number(field(p, "Max"))}
			if !slices.ContainsFunc(cards, func(c Card) bool {
				return slices.ContainsFunc(c.Profiles, func(p Profile) bool { return cmp.Equal(p, got) })
			}) {
				t.Errorf("%s of the devstack has %+v, which the table does not say", name, got)
			}
			checked++
		}
		return false
	})
	if checked < 14 {
		t.Errorf("only %d profiles were found in the devstack", checked)
	}
}

func field(of *ast.CompositeLit, name string) ast.Expr {
	for _, e := range of.Elts {
		if pair, is := e.(*ast.KeyValueExpr); is {
			if key, is := pair.Key.(*ast.Ident); is && key.Name == name {
				return pair.Value
			}
		}
	}
	return nil
}

func textOf(e ast.Expr) string {
	if lit, is := e.(*ast.BasicLit); is {
		text, _ := strconv.Unquote(lit.Value)
		return text
	}
	return ""
}

func number(e ast.Expr) int {
	lit, is := e.(*ast.BasicLit)
	if !is {
		return -1
	}
	n, _ := strconv.Atoi(lit.Value)
	return n
}

func numbers(list *ast.CompositeLit) (out []int) {
	for _, e := range list.Elts {
		out = append(out, number(e))
	}
	return out
}

func TestNamesOfProfiles(t *testing.T) {
	for spelled, want := range map[string]struct {
		name   string
		slices int
	}{"1g.10gb": {"1g.10gb", 1}, "1g.10gb.me": {"1g.10gb+me", 1}, "7g.80gb": {"7g.80gb", 7}, "1c.3g.20gb": {"", 3},
		"whole": {"", 0}} {
		name, ok := ParseResourceProfile(spelled)
		if ok != (want.name != "") || ok && name.String() != want.name || ComputeSlices(spelled) != want.slices {
			t.Errorf("%s: want %+v, got %q and %d", spelled, want, name, ComputeSlices(spelled))
		}
	}
	if gb := MemoryOf("gaudi3"); gb != 128 {
		t.Errorf("want 128 GB of a Gaudi 3, got %g", gb)
	}
}
