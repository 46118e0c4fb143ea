package offer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// ChangeKind is what became of an entry between two catalogs.
type ChangeKind string

// The kinds of change.
const (
	Added   ChangeKind = "added"
	Removed ChangeKind = "removed"
	Changed ChangeKind = "changed"
)

// EntryChange is one entry that differs between two catalogs.
type EntryChange struct {
	List   string // "sizes", "images", "technologies"
	Name   string
	Title  string
	Kind   ChangeKind
	Fields []FieldChange // of a changed one, by path
}

// FieldChange is one value that differs; "" where there was or is none.
type FieldChange struct{ Path, Old, New string }

// Compare tells what differs between two catalogs, entry by entry: sizes, then images, then technologies.
func Compare(old, new catalog.Catalog) []EntryChange {
	return slices.Concat(
		compare("sizes", old.Sizes, new.Sizes, func(s catalog.Size) (string, string) { return s.Name, s.Title }),
		compare("images", old.Images, new.Images, func(i catalog.Image) (string, string) { return i.Name, i.Title }),
		compare("technologies", old.Technologies, new.Technologies, func(t catalog.TechnologyRule) (string, string) {
			return string(t.Name), t.Title
		}))
}

func compare[T any](list string, old, new []T, called func(T) (name, title string)) []EntryChange {
	before := map[string]map[string]string{}
	for _, e := range old {
		name, _ := called(e)
		before[name] = flat(e)
	}
	var changes []EntryChange
	kept := map[string]bool{}
	for _, e := range new {
		name, title := called(e)
		kept[name] = true
		was, known := before[name]
		c := EntryChange{List: list, Name: name, Title: title, Kind: Added}
		if known {
			c.Kind, c.Fields = Changed, fieldsBetween(was, flat(e))
		}
		if !known || len(c.Fields) > 0 {
			changes = append(changes, c)
		}
	}
	for _, e := range old {
		if name, title := called(e); !kept[name] {
			changes = append(changes, EntryChange{List: list, Name: name, Title: title, Kind: Removed})
		}
	}
	return changes
}

func fieldsBetween(old, new map[string]string) []FieldChange {
	paths := map[string]bool{}
	for p := range old {
		paths[p] = true
	}
	for p := range new {
		paths[p] = true
	}
	var fields []FieldChange
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if old[p] != new[p] {
			fields = append(fields, FieldChange{Path: p, Old: old[p], New: new[p]})
		}
	}
	return fields
}

// flat is an entry as its values by path.
func flat(entry any) map[string]string {
	values := map[string]string{}
	data, err := json.Marshal(entry)
	var tree any
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	if err == nil {
		flatten(values, "", tree)
	}
	return values
}

func flatten(into map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			at := key
			if path != "" {
				at = path + "." + key
			}
			flatten(into, at, item)
		}
	case []any:
		for i, item := range v {
			flatten(into, fmt.Sprintf("%s[%d]", path, i), item)
		}
	case nil:
	default:
		into[path] = fmt.Sprint(v)
	}
}

// Line is one line of a difference between two texts. Op is "+", "-" or " " for one that both have; "…" stands for
// lines left out.
type Line struct {
	Op       string
	Old, New int // numbers from 1, 0 where the text has no such line
	Text     string
}

// around is how many equal lines stand beside a difference.
const around = 3

// largest bounds the table that the longest common part is found with; beyond it everything between the first and last
// difference counts as replaced.
const largest = 4_000_000

// Lines is the difference between two texts, with a few equal lines around each change. Equal texts give none.
func Lines(old, new string) []Line {
	a, b := strings.Split(strings.TrimSuffix(old, "\n"), "\n"), strings.Split(strings.TrimSuffix(new, "\n"), "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return nil
	}
	var all []Line
	same := func(i, j int) { all = append(all, Line{" ", i + 1, j + 1, a[i]}) }
	for i := range head {
		same(i, i)
	}
	all = append(all, between(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := tail; i > 0; i-- {
		same(len(a)-i, len(b)-i)
	}
	return shorten(all)
}

// between is the difference by the longest common part; offset is the number of lines before it.
func between(a, b []string, offset int) []Line {
	common := func(i, j int) int { return 0 }
	if len(a)*len(b) <= largest {
		table := make([]int32, (len(a)+1)*(len(b)+1))
		at := func(i, j int) *int32 { return &table[i*(len(b)+1)+j] }
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
				if a[i] == b[j] {
					*at(i, j) = *at(i+1, j+1) + 1
				}
			}
		}
		common = func(i, j int) int { return int(*at(i, j)) }
	}
	var lines []Line
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j] && common(i, j) > 0:
			lines = append(lines, Line{" ", offset + i + 1, offset + j + 1, a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common(i+1, j) >= common(i, j+1)):
			lines = append(lines, Line{Op: "-", Old: offset + i + 1, Text: a[i]})
			i++
		default:
			lines = append(lines, Line{Op: "+", New: offset + j + 1, Text: b[j]})
			j++
		}
	}
	return lines
}

// shorten leaves out equal lines that are far from a difference.
func shorten(all []Line) []Line {
	near := make([]bool, len(all))
	for i, l := range all {
		if l.Op != " " {
			for j := max(0, i-around); j < min(len(all), i+around+1); j++ {
				near[j] = true
			}
		}
	}
	var kept []Line
	for i, l := range all {
		switch {
		case near[i]:
			kept = append(kept, l)
		case len(kept) == 0 || kept[len(kept)-1].Op != "…":
			kept = append(kept, Line{Op: "…"})
		}
	}
	return kept
}
