package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
)

const introduction = `# Configuration

Generated from the code (` + "`make generate`" + `); do not edit.

` + "`portal serve --config portal.yaml`" + ` reads a YAML file. A variable of the environment wins over the file, and an
option of the command (` + "`portal serve --help`" + `) over both. A setting that does not exist, or that has a wrong value, stops
the start; all problems are listed at once, one a line.

- Times are numbers with a unit: ` + "`30s`, `10m`, `12h`, `7d`, `1d12h`" + `. A day has 24 hours.
- ` + "`NAME[].x`" + ` is a setting of each entry of the list NAME, ` + "`NAME.<key>.x`" + ` of each value of the map NAME.
- Keep secrets in files (` + "`…File`" + ` settings); they are read by the portal and never logged.
- Sizes, rules, tenants, prices, idle settings and license seats can be changed in the portal while it runs. What is saved
  there wins over this file.
`

// Page is the reference as Markdown.
func Page(root string) (string, error) {
	w := &writer{sources: &sources{root: root, packages: map[string]comments{}}, variables: variables()}
	defaults := loaded()
	w.sections = []section{{title: "General", of: reflect.TypeFor[config.Config](), value: reflect.ValueOf(defaults)}}
	w.text.WriteString(introduction)
	for len(w.sections) > 0 {
		next := w.sections[0]
		w.sections = w.sections[1:]
		if err := w.section(next); err != nil {
			return "", err
		}
	}
	return w.text.String(), nil
}

// loaded is what holds where a file names a provider and a cluster, and nothing else.
func loaded() config.Config {
	c, _ := config.Load("", func(string) string { return "" }, func(c *config.Config) {
		c.OIDC.Issuer = "" // its absence is the error that is not looked at
		c.Clusters = []config.Cluster{{}}
	})
	c.Rules = nil // the built-in ones are many lines
	return c
}

// variables are the names of environment variables by the path of the setting that they fill: each is given its own
// name as value.
func variables() map[string]string {
	c, _ := config.Load("", func(name string) string { return "env:" + name }, nil)
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // a struct of texts and numbers
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(err)
	}
	found := map[string]string{}
	collect("", tree, found)
	return found
}

func collect(path string, v any, found map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			collect(strings.TrimPrefix(path+"."+name, "."), inner, found)
		}
	case []any:
		for _, inner := range v {
			collect(path, inner, found)
		}
	case string:
		if name, is := strings.CutPrefix(strings.ToUpper(v), "ENV:"); is {
			found[path] = name
		}
	}
}

// section is a struct of settings below a path.
type section struct {
	title, path string
	about       string // of the setting that holds it
	of          reflect.Type
	value       reflect.Value // with what holds by default; invalid where there is none
}

type writer struct {
	text      strings.Builder
	sections  []section
	sources   *sources
	variables map[string]string
}

func (w *writer) section(s section) error {
	known, err := w.sources.of(s.of)
	if err != nil {
		return err
	}
	about := s.about
	if about == "" && s.path != "" {
		about = known[s.of.Name()]
	}
	about, _ = split(about)
	fmt.Fprintf(&w.text, "\n## %s\n\n", s.title)
	if about != "" {
		fmt.Fprintf(&w.text, "%s\n\n", escape(sentence(about)))
	}
	w.text.WriteString("| setting | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for i := range s.of.NumField() {
		field := s.of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		value := reflect.Value{}
		if s.value.IsValid() {
			value = s.value.Field(i)
		}
		w.row(strings.TrimPrefix(s.path+"."+name, "."), field.Type, value, known[s.of.Name()+"."+field.Name])
	}
	return nil
}

