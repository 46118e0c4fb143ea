package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// reader fills Go values from YAML nodes by their json tags. It differs from a decoder in that it goes on after a
// problem and knows the line of everything it read. Unknown and doubled keys, nulls and values of another type are
// problems: bad input gives an error, never an empty value.
type reader struct {
	problems []Problem
	lines    map[string]int // by path
	depth    int            // of the value that is read now
	left     int            // how many more values are read
}

// Limits of what is read: an alias may hold itself, or ten of another that hold ten of a third. A catalog has a few
// thousand values, eleven deep.
const (
	maxDepth  = 12
	maxValues = 100_000
)

func newReader() *reader { return &reader{lines: map[string]int{}, left: maxValues} }

// maxProblems are listed: whoever reads them mends the first and checks again.
const maxProblems = 500

func (r *reader) problem(line int, path, format string, args ...any) {
	if n := len(r.problems); n >= maxProblems {
		if n == maxProblems {
			r.problems = append(r.problems, Problem{Line: line, Message: "more is wrong than is listed here"})
		}
		return
	}
	r.problems = append(r.problems, Problem{Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

// at is a problem with something that was read before; a value that is absent has the line of what it is missing from.
// What could not be read has been told already.
func (r *reader) at(path, format string, args ...any) {
	if slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Path == path }) {
		return
	}
	where := path
	for where != "" && r.lines[where] == 0 {
		where = where[:max(strings.LastIndex(where, "."), strings.LastIndex(where, "["), 0)]
	}
	r.problem(max(r.lines[where], 1), path, format, args...)
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

func (r *reader) read(data []byte, into any) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		r.syntax(err)
		return
	}
	if err := decoder.Decode(&second); err == nil {
		r.problem(second.Line, "", "one document is wanted, here begins a second")
	} else if !errors.Is(err, io.EOF) {
		r.syntax(err)
	}
	if len(doc.Content) == 1 {
		r.value(doc.Content[0], reflect.ValueOf(into).Elem(), "")
	}
}

func (r *reader) syntax(err error) {
	if errors.Is(err, io.EOF) {
		r.problem(1, "", "the file is empty")
		return
	}
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = strings.Replace(text, m[0], "", 1)
	}
	r.problem(line, "", "not readable as YAML: %s", text)
}

var durationType = reflect.TypeFor[Duration]()

// value reads one node.
func (r *reader) value(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	r.left--
	if r.left == 0 {
		r.problems = append(r.problems, Problem{Line: n.Line, Path: path,
			Message: fmt.Sprintf("more than %d values; the rest is not read", maxValues)})
	}
	if r.left <= 0 {
		return
	}
	if r.depth == maxDepth {
		r.problem(n.Line, path, "nested deeper than any catalog")
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	r.lines[path] = n.Line
	if n.Tag == "!!null" {
		r.problem(n.Line, path, "the value is missing")
		return
	}
	if v.Type() == durationType {
		d, err := ParseDuration(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			r.problem(n.Line, path, "a length of time is wanted, such as 8h or 2d")
		}
		v.SetInt(int64(d))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		r.object(n, v, path)
	case reflect.Map:
		r.words(n, v, path)
	case reflect.Slice:
		r.list(n, v, path)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.value(n, v.Elem(), path)
	default:
		r.scalar(n, v, path)
	}
}

func (r *reader) object(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		r.problem(n.Line, path, "names with values are wanted here")
		return
	}
	fields := fieldsOf(v.Type())
	r.pairs(n, path, func(key string, line int, value *yaml.Node) {
		index, known := fields[key]
		if !known {
			r.problem(line, join(path, key), "unknown name; known are %s", strings.Join(sortedKeys(fields), ", "))
			return
		}
		r.value(value, v.Field(index), join(path, key))
	})
}

// words is a map of text to text: labels, annotations, variables.
func (r *reader) words(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		r.problem(n.Line, path, "names with values are wanted here")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	r.pairs(n, path, func(key string, _ int, value *yaml.Node) {
		word := reflect.New(v.Type().Elem()).Elem()
		r.value(value, word, join(path, key))
		v.SetMapIndex(reflect.ValueOf(key), word)
	})
}

func (r *reader) pairs(n *yaml.Node, path string, each func(key string, line int, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			r.problem(key.Line, path, "a plain name is wanted here")
			continue
		case seen[key.Value]:
			r.problem(key.Line, join(path, key.Value), "the name stands here twice")
			continue
		}
		seen[key.Value] = true
		each(key.Value, key.Line, n.Content[i+1])
	}
}

func (r *reader) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		r.problem(n.Line, path, "a list is wanted here")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		if r.left <= 0 {
			return
		}
		r.value(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func (r *reader) scalar(n *yaml.Node, v reflect.Value, path string) {
	var err error
	switch {
	case n.Kind != yaml.ScalarNode:
		err = errors.New("a single value is wanted here")
	case v.Kind() == reflect.String && n.Tag == "!!bool":
		err = fmt.Errorf("text is wanted: write %q in quotes", n.Value)
	case v.Kind() == reflect.String:
		v.SetString(n.Value)
	case v.Kind() == reflect.Bool:
		if n.Tag != "!!bool" {
			err = errors.New("true or false is wanted")
		}
		v.SetBool(err == nil && strings.EqualFold(n.Value, "true"))
	case v.CanInt():
		var i int64
		if i, err = strconv.ParseInt(n.Value, 10, v.Type().Bits()); err != nil || n.Tag != "!!int" {
			err = errors.New("a whole number is wanted")
		}
		v.SetInt(i)
	case v.CanFloat():
		var f float64
		if f, err = strconv.ParseFloat(n.Value, 64); err != nil || (n.Tag != "!!int" && n.Tag != "!!float") || f != f ||
			f > 1e12 || f < -1e12 {
			f, err = 0, errors.New("a number is wanted")
		}
		v.SetFloat(f)
	default:
		err = fmt.Errorf("no value of type %s can be read", v.Type())
	}
	if err != nil {
		r.problem(n.Line, path, "%s", err)
	}
}

// fieldsOf gives the index of each field by the name that the file uses.
func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = i
		}
	}
	return fields
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
