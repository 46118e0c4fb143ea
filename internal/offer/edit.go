package offer

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/untrusted"
)

// List is one of the lists of a catalog.
type List string

// The lists that have entries on offer.
const (
	Sizes  List = "sizes"
	Images List = "images"
)

// Lists are all of them.
func Lists() []List { return []List{Sizes, Images} }

var errNoEntry = errors.New("the text has no such entry")

// An edit is made twice: on the nodes, which says what shall come of it, and on the lines, which keeps comments, blank
// lines and the author's own way of writing. Where the lines do not read as the nodes say, the nodes are written out
// instead: that keeps comments and loses the layout.
type edit struct {
	nodes func(root *yaml.Node) error
	lines func(root *yaml.Node, lines []string) ([]string, bool)
}

func (e edit) apply(text string) (string, error) {
	root, err := parse(text)
	if err != nil {
		return "", err
	}
	want, err := parse(text)
	if err != nil {
		return "", err
	}
	if err := e.nodes(want); err != nil {
		return "", err
	}
	if changed, ok := e.lines(root, strings.Split(text, "\n")); ok {
		out := strings.Join(changed, "\n")
		if got, err := parse(out); err == nil && sameNode(got, want) {
			return out, nil
		}
	}
	return encode(want)
}

// parse reads the one document of a text; its root is a mapping.
func parse(text string) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errNoEntry
	}
	return doc.Content[0], nil
}

func encode(n *yaml.Node) (string, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return "", err
	}
	return b.String(), e.Close()
}

// sameNode reports whether two trees mean the same: layout and comments do not count.
func sameNode(a, b *yaml.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || a.Anchor != b.Anchor ||
		len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// pair finds a key of a mapping; -1 where it has none.
func pair(n *yaml.Node, key string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// entry finds an entry of a list by name: the list's node, and the index in it.
func entry(root *yaml.Node, list List, name string) (*yaml.Node, int, error) {
	at := pair(root, string(list))
	if at < 0 || root.Content[at+1].Kind != yaml.SequenceNode {
		return nil, 0, errNoEntry
	}
	items := root.Content[at+1]
	for i, item := range items.Content {
		if item.Kind != yaml.MappingNode {
			continue
		}
		if k := pair(item, "name"); k >= 0 && item.Content[k+1].Value == name {
			return items, i, nil
		}
	}
	return nil, 0, errNoEntry
}

// setField gives an entry's field a value; nil takes the field away.
func setField(text string, list List, name, key string, value *yaml.Node) (string, error) {
	nodes := func(root *yaml.Node) error {
		items, i, err := entry(root, list, name)
		if err != nil {
			return err
		}
		item := items.Content[i]
		at := pair(item, key)
		switch {
		case at >= 0 && value == nil:
			item.Content = append(item.Content[:at], item.Content[at+2:]...)
		case at >= 0:
			item.Content[at+1] = value
		case value != nil:
			item.Content = append(item.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
		}
		return nil
	}
	return edit{nodes, func(root *yaml.Node, lines []string) ([]string, bool) {
		return setLines(root, lines, list, name, key, value)
	}}.apply(text)
}

func setLines(root *yaml.Node, lines []string, list List, name, key string, value *yaml.Node) ([]string, bool) {
	items, i, err := entry(root, list, name)
	if err != nil || items.Style&yaml.FlowStyle != 0 || items.Content[i].Style&yaml.FlowStyle != 0 {
		return nil, false
	}
	item := items.Content[i]
	end := lastLine(root, items, i, lines) // of the entry, from 1
	var written []string
	if value != nil {
		text, err := encode(&yaml.Node{Kind: yaml.MappingNode,
			Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value}})
		if err != nil {
			return nil, false
		}
		for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			written = append(written, strings.Repeat(" ", item.Column-1)+line)
		}
	}
	at := pair(item, key)
	if at < 0 {
		return splice(lines, end, end, written), true
	}
	from, until := item.Content[at].Line-1, end
	if at+2 < len(item.Content) {
		until = back(lines, item.Content[at+2].Line-1)
	}
	if item.Content[at].Line == item.Line { // it stands behind the dash
		return nil, false
	}
	return splice(lines, from, until, written), true
}

// splice puts lines in the place of lines[from:until].
func splice(lines []string, from, until int, with []string) []string {
	if from < 0 || from > until || until > len(lines) {
		return lines
	}
	out := append([]string{}, lines[:from]...)
	return append(append(out, with...), lines[until:]...)
}

// back goes up from a line to the end of what stands before it: over blank lines and comments, which belong to what
// follows.
func back(lines []string, line int) int {
	for line > 0 && line <= len(lines) {
		text := strings.TrimSpace(lines[line-1])
		if text != "" && !strings.HasPrefix(text, "#") {
			break
		}
		line--
	}
	return line
}

// lastLine is the number of an item's last line.
func lastLine(root, items *yaml.Node, i int, lines []string) int {
	next := len(lines) + 1
	if i+1 < len(items.Content) {
		next = items.Content[i+1].Line
	} else {
		for k := 0; k < len(root.Content); k += 2 {
			if l := root.Content[k].Line; l > items.Line && l < next && root.Content[k+1] != items {
				next = l
			}
		}
	}
	return back(lines, next-1)
}

// appendSize adds a size at the end of the list.
func appendSize(text string, s catalog.Size) (string, error) {
	item, err := sizeNode(s)
	if err != nil {
		return "", err
	}
	return appendItem(text, Sizes, item)
}

// appendItem adds an entry at the end of a list.
func appendItem(text string, to List, item *yaml.Node) (string, error) {
	list := func(root *yaml.Node) (*yaml.Node, bool) {
		at := pair(root, string(to))
		if at < 0 || root.Content[at+1].Kind != yaml.SequenceNode {
			return nil, false
		}
		return root.Content[at+1], true
	}
	return edit{
		nodes: func(root *yaml.Node) error {
			items, ok := list(root)
			if !ok {
				return errNoEntry
			}
			items.Content = append(items.Content, item)
			return nil
		},
		lines: func(root *yaml.Node, lines []string) ([]string, bool) {
			items, ok := list(root)
			if !ok || items.Style&yaml.FlowStyle != 0 || len(items.Content) == 0 {
				return nil, false
			}
			text, err := encode(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}})
			if err != nil {
				return nil, false
			}
			written := []string{""}
			for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
				written = append(written, strings.Repeat(" ", items.Column-1)+line)
			}
			end := lastLine(root, items, len(items.Content)-1, lines)
			return splice(lines, end, end, written), true
		},
	}.apply(text)
}

