package offer

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

const (
	maxText = 512 << 10 // bytes; the fullest catalog that we know is a tenth of it
	maxNote = 200       // characters
)

// MaxText is how long a catalog may be, in bytes.
const MaxText = maxText

// Checked is what can be said of a text before it is kept.
type Checked struct {
	Text     string // as it would be kept
	Catalog  catalog.Catalog
	Problems []catalog.Problem // all of them, in the order of the text; with any of them the catalog is empty
	Removals []Removal         // what living workloads hold and the text no longer has
	Changes  []EntryChange     // to what counts now
	// Warnings are license pools that do not fit, in sizes that are on offer like this already.
	Warnings []catalog.Mismatch
}

// Removal is an entry that would go while somebody holds it. What runs goes on with what it froze.
type Removal struct {
	List  List
	Name  string
	Title any // in the language of whoever reads, as an argument of a Text; "" for none
	Count int // living workloads
}

// normal is the text with line feeds alone, as browsers do not send it, and one at the end.
func normal(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

func checkText(text string, pools []license.Pool, now catalog.Catalog, uses []Use) Checked {
	c := Checked{Text: normal(text)}
	switch {
	case len(c.Text) > maxText:
		c.Problems = []catalog.Problem{{Line: 1, Message: "the text is longer than 512 KiB"}}
	case !utf8.ValidString(c.Text) || strings.ContainsRune(c.Text, 0):
		c.Problems = []catalog.Problem{{Line: 1, Message: "the text is not UTF-8"}}
	default:
		var mismatches []catalog.Mismatch
		c.Catalog, mismatches, c.Problems = catalog.Read([]byte(c.Text), pools...)
		c.mismatched(mismatches, now.Mismatches(pools))
		if is, was := c.Catalog.Currency(), now.Currency(); is != was && is != "" && was != "" {
			c.Problems = append(c.Problems, catalog.Problem{Line: 1, Message: "prices are in " + is +
				", and the portal's currency is " + was + ": amounts of different currencies are never added"})
			c.Catalog = catalog.Catalog{}
		}
	}
	if len(c.Problems) == 0 {
		c.Removals, c.Changes = removals(c.Catalog, uses), Compare(now, c.Catalog)
	}
	return c
}

// mismatched refuses pools that do not license the vGPU of their size. A pair that counts already, from a configuration
// or a version before there was this check, is told and does not stand in the way of other changes.
func (c *Checked) mismatched(list, now []catalog.Mismatch) {
	for _, m := range list {
		if slices.ContainsFunc(now, m.Same) {
			c.Warnings = append(c.Warnings, m)
			continue
		}
		c.Problems = append(c.Problems, m.Problem())
		c.Catalog = catalog.Catalog{}
	}
}

// removals are held and not in the catalog.
func removals(c catalog.Catalog, uses []Use) []Removal {
	found := map[[2]string]*Removal{}
	gone := func(list List, name string, title any, count int) {
		key := [2]string{string(list), name}
		if found[key] == nil {
			found[key] = &Removal{List: list, Name: name, Title: title}
		}
		found[key].Count += count
	}
	for _, u := range uses {
		if _, ok := c.Size(u.Size.Name); !ok {
			gone(Sizes, u.Size.Name, u.Size.Called(), u.Count)
		}
		if _, ok := c.Image(u.Image.Name); !ok && !u.Image.OfTeam() && !u.Image.IsCustom() {
			gone(Images, u.Image.Name, u.Image.Called(), u.Count)
		}
	}
	var list []Removal
	for _, r := range found {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Removal) int {
		return cmp.Or(-cmp.Compare(a.List, b.List),
			cmp.Compare(a.Name, b.Name))
	})
	return list
}

// problemFields are the problems of a text as fields of a fault: the path, and a sentence with the line.
func problemFields(problems []catalog.Problem) []fault.Field {
	fields := make([]fault.Field, len(problems))
	for i, p := range problems {
		fields[i] = fault.Field{Name: cmp.Or(p.Path, "text"), Reason: i18n.T("offer.problem", "Line", p.Line, "Problem",
			p.Reason())}
	}
	return fields
}

func refused(problems []catalog.Problem) error {
	return &fault.Error{Kind: fault.Invalid, Sentence: i18n.T("offer.problems", "Count", len(problems)),
		Fields: problemFields(problems)}
}

func removes(list []Removal) error {
	f := &fault.Error{Kind: fault.Invalid, Sentence: i18n.T("offer.removes")}
	for _, r := range list {
		f.Fields = append(f.Fields, fault.Field{Name: "confirm", Reason: r.Sentence()})
	}
	return f
}

// Called is its title, or its name where it has none, as an argument of a Text.
func (r Removal) Called() any {
	if r.Title == any("") {
		return r.Name
	}
	return r.Title
}

// Sentence says what is removed and how many hold it.
func (r Removal) Sentence() i18n.Text {
	return i18n.T("offer.removed_in_use", "Name", r.Called(), "Count", r.Count)
}

// noteOf checks what a person typed about a change.
func noteOf(text string) (i18n.Text, error) {
	text = strings.TrimSpace(text)
	bad := func(reason i18n.Text) (i18n.Text, error) {
		return i18n.Text{}, fault.InvalidFields([]fault.Field{{Name: "note", Reason: reason}})
	}
	switch {
	case utf8.RuneCountInString(text) > maxNote:
		return bad(i18n.T("request.reason_too_long", "Most", maxNote))
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unseen):
		return bad(i18n.T("request.reason_characters"))
	}
	return i18n.Literal(text), nil
}

// unseen is a character that a person cannot see and that could make a text look like another.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

func text(u Use) string {
	data, _ := json.Marshal(u) // plain values
	return string(data)
}

// withInUse adds to a catalog what living workloads hold and it no longer has, and shows what is hidden: whoever keeps
// clusters in order must let go on what runs.
func withInUse(c catalog.Catalog, uses []Use) catalog.Catalog {
	all := catalog.Catalog{Technologies: c.Technologies, Sizes: slices.Clone(c.Sizes), Images: slices.Clone(c.Images)}
	uses = slices.Clone(uses) // of one name the same one is taken every time, in whatever order they were read
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count),
			cmp.Compare(text(a), text(b)))
	})
	for _, u := range uses {
		if _, ok := all.Size(u.Size.Name); !ok && u.Size.Name != "" {
			all.Sizes = append(all.Sizes, u.Size)
		}
		if _, ok := all.Image(u.Image.Name); !ok && u.Image.Name != "" {
			all.Images = append(all.Images, u.Image)
		}
	}
	// The order must not hang on that in which uses were read: what is made for a team is written anew when this differs.
	slices.SortFunc(all.Sizes[len(c.Sizes):], func(a, b catalog.Size) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(all.Images[len(c.Images):], func(a, b catalog.Image) int { return cmp.Compare(a.Name, b.Name) })
	for i := range all.Sizes {
		all.Sizes[i].Hidden = false
	}
	for i := range all.Images {
		all.Images[i].Hidden = false
	}
	return all
}
