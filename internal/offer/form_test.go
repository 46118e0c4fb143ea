package offer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
)

func formFor(t *testing.T, text string, list List, name string) Form {
	t.Helper()
	item, err := itemOf(text, list, name)
	if err != nil {
		t.Fatal(err)
	}
	return Form{List: list, Name: name, Values: valuesOf(list, item)}
}

// Every entry of the first set, and of one that has all technologies: a form that is sent as it came changes nothing.
func TestAFormThatIsSentAsItCameChangesNothing(t *testing.T) {
	t.Parallel()
	text := string(catalog.DefaultYAML())
	for _, s := range catalog.Default().Sizes {
		unchanged(t, text, Sizes, s.Name)
	}
	for _, i := range catalog.Default().Images {
		unchanged(t, text, Images, i.Name)
	}
}

func unchanged(t *testing.T, text string, list List, name string) {
	t.Helper()
	f := formFor(t, text, list, name)
	for _, field := range FormFields(list) { // browsers send empty fields as well
		f.Values[field.Path] = strings.ReplaceAll(f.Values[field.Path], "\n", "\r\n")
	}
	if got, err := f.apply(text, "EUR"); err != nil || got != text {
		t.Errorf("%s: %v %s", name, err, cmp.Diff(text, got))
	}
}

func TestAFormChangesItsFieldsAndNoOthers(t *testing.T) {
	t.Parallel()
	text := string(catalog.DefaultYAML())
	for sentence, c := range map[string]struct {
		list       List
		name, path string
		value      string
		want       func(now, was catalog.Catalog) bool
		lines      int // that differ; 0: the text is written anew
	}{
		"a price": {Sizes, "mig-1g.10gb", "pricePerHour", "0,6", func(now, _ catalog.Catalog) bool {
			s, _ := now.Size("mig-1g.10gb")
			return s.PricePerHour.Minor == 60 && s.PricePerHour.Currency == "EUR"
		}, 1},
		"one value of several on a line": {Sizes, "h100", "accelerator.memoryGiB", "94", func(now, was catalog.Catalog) bool {
			s, _ := now.Size("h100")
			b, _ := was.Size("h100")
			b.Accelerator.MemoryGiB = 94
			return cmp.Equal(s, b)
		}, 1},
		"a quantity stays a text": {Sizes, "cpu", "cpu", "3", func(now, _ catalog.Catalog) bool {
			s, _ := now.Size("cpu")
			return s.CPU == "3"
		}, 1},
		"what was not there is added": {Sizes, "cpu", "tenants", "vision, speech", func(now, _ catalog.Catalog) bool {
			s, _ := now.Size("cpu")
			return cmp.Equal(s.Tenants, []string{"vision", "speech"})
		}, 1},
		"a language is taken away": {Sizes, "cpu", "titles.de", "", func(now, _ catalog.Catalog) bool {
			s, _ := now.Size("cpu")
			return s.Titles["de"] == "" && s.Titles["zh"] != ""
		}, 1},
		"a value that others stand for keeps theirs": {Sizes, "mig-1g.10gb", "placement.nodeSelector", "a=b",
			func(now, was catalog.Catalog) bool {
				s, _ := now.Size("mig-1g.10gb")
				other, _ := now.Size("mig-3g.40gb")
				before, _ := was.Size("mig-3g.40gb")
				return cmp.Equal(s.Placement.NodeSelector, map[string]string{"a": "b"}) &&
					len(s.Placement.Tolerations) == 1 && cmp.Equal(other, before)
			}, 0},
		"a value that stands for another's is its own": {Sizes, "mig-3g.40gb", "placement.nodeSelector", "a=b",
			func(now, was catalog.Catalog) bool {
				s, _ := now.Size("mig-3g.40gb")
				other, _ := now.Size("mig-1g.10gb")
				before, _ := was.Size("mig-1g.10gb")
				return cmp.Equal(s.Placement.NodeSelector, map[string]string{"a": "b"}) && cmp.Equal(other, before)
			}, 4},
		"arguments of an image": {Images, "vllm", "args", "--model={model}\n--served-model-name=a b", func(now,
			_ catalog.Catalog) bool {
			i, _ := now.Image("vllm")
			return cmp.Equal(i.Args, []string{"--model={model}", "--served-model-name=a b"})
		}, 3},
		"ports of an image": {Images, "jupyterlab", "ports", "tensorboard=6006\ngrpc = 8001",
			func(now, _ catalog.Catalog) bool {
				i, _ := now.Image("jupyterlab")
				return cmp.Equal(i.Ports, map[string]int32{"tensorboard": 6006, "grpc": 8001})
			}, 3},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			f := formFor(t, text, c.list, c.name)
			f.Values[c.path] = c.value
			got, err := f.apply(text, "EUR")
			if err != nil {
				t.Fatal(err)
			}
			now, problems := catalog.Parse([]byte(got), catalog.DefaultPools()...)
			if len(problems) > 0 || !c.want(now, catalog.Default()) {
				t.Errorf("%v\n%s", problems, cmp.Diff(text, got))
			}
			if changes := Compare(catalog.Default(), now); len(changes) != 1 || changes[0].Name != c.name {
				t.Errorf("want one entry changed, got %v", changes)
			}
			if c.lines == 0 {
				return
			}
			added := 0
			for _, l := range Lines(text, got) {
				if l.Op == "+" {
					added++
				}
			}
			if added > c.lines {
				t.Errorf("want %d lines changed, got %d: %s", c.lines, added, cmp.Diff(text, got))
			}
		})
	}
}