func (w *writer) row(path string, t reflect.Type, value reflect.Value, text string) {
	meaning, usual := split(text)
	inner, below := nested(t)
	if inner != nil {
		w.sections = append(w.sections, section{title: "`" + path + below + "`", path: path + below, of: inner,
			value: first(value), about: text})
		if meaning == "" {
			meaning = "see [below](#" + anchor(path+below) + ")"
		} else {
			meaning += "; see [below](#" + anchor(path+below) + ")"
		}
	}
	if shown := show(value); inner == nil && shown != "" {
		usual = shown
	}
	meaning, needed := strings.CutSuffix(meaning, "; needed")
	switch {
	case needed:
		usual = "needed"
	case usual == "" && t.Kind() == reflect.Bool:
		usual = "`false`"
	case usual == "" && inner == nil:
		usual = w.rates(path)
	}
	if name := w.variables[path]; name != "" {
		meaning += ". Variable `" + name + "`"
	}
	fmt.Fprintf(&w.text, "| `%s` | %s | %s | %s |\n", path, kind(t), escape(code(usual)), escape(meaning))
}

// nested is the struct of settings that a setting holds, with how its fields are written behind its name.
func nested(t reflect.Type) (reflect.Type, string) {
	below := ""
	for {
		switch t.Kind() {
		case reflect.Pointer:
			t = t.Elem()
			continue
		case reflect.Slice:
			t, below = t.Elem(), below+"[]"
			continue
		case reflect.Map:
			t, below = t.Elem(), below+".<key>"
			continue
		case reflect.Struct:
			return t, below
		}
		return nil, ""
	}
}

// first is the value of a struct, or the first of a list of them.
func first(v reflect.Value) reflect.Value {
	switch {
	case !v.IsValid():
		return v
	case v.Kind() == reflect.Struct:
		return v
	case v.Kind() == reflect.Slice && v.Len() > 0:
		return v.Index(0)
	}
	return reflect.Value{}
}

// show is a value as people write it in the file; "" for none.
func show(v reflect.Value) string {
	if !v.IsValid() || v.IsZero() {
		return ""
	}
	if d, ok := v.Interface().(catalog.Duration); ok {
		return "`" + d.String() + "`"
	}
	switch v.Kind() {
	case reflect.String, reflect.Int, reflect.Bool:
		return fmt.Sprintf("`%v`", v.Interface())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = show(v.Index(i))
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

func kind(t reflect.Type) string {
	if t == reflect.TypeFor[schedule.Clock]() {
		return "text"
	}
	if t == reflect.TypeFor[catalog.Duration]() {
		return "time"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kind(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "number"
	case reflect.Slice:
		return "list of " + strings.TrimSuffix(kind(t.Elem()), "s") + "s"
	case reflect.Map:
		return "map to " + kind(t.Elem())
	case reflect.Struct:
		return "setting"
	}
	return "text"
}

// sentence begins with a capital unless it begins with something in code.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	return strings.TrimSuffix(text, ".") + "."
}

// code marks a default that is written so in the file.
func code(usual string) string {
	if usual == "" || strings.ContainsAny(usual, " `") || slices.Contains([]string{"none", "any", "needed"}, usual) {
		return usual
	}
	return "`" + usual + "`"
}

// escape keeps a text within its cell of a table, and what stands in angle brackets from being taken for HTML.
func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}

// rates are the defaults of a rate limit's classes; "none" for any other setting.
func (w *writer) rates(path string) string {
	of := map[string]func(limit.Rate) int{
		"rateLimits.<key>.perMinute": func(r limit.Rate) int { return r.PerMinute },
		"rateLimits.<key>.burst":     func(r limit.Rate) int { return r.Burst },
	}[path]
	if of == nil {
		return "none"
	}
	var parts []string
	for _, class := range limit.Names() {
		parts = append(parts, fmt.Sprintf("%s %d", class, of(limit.Defaults()[limit.Class(class)])))
	}
	return strings.Join(parts, ", ")
}

// anchor is the fragment that a heading of a path gets: letters, digits and hyphens stay.
func anchor(path string) string {
	return string(slices.DeleteFunc([]rune(strings.ToLower(path)), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	}))
}