// sizeNode writes a size as people do: what is empty is left out, short values stand on one line.
func sizeNode(s catalog.Size) (*yaml.Node, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	n, err := parse(string(data))
	if err != nil {
		return nil, err
	}
	plain(n)
	n.Style = 0
	return n, nil
}

// fromJSON writes a catalog that came as JSON as YAML, so that people can go on from it.
func fromJSON(text string) (string, error) {
	switch {
	case len(text) > maxText:
		return "", errors.New("this is longer than any catalog")
	case untrusted.TooDeep([]byte(text)):
		return "", errors.New("this nests deeper than any catalog")
	case !json.Valid([]byte(text)):
		return "", errors.New("this is no JSON")
	}
	n, err := parse(text)
	if err != nil {
		return "", err
	}
	for _, c := range n.Content {
		plain(c)
		c.Style = 0
		for _, item := range c.Content {
			item.Style = 0
		}
	}
	n.Style = 0
	return encode(n)
}

// longest is how wide a value may be that stands on one line.
const longest = 110

// plain takes the quotes away that are not needed, and what is empty, and keeps short collections on one line. Every
// node is looked at once.
func plain(n *yaml.Node) (width int) {
	if n.Kind == yaml.ScalarNode {
		n.Style = 0
		return len(n.Value) + 2
	}
	kept := n.Content[:0]
	for i := 0; i < len(n.Content); i++ {
		if n.Kind == yaml.MappingNode && i+1 < len(n.Content) {
			key, value := n.Content[i], n.Content[i+1]
			i++
			if w := plain(value); w > 0 || value.Kind == yaml.ScalarNode {
				kept, width = append(kept, key, value), width+plain(key)+w
			}
			continue
		}
		kept, width = append(kept, n.Content[i]), width+plain(n.Content[i])
	}
	n.Content, n.Style = kept, yaml.FlowStyle
	if width > longest {
		n.Style = 0
	}
	return width
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// FromJSON is a catalog that came as JSON, written as YAML; Invalid when it is none.
func FromJSON(text string) (string, error) {
	out, err := fromJSON(text)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, i18n.T("offer.no_json"))
	}
	return out, nil
}

// Written is the proposal as an entry of the list of sizes, "" where there is none.
func (f Finding) Written() string {
	if f.Proposal == nil {
		return ""
	}
	item, err := sizeNode(*f.Proposal)
	if err != nil {
		return ""
	}
	text, err := encode(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}})
	if err != nil {
		return ""
	}
	return text
}
