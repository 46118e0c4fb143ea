package offer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// FormKind is how the value of a field is typed.
type FormKind string

// The kinds of fields.
const (
	FormText   FormKind = "text"
	FormNumber FormKind = "number"
	FormFlag   FormKind = "flag"   // "true", or "" for no
	FormPrice  FormKind = "price"  // "0.55", in the currency of the catalog
	FormNames  FormKind = "names"  // separated by commas
	FormLines  FormKind = "lines"  // one a line
	FormLabels FormKind = "labels" // "key=value", one a line
	FormPorts  FormKind = "ports"  // "name=number", one a line
)

// FormField is a value of an entry that a form knows; what it does not know stays as it is written.
type FormField struct {
	Path string // "accelerator.count"
	Kind FormKind
}

// FormFields are the values that the form of a list's entries has.
func FormFields(list List) []FormField {
	titles := []FormField{{"title", FormText}}
	for _, lang := range i18n.Languages[1:] {
		titles = append(titles, FormField{"titles." + lang.String(), FormText})
	}
	if list == Images {
		return slices.Concat(titles, []FormField{{"kind", FormText}, {"reference", FormText}, {"command", FormLines},
			{"args", FormLines}, {"env", FormLabels}, {"tokenEnv", FormText}, {"auth", FormText}, {"port", FormNumber},
			{"healthPath", FormText}, {"openPath", FormText}, {"ssh.port", FormNumber},
			{"ssh.user", FormText}, {"ports", FormPorts}, {"home", FormText}, {"runAsUser", FormNumber},
			{"fsGroup", FormNumber}, {"runtime.servingRuntime", FormText}, {"runtime.modelFormat", FormText},
			{"tenants", FormNames}})
	}
	return slices.Concat(titles, []FormField{{"technology", FormText}, {"isolation", FormText},
		{"accelerator.vendor", FormText}, {"accelerator.model", FormText}, {"accelerator.profile", FormText},
		{"accelerator.resource", FormText}, {"accelerator.count", FormNumber}, {"accelerator.memoryGiB", FormNumber},
		{"accelerator.share", FormNumber}, {"cpu", FormText}, {"memory", FormText}, {"sharedMemory", FormText},
		{"placement.nodeSelector", FormLabels}, {"pricePerHour", FormPrice}, {"licensePool", FormText},
		{"defaultLease", FormText}, {"maxLease", FormText}, {"autoExtend", FormFlag}, {"preemptible", FormFlag},
		{"tenants", FormNames}, {"clusters", FormNames}})
}

// Form is one entry by its fields, as it was typed.
type Form struct {
	List   List
	Name   string
	New    bool
	Like   string            // entry that a new one begins as; "" for none
	Values map[string]string // by path
}

// Filled is a form as what was saved last fills it.
type Filled struct {
	Form
	Others []string // paths of what only the text has
	Base   int64    // version that it was read from
}

