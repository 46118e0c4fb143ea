package idle

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/yamltext"
)

// Draft is one setting as typed, in a form or as text. Empty fields have defaults: 5 per cent, and a keep-alive as long
// as the idle time. Of CPU and network one alone has the usual threshold beside it; without both nothing is judged by
// them.
type Draft struct{ Action, After, Below, CPU, Network, KeepAlive string }

// Setting reads a draft; problems are named by the field of the setting.
func (d Draft) Setting(field string) (s Setting, problems []fault.Field) {
	s.Action = Action(d.Action)
	if !s.On() {
		return s, nil
	}
	wrong := func(name string, t i18n.Text) {
		problems = append(problems, fault.Field{Name: field + "." + name, Reason: t})
	}
	var err error
	if s.After, err = catalog.ParseDuration(d.After); err != nil {
		wrong("after", i18n.T("idle.no_time"))
	}
	if s.KeepAlive = s.After; d.KeepAlive != "" {
		if s.KeepAlive, err = catalog.ParseDuration(d.KeepAlive); err != nil {
			wrong("keepAlive", i18n.T("idle.no_time"))
		}
	}
	if s.Below = UsualBelow; d.Below != "" {
		if s.Below, err = strconv.Atoi(d.Below); err != nil {
			wrong("below", i18n.T("idle.bad_below", "Most", MostBelow))
		}
	}
	if d.CPU == "" && d.Network == "" {
		return s, problems
	}
	if s.CPU = UsualCPU; d.CPU != "" {
		if s.CPU, err = strconv.ParseFloat(d.CPU, 64); err != nil || !(s.CPU > 0) {
			wrong("cpu", i18n.T("idle.bad_cpu", "Least", cores(LeastCPU), "Most", cores(MostCPU)))
		}
		s.CPU = math.Round(s.CPU*1000) / 1000
	}
	if s.Network = UsualNetwork; d.Network != "" {
		if s.Network, err = strconv.Atoi(d.Network); err != nil || s.Network == 0 {
			wrong("network", i18n.T("idle.bad_network", "Most", MostNetwork))
		}
	}
	return s, problems
}

// cores is a number of cores as it is typed.
func cores(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Put adds the setting of a field: "all", or "sizes." or "teams." and a name.
func (s *Settings) Put(field string, of Setting) {
	into := &s.Sizes
	switch kind, name, _ := strings.Cut(field, "."); kind {
	case "teams":
		into = &s.Teams
		fallthrough
	case "sizes":
		if *into == nil {
			*into = map[string]Setting{}
		}
		(*into)[name] = of
	default:
		s.All = &of
	}
}

// YAML is the text of settings that ReadYAML reads.
func (s Settings) YAML() string {
	var b strings.Builder
	write := func(indent string, of Setting) {
		fmt.Fprintf(&b, "%saction: %s\n", indent, quoted(string(of.Action)))
		if of.On() {
			fmt.Fprintf(&b, "%[1]safter: %[2]s\n%[1]sbelow: %[3]d\n", indent, of.After, of.Below)
			if of.ByPod() {
				fmt.Fprintf(&b, "%[1]scpu: %[2]s\n%[1]snetwork: %[3]d\n", indent, cores(of.CPU), of.Network)
			}
			fmt.Fprintf(&b, "%skeepAlive: %s\n", indent, of.KeepAlive)
		}
	}
	if s.All != nil {
		b.WriteString("all:\n")
		write("  ", *s.All)
	}
	for _, kind := range []struct {
		name string
		of   map[string]Setting
	}{{"sizes", s.Sizes}, {"teams", s.Teams}} {
		if len(kind.of) > 0 {
			b.WriteString(kind.name + ":\n")
		}
		for _, name := range slices.Sorted(maps.Keys(kind.of)) {
			b.WriteString("  " + quoted(name) + ":\n")
			write("    ", kind.of[name])
		}
	}
	return b.String()
}

// quoted keeps what YAML would read as something else: "off" is a boolean to some.
func quoted(word string) string {
	if word == string(Off) {
		return `"off"`
	}
	b, err := yaml.Marshal(word)
	if err != nil {
		return strconv.Quote(word)
	}
	return strings.TrimSpace(string(b))
}

// ReadYAML reads settings; what is wrong is in the text, which knows the line of every field.
func ReadYAML(text string) (Settings, *yamltext.Text) {
	var s Settings
	t, root := yamltext.Read(text)
	if root == nil {
		return s, t
	}
	var problems []fault.Field
	read := func(path string, n *yaml.Node) {
		var d Draft
		into := map[string]*string{"action": &d.Action, "after": &d.After, "below": &d.Below, "cpu": &d.CPU,
			"network": &d.Network, "keepAlive": &d.KeepAlive}
		t.Members(n, path, []string{"action", "after", "below", "cpu", "network", "keepAlive"},
			func(name, path string, v *yaml.Node) { *into[name] = t.Word(v, path) })
		of, wrong := d.Setting(path)
		problems = append(problems, wrong...)
		s.Put(path, of)
	}
	t.Members(root, "", []string{"all", "sizes", "teams"}, func(name, path string, n *yaml.Node) {
		if name == "all" {
			read(path, n)
			return
		}
		t.Members(n, path, nil, func(_, path string, n *yaml.Node) { read(path, n) })
	})
	t.Place(problems)
	return s, t
}
