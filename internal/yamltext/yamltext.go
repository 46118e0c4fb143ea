// Package yamltext reads the YAML that administrators type: Read gives the nodes, and a Text collects each Problem with
// its line; Place puts the field errors of a service on the lines of their fields. Aliases and anchors are problems, so
// nothing expands.
package yamltext

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Longest is the most bytes that are read.
const Longest = 256 << 10

// Text is what was read so far.
type Text struct {
	Problems []Problem
	lines    map[string]int // by path
}

// Problem is one thing that is wrong. Line begins with 1.
type Problem struct {
	Line   int
	Path   string
	Reason i18n.Text
}

var syntaxLine = regexp.MustCompile(`line (\d+): `)

// Read parses a text; the node is nil where that cannot be done, or where there is nothing.
func Read(text string) (*Text, *yaml.Node) {
	t := &Text{lines: map[string]int{}}
	if len(text) > Longest {
		t.Wrong(1, "", i18n.T("yamltext.too_long", "Most", Longest))
		return t, nil
	}
	var document yaml.Node
	err := yaml.NewDecoder(strings.NewReader(text)).Decode(&document)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(document.Content) == 0:
		return t, nil
	case err != nil:
		message, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
		if m := syntaxLine.FindStringSubmatch(message); m != nil {
			line, _ = strconv.Atoi(m[1])
			message = strings.Replace(message, m[0], "", 1)
		}
		t.Wrong(line, "", i18n.T("yamltext.syntax", "Cause", message))
		return t, nil
	}
	return t, document.Content[0]
}

// Wrong adds a problem.
func (t *Text) Wrong(line int, path string, reason i18n.Text) {
	t.Problems = append(t.Problems, Problem{Line: max(line, 1), Path: path, Reason: reason})
}

// Place adds what a service says of fields, each on the line of its path, or of the nearest thing around it.
func (t *Text) Place(fields []fault.Field) {
	for _, f := range fields {
		path := f.Name
		for t.lines[path] == 0 && strings.Contains(path, ".") {
			path = path[:strings.LastIndexByte(path, '.')]
		}
		t.Wrong(t.lines[path], f.Name, f.Reason)
	}
	slices.SortStableFunc(t.Problems, func(a, b Problem) int { return a.Line - b.Line })
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Members calls each for the members of a mapping. known are the names that may be there; nil for any.
func (t *Text) Members(n *yaml.Node, path string, known []string, each func(name, path string, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		t.Wrong(n.Line, path, i18n.T("yamltext.want_map"))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, at := n.Content[i], join(path, n.Content[i].Value)
		switch {
		case known != nil && !slices.Contains(known, key.Value):
			t.Wrong(key.Line, path, i18n.T("yamltext.unknown", "Name", key.Value, "Known", strings.Join(known, ", ")))
		case t.lines[at] != 0:
			t.Wrong(key.Line, path, i18n.T("yamltext.twice", "Name", key.Value))
		default:
			t.lines[at] = key.Line
			each(key.Value, at, n.Content[i+1])
		}
	}
}

// Items calls each for the items of a list.
func (t *Text) Items(n *yaml.Node, path string, each func(path string, value *yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		t.Wrong(n.Line, path, i18n.T("yamltext.want_list"))
		return
	}
	for i, item := range n.Content {
		at := join(path, strconv.Itoa(i))
		t.lines[at] = item.Line
		each(at, item)
	}
}

// Word is a single value as it was written; "" for null.
func (t *Text) Word(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode {
		t.Wrong(n.Line, path, i18n.T("yamltext.want_value"))
		return ""
	}
	if n.Tag == "!!null" {
		return ""
	}
	return n.Value
}