// Form fills the form of an entry; without a name, that of a new one.
func (s *Service) Form(ctx context.Context, a identity.Actor, list List, name, like string) (Filled, error) {
	if err := permit(a, identity.ChangeOffer); err != nil {
		return Filled{}, err
	}
	if !slices.Contains(Lists(), list) {
		return Filled{}, fault.New(fault.NotFound, i18n.T("offer.no_entry"))
	}
	newest, err := s.newest(ctx)
	if err != nil {
		return Filled{}, err
	}
	f := Filled{Form: Form{List: list, Name: name, New: name == "", Like: like, Values: map[string]string{}},
		Base: newest.Version}
	if f.New && like == "" {
		return f, nil
	}
	item, err := itemOf(newest.Text, list, firstOf(name, like))
	if err != nil {
		return Filled{}, fault.Wrap(fault.NotFound, err, i18n.T("offer.no_entry"))
	}
	f.Values, f.Others = valuesOf(list, item), others(list, item)
	return f, nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Written is the text that a form makes of what was saved last. Invalid where a value cannot be written at all; what is
// wrong with the entry is for Check to say.
func (s *Service) Written(ctx context.Context, a identity.Actor, f Form) (text string, base int64, err error) {
	if err := permit(a, identity.ChangeOffer); err != nil {
		return "", 0, err
	}
	newest, err := s.newest(ctx)
	if err != nil {
		return "", 0, err
	}
	text, err = f.apply(newest.Text, s.Catalog().Currency())
	if err != nil && !fault.Is(err, fault.Invalid) {
		err = unreadable(err)
	}
	return text, newest.Version, err
}

// apply writes what differs from the text, and nothing else.
func (f Form) apply(text, currency string) (string, error) {
	var err error
	if f.New {
		if text, err = f.begin(text); err != nil {
			return "", err
		}
	}
	item, err := itemOf(text, f.List, f.Name)
	if err != nil {
		return "", err
	}
	was := valuesOf(f.List, item)
	var problems []fault.Field
	for _, field := range FormFields(f.List) {
		value, sent := f.Values[field.Path]
		if value = trimmed(field.Kind, value); !sent || value == was[field.Path] {
			continue
		}
		node, reason := field.node(value, currency)
		if !reason.IsZero() {
			problems = append(problems, fault.Field{Name: field.Path, Reason: reason})
			continue
		}
		if text, err = setPath(text, f.List, f.Name, field.Path, node); err != nil {
			return "", err
		}
	}
	return text, fault.InvalidFields(problems)
}

// begin adds the entry that is new, last of its list.
func (f Form) begin(text string) (string, error) {
	root, err := parse(text)
	if err != nil {
		return "", err
	}
	if _, _, err := entry(root, f.List, f.Name); err == nil {
		return "", fault.InvalidFields([]fault.Field{{Name: "name", Reason: i18n.T("offer.name_taken", "Name", f.Name)}})
	}
	item := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if f.Like != "" {
		like, err := itemOf(text, f.List, f.Like)
		if err != nil {
			return "", fault.InvalidFields([]fault.Field{{Reason: i18n.T("offer.no_entry")}})
		}
		item = copied(like)
		for _, key := range []string{"name", "order", "hidden", "deprecated"} {
			drop(item, key)
		}
	}
	order := 0
	at := pair(root, string(f.List))
	if at < 0 {
		return "", errNoEntry
	}
	for _, other := range root.Content[at+1].Content {
		if n, err := strconv.Atoi(scalarAt(other, "order")); err == nil {
			order = max(order, n)
		}
	}
	item.Style = 0
	item.Content = append([]*yaml.Node{scalar("!!str", "name"), scalar("!!str", f.Name)}, item.Content...)
	item.Content = append(item.Content, scalar("!!str", "order"), scalar("!!int", strconv.Itoa(order+10)))
	return appendItem(text, f.List, item)
}

// itemOf is the node of an entry.
func itemOf(text string, list List, name string) (*yaml.Node, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	items, i, err := entry(root, list, name)
	if err != nil {
		return nil, err
	}
	return items.Content[i], nil
}

// meant is what an alias stands for, and any other node itself.
func meant(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// at is the node at a path below an entry; nil for none.
func at(n *yaml.Node, path string) *yaml.Node {
	for key := range strings.SplitSeq(path, ".") {
		if n = meant(n); n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		i := pair(n, key)
		if i < 0 {
			return nil
		}
		n = n.Content[i+1]
	}
	return meant(n)
}

func scalarAt(n *yaml.Node, path string) string {
	if n = at(n, path); n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func valuesOf(list List, item *yaml.Node) map[string]string {
	values := map[string]string{}
	for _, f := range FormFields(list) {
		if v := f.value(item); v != "" {
			values[f.Path] = v
		}
	}
	return values
}

// value is what is written, as one would type it.
func (f FormField) value(item *yaml.Node) string {
	n := at(item, f.Path)
	if n == nil {
		return ""
	}
	var parts []string
	switch f.Kind {
	case FormPrice:
		minor, err := strconv.ParseInt(scalarAt(n, "minor"), 10, 64)
		if err != nil {
			return ""
		}
		return usage.Money{Minor: minor, Currency: scalarAt(n, "currency")}.Amount()
	case FormFlag:
		if n.Value == "true" {
			return "true"
		}
		return ""
	case FormNames, FormLines:
		for _, c := range n.Content {
			parts = append(parts, meant(c).Value)
		}
		if f.Kind == FormNames {
			return strings.Join(parts, ", ")
		}
		return strings.Join(parts, "\n")
	case FormLabels, FormPorts:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+"="+meant(n.Content[i+1]).Value)
		}
		return strings.Join(parts, "\n")
	}
	return n.Value
}

// trimmed is what was typed without what a browser or a hand adds to it.
func trimmed(kind FormKind, value string) string {
	value = strings.ReplaceAll(value, "\r\n", "\n")
	if kind != FormLines && kind != FormLabels && kind != FormPorts {
		return strings.TrimSpace(value)
	}
	var lines []string
	for line := range strings.SplitSeq(value, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// node is what stands in the text for a value; nil for none. The reason is why it cannot be written.
func (f FormField) node(value, currency string) (*yaml.Node, i18n.Text) {
	if value == "" {
		return nil, i18n.Text{}
	}
	switch f.Kind {
	case FormFlag:
		return scalar("!!bool", "true"), i18n.Text{}
	case FormNumber:
		return number(value), i18n.Text{}
	case FormPrice:
		return price(value, currency)
	case FormNames, FormLines:
		return listed(f.Kind, value), i18n.Text{}
	case FormLabels, FormPorts:
		return pairs(f.Kind, value)
	}
	return scalar("!!str", value), i18n.Text{}
}

// number is one as far as it is one: else the reader of the catalog says what is wanted.
func number(value string) *yaml.Node {
	if strings.Trim(value, "0123456789.") == "" {
		if _, err := strconv.ParseInt(value, 10, 64); err == nil && (value == "0" || value[0] != '0') {
			return scalar("!!int", value)
		}
		if _, err := strconv.ParseFloat(value, 64); err == nil && value[0] != '.' {
			return scalar("!!float", value)
		}
	}
	return scalar("!!str", value)
}

func price(value, currency string) (*yaml.Node, i18n.Text) {
	digits := usage.Digits(currency)
	units, rest, point := strings.Cut(strings.Replace(value, ",", ".", 1), ".")
	if len(rest) > digits || point && rest == "" || strings.Trim(units+rest, "0123456789") != "" || units == "" {
		return nil, i18n.T("offer.price_wrong", "Digits", digits)
	}
	minor, err := strconv.ParseInt(units+rest+strings.Repeat("0", digits-len(rest)), 10, 64)
	if err != nil {
		return nil, i18n.T("offer.price_wrong", "Digits", digits)
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{
		scalar("!!str", "minor"), scalar("!!int", strconv.FormatInt(minor, 10)),
		scalar("!!str", "currency"), scalar("!!str", currency)}}, i18n.Text{}
}

func listed(kind FormKind, value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	separator := "\n"
	if kind == FormNames {
		separator, n.Style = ",", yaml.FlowStyle
	}
	for part := range strings.SplitSeq(value, separator) {
		if part = strings.TrimSpace(part); part != "" {
			n.Content = append(n.Content, scalar("!!str", part))
		}
	}
	return n
}

func pairs(kind FormKind, value string) (*yaml.Node, i18n.Text) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for line := range strings.SplitSeq(value, "\n") {
		key, v, found := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			return nil, i18n.T("offer.label_wrong", "Line", line)
		}
		right := scalar("!!str", strings.TrimSpace(v))
		if kind == FormPorts {
			right = number(right.Value)
		}
		n.Content = append(n.Content, scalar("!!str", key), right)
	}
	return n, i18n.Text{}
}

// setPath gives an entry's value at a path of one or two names another value; nil takes it away.
func setPath(text string, list List, name, path string, value *yaml.Node) (string, error) {
	key, below, nested := strings.Cut(path, ".")
	item, err := itemOf(text, list, name)
	if err != nil {
		return "", err
	}
	var old *yaml.Node
	if i := pair(item, key); i >= 0 {
		old = item.Content[i+1]
	}
	if nested {
		group := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
		if old != nil {
			group = copied(meant(old))
		}
		if value != nil && len(value.Content) > 0 {
			group.Style = 0
		}
		if value = withPair(group, below, value); len(group.Content) == 0 {
			value = nil
		}
	} else if old != nil && value != nil && old.Kind == yaml.ScalarNode {
		value.LineComment, value.HeadComment, value.FootComment = old.LineComment, old.HeadComment, old.FootComment
	}
	if old != nil && anchored(old) {
		return edit{
			nodes: func(root *yaml.Node) error { return moveAnchors(root, list, name, key, value) },
			lines: func(*yaml.Node, []string) ([]string, bool) { return nil, false },
		}.apply(text)
	}
	return setField(text, list, name, key, value)
}

// withPair sets or takes away a pair of a mapping, and gives the mapping.
func withPair(n *yaml.Node, key string, value *yaml.Node) *yaml.Node {
	i := pair(n, key)
	switch {
	case value == nil:
		drop(n, key)
	case i >= 0:
		value.LineComment = n.Content[i+1].LineComment
		n.Content[i+1] = value
	default:
		n.Content = append(n.Content, scalar("!!str", key), value)
	}
	return n
}

func drop(n *yaml.Node, key string) {
	if i := pair(n, key); i >= 0 {
		n.Content = append(n.Content[:i], n.Content[i+2:]...)
	}
}

// copied is a node of its own: without anchors, and without the places and comments around the first.
func copied(n *yaml.Node) *yaml.Node {
	c := *n
	c.Anchor, c.HeadComment, c.FootComment = "", "", ""
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = copied(child)
	}
	return &c
}

