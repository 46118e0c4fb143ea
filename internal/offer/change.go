package offer

import (
	"cmp"
	"encoding/hex"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// Action is a change of one entry that needs no editing of the text.
type Action string

// The actions.
const (
	Hide        Action = "hide"
	Show        Action = "show"
	Deprecate   Action = "deprecate"
	Undeprecate Action = "undeprecate"
	Up          Action = "up"
	Down        Action = "down"
)

// Change is an action on one entry.
type Change struct {
	Action    Action
	List      List
	Name      string
	Message   string // of a deprecation
	Successor string // of a deprecation; "" for none
}

// actions edit the text.
var actions = map[Action]func(c Change, text string, now catalog.Catalog) (string, error){
	Hide: func(c Change, text string, _ catalog.Catalog) (string, error) {
		return setField(text, c.List, c.Name, "hidden", scalar("!!bool", "true"))
	},
	Show: func(c Change, text string, _ catalog.Catalog) (string, error) {
		return setField(text, c.List, c.Name, "hidden", nil)
	},
	Deprecate: deprecate,
	Undeprecate: func(c Change, text string, _ catalog.Catalog) (string, error) {
		return setField(text, c.List, c.Name, "deprecated", nil)
	},
	Up:   func(c Change, text string, now catalog.Catalog) (string, error) { return move(c, text, now, -1) },
	Down: func(c Change, text string, now catalog.Catalog) (string, error) { return move(c, text, now, 1) },
}

// apply gives the changed text and the note that says what was done.
func (c Change) apply(text string, pools []license.Pool) (string, i18n.Text, error) {
	do, known := actions[c.Action]
	if !known || !slices.Contains(Lists(), c.List) {
		return "", i18n.Text{}, fault.New(fault.Invalid, i18n.T("offer.no_change"))
	}
	now, problems := catalog.Parse([]byte(text), pools...)
	if len(problems) > 0 {
		return "", i18n.Text{}, refused(problems)
	}
	title, found := titleOf(now, c.List, c.Name)
	if !found {
		return "", i18n.Text{}, fault.New(fault.NotFound, i18n.T("offer.no_entry"))
	}
	out, err := do(c, text, now)
	if err != nil && !fault.Is(err, fault.Invalid) {
		err = unreadable(err)
	}
	return out, i18n.T("offer.note."+string(c.Action), "Title", title), err
}

func titleOf(c catalog.Catalog, list List, name string) (string, bool) {
	if list == Sizes {
		s, ok := c.Size(name)
		return s.Title, ok
	}
	i, ok := c.Image(name)
	return i.Title, ok
}

// maxMessage is how long the sentence of a deprecation may be, in characters.
const maxMessage = 300

func deprecate(c Change, text string, now catalog.Catalog) (string, error) {
	c.Message, c.Successor = strings.TrimSpace(c.Message), strings.TrimSpace(c.Successor)
	var fields []fault.Field
	switch {
	case c.Message == "":
		fields = append(fields, fault.Field{Name: "message", Reason: i18n.T("offer.message_missing")})
	case len([]rune(c.Message)) > maxMessage:
		fields = append(fields, fault.Field{Name: "message", Reason: i18n.T("request.reason_too_long", "Most", maxMessage)})
	case strings.ContainsFunc(c.Message, unseen):
		fields = append(fields, fault.Field{Name: "message", Reason: i18n.T("request.reason_characters")})
	}
	if _, known := titleOf(now, c.List, c.Successor); c.Successor == c.Name || c.Successor != "" && !known {
		fields = append(fields, fault.Field{Name: "successor", Reason: i18n.T("offer.no_successor")})
	}
	if err := fault.InvalidFields(fields); err != nil {
		return "", err
	}
	pairs := []*yaml.Node{scalar("!!str", "message"), scalar("!!str", c.Message)}
	if c.Successor != "" {
		pairs = append(pairs, scalar("!!str", "successor"), scalar("!!str", c.Successor))
	}
	return setField(text, c.List, c.Name, "deprecated", &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: pairs})
}

// place is an entry's name and order.
type place struct {
	name  string
	order int
}

func places(c catalog.Catalog, list List) []place {
	var all []place
	if list == Sizes {
		for _, s := range c.Sizes {
			all = append(all, place{s.Name, s.Order})
		}
		return all
	}
	for _, i := range c.Images {
		all = append(all, place{i.Name, i.Order})
	}
	return all
}

// move changes places with the neighbour. Where both have the same number, or one would not be enough, the whole list
// is numbered anew.
func move(c Change, text string, now catalog.Catalog, by int) (string, error) {
	was := places(now, c.List)
	at := slices.IndexFunc(was, func(p place) bool { return p.name == c.Name })
	if at+by < 0 || at+by >= len(was) {
		return text, nil
	}
	wanted := slices.Clone(was)
	wanted[at].name, wanted[at+by].name = was[at+by].name, was[at].name // names change places, numbers stay
	if !slices.IsSortedFunc(wanted, func(a, b place) int { return cmp.Compare(a.order, b.order) }) ||
		was[at].order == was[at+by].order {
		for i := range wanted {
			wanted[i].order = 10 * (i + 1)
		}
	}
	var err error
	for _, w := range wanted {
		before := was[slices.IndexFunc(was, func(p place) bool { return p.name == w.name })].order
		if w.order == before {
			continue
		}
		if text, err = setField(text, c.List, w.name, "order", scalar("!!int", strconv.Itoa(w.order))); err != nil {
			return "", err
		}
	}
	return text, nil
}

// keyOf names a finding by what it is about.
func keyOf(f capacity.Finding) string {
	name := ""
	if f.Proposal != nil {
		name = f.Proposal.Name
	}
	sum := fnv.New128a()
	for _, part := range []string{string(f.Kind), f.Cluster, f.Size, f.Image, f.Resource, f.Model, f.Reason.ID, name} {
		_, _ = sum.Write([]byte(part + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