func TestANewEntryBeginsAsAnother(t *testing.T) {
	t.Parallel()
	text := string(catalog.DefaultYAML())
	f := formFor(t, text, Sizes, "mig-1g.10gb")
	f.Name, f.New, f.Like, f.Values["title"] = "mig-small", true, "mig-1g.10gb", "A small slice"
	got, err := f.apply(text, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	now, problems := catalog.Parse([]byte(got), catalog.DefaultPools()...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s, like := now.Sizes[len(now.Sizes)-1], catalog.Default().Sizes[1]
	like.Name, like.Title, like.Order = "mig-small", "A small slice", s.Order
	if !cmp.Equal(s, like) || s.Order <= 60 {
		t.Error(cmp.Diff(like, s))
	}
	if !strings.HasPrefix(got, text[:strings.Index(text, "\n# The digests")]) {
		t.Error("what stands before it moved")
	}
	f.Name = "h100"
	if _, err := f.apply(text, "EUR"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a name that is taken: %v", err)
	}
	blank := Form{List: Sizes, Name: "bare", New: true, Values: map[string]string{"title": "Bare", "technology": "cpu",
		"isolation": "none", "cpu": "1", "memory": "2Gi", "pricePerHour": "0.01", "defaultLease": "1h", "maxLease": "2h"}}
	if got, err = blank.apply(text, "EUR"); err != nil {
		t.Fatal(err)
	}
	if _, problems := catalog.Parse([]byte(got), catalog.DefaultPools()...); len(problems) > 0 {
		t.Errorf("%v", problems)
	}
}

// What is wrong stands beside its field; what is wrong elsewhere does not hide.
func TestProblemsFindTheirFields(t *testing.T) {
	t.Parallel()
	text := string(catalog.DefaultYAML())
	f := formFor(t, text, Sizes, "h100")
	for path, value := range map[string]string{"cpu": "lots", "accelerator.count": "two", "tenants": "Not A Label",
		"maxLease": "1h"} {
		f.Values[path] = value
	}
	got, err := f.apply(text, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	_, problems := catalog.Parse([]byte(strings.Replace(got, "kind: endpoint", "kind: oven", 1)),
		catalog.DefaultPools()...)
	fields, rest := f.Problems(got, problems)
	var names []string
	for _, p := range fields {
		names = append(names, p.Name)
	}
	for _, want := range []string{"cpu", "accelerator.count"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("%s has no problem: %v", want, fields)
		}
	}
	for _, p := range rest {
		if strings.HasPrefix(p.Path, "sizes[") {
			t.Errorf("%s stands beside no field", p.Path)
		}
	}
	for path, value := range map[string]string{"pricePerHour": "much", "placement.nodeSelector": "alone"} {
		f := formFor(t, text, Sizes, "h100")
		f.Values[path] = value
		if _, err := f.apply(text, "EUR"); !fault.Is(err, fault.Invalid) || fault.As(err).Fields[0].Name != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWhatOnlyTheTextHasIsNamed(t *testing.T) {
	t.Parallel()
	item, err := itemOf(string(catalog.DefaultYAML()), Sizes, "mig-3g.40gb")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"placement.tolerations"}, others(Sizes, item)); diff != "" {
		t.Error(diff)
	}
}