// anchored reports whether other places of the text may name the node, or something in it.
func anchored(n *yaml.Node) bool { return n.Anchor != "" || slices.ContainsFunc(n.Content, anchored) }

// moveAnchors replaces a value that others stand for: the first of those that name it has it from now on.
func moveAnchors(root *yaml.Node, list List, name, key string, value *yaml.Node) error {
	items, i, err := entry(root, list, name)
	if err != nil {
		return err
	}
	item := items.Content[i]
	k := pair(item, key)
	old := item.Content[k+1]
	if value == nil {
		drop(item, key)
	} else {
		item.Content[k+1] = value
	}
	replaceAlias(root, old)
	return nil
}

// replaceAlias puts an anchored node in the place of the first alias of it, and does so with what is in it.
func replaceAlias(root, old *yaml.Node) {
	if old.Anchor != "" {
		if first := aliasOf(root, old.Anchor); first != nil {
			heir := *old
			*first = heir
			return // what is in it moved with it
		}
	}
	for _, child := range old.Content {
		replaceAlias(root, child)
	}
}

func aliasOf(n *yaml.Node, anchor string) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Value == anchor {
		return n
	}
	for _, child := range n.Content {
		if found := aliasOf(child, anchor); found != nil {
			return found
		}
	}
	return nil
}

// menus are the values that the list's own menu changes.
var menus = []string{"name", "order", "hidden", "deprecated"}

// others are the paths of an entry that its form does not have.
func others(list List, item *yaml.Node) []string {
	known := FormFields(list)
	var paths []string
	for i := 0; i+1 < len(item.Content); i += 2 {
		key := item.Content[i].Value
		whole := func(f FormField) bool { return f.Path == key }
		part := func(f FormField) bool { return strings.HasPrefix(f.Path, key+".") }
		group := meant(item.Content[i+1])
		switch {
		case slices.Contains(menus, key) || slices.ContainsFunc(known, whole):
		case !slices.ContainsFunc(known, part) || group.Kind != yaml.MappingNode:
			paths = append(paths, key)
		default:
			for j := 0; j+1 < len(group.Content); j += 2 {
				path := key + "." + group.Content[j].Value
				if !slices.Contains(fieldPaths(known), path) {
					paths = append(paths, path)
				}
			}
		}
	}
	return paths
}

func fieldPaths(fields []FormField) []string {
	paths := make([]string, len(fields))
	for i, f := range fields {
		paths[i] = f.Path
	}
	return paths
}

// Problems parts what is wrong with a text into what stands in fields of the form and what does not. A field is named
// by its path.
func (f Form) Problems(text string, list []catalog.Problem) (fields []fault.Field, rest []catalog.Problem) {
	prefix := ""
	if root, err := parse(text); err == nil {
		if _, i, err := entry(root, f.List, f.Name); err == nil {
			prefix = fmt.Sprintf("%s[%d].", f.List, i)
		}
	}
	known := append(FormFields(f.List), FormField{Path: "name"})
	for _, p := range list {
		path, own := strings.CutPrefix(p.Path, prefix)
		i := slices.IndexFunc(known, func(k FormField) bool {
			return path == k.Path || strings.HasPrefix(path, k.Path+".") || strings.HasPrefix(path, k.Path+"[")
		})
		if prefix == "" || !own || i < 0 {
			rest = append(rest, p)
			continue
		}
		fields = append(fields, fault.Field{Name: known[i].Path, Reason: p.Reason()})
	}
	return fields, rest
}
