package catalog

import (
	_ "embed"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

//go:embed technologies.yaml
var technologiesYAML []byte

// brought are the technologies that the portal brings as data. A test keeps the file free of problems.
var brought = sync.OnceValue(func() []TechnologyRule {
	var rules []TechnologyRule
	k := checker{reader: newReader()}
	k.read(technologiesYAML, &rules)
	k.technologies("", rules, nil)
	if len(k.problems) > 0 {
		panic("catalog: technologies.yaml: " + k.problems[0].Error())
	}
	return rules
})

// Rules are the technologies that the portal brings as data, in the order of technologies.yaml. Those of the constants
// above are not among them.
func Rules() []TechnologyRule { return slices.Clone(brought()) }

// Rule finds a technology that the portal brings as data.
func Rule(t Technology) (TechnologyRule, bool) { return ruleIn(brought(), t) }

// Rule finds a technology that is data: one of the catalog's own, or one that the portal brings.
func (c Catalog) Rule(t Technology) (TechnologyRule, bool) {
	if rule, found := ruleIn(c.Technologies, t); found {
		return rule, true
	}
	return Rule(t)
}

func ruleIn(rules []TechnologyRule, t Technology) (TechnologyRule, bool) {
	i := slices.IndexFunc(rules, func(r TechnologyRule) bool { return r.Name == t })
	if i < 0 {
		return TechnologyRule{}, false
	}
	return rules[i], true
}

// TechnologyWord is the name of a technology that people read. A technology that is data has a product name, the same
// in every language; one that only a catalog knows is called as the catalog calls it: Catalog.TechnologyWord.
func TechnologyWord(t Technology) i18n.Text { return Catalog{}.TechnologyWord(t) }

// TechnologyWord is the name of a technology that people read, those of this catalog among them.
func (c Catalog) TechnologyWord(t Technology) i18n.Text {
	if _, ours := technologies[t]; ours {
		return i18n.T("technology." + string(t))
	}
	if rule, found := c.Rule(t); found {
		return i18n.Literal(rule.Title)
	}
	return i18n.Literal(string(t))
}

// names lists the technologies that a size may have, for a message.
func (k *checker) names() string {
	names := Catalog{Technologies: k.own}.KnownTechnologies()
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, ", ")
}

// technologies checks rules; taken are those whose names are in use already.
func (k *checker) technologies(at string, rules, taken []TechnologyRule) {
	seen := map[Technology]bool{}
	for t := range technologies {
		seen[t] = true
	}
	for _, r := range taken {
		seen[r.Name] = true
	}
	for i, r := range rules {
		at := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case len(validation.IsDNS1123Label(string(r.Name))) > 0:
			k.at(at+".name", "%q is not a name: small letters, digits and dashes, at most 63", r.Name)
		case seen[r.Name]:
			k.at(at+".name", "there is a technology %q already", r.Name)
		}
		seen[r.Name] = true
		k.rule(at, r)
	}
}

func (k *checker) rule(at string, r TechnologyRule) {
	k.title(at, r.Title)
	if len(r.Isolation) == 0 {
		k.at(at+".isolation", "what keeps neighbours apart must be said: hard, memory, none or unknown")
	}
	for i, level := range r.Isolation {
		if !slices.Contains(isolations, level) {
			k.at(fmt.Sprintf("%s.isolation[%d]", at, i), "%q is none of hard, memory, none, unknown", level)
		}
	}
	for i, pattern := range r.Resources {
		if _, err := path.Match(pattern, ""); err != nil || !isExtended(plain(pattern)) {
			k.at(fmt.Sprintf("%s.resources[%d]", at, i), "%q is not the name of an extended resource, nor a pattern of such",
				pattern)
		}
	}
	for i, need := range r.Needs {
		for pattern := range strings.SplitSeq(need, "|") {
			if _, err := path.Match(pattern, ""); err != nil || len(validation.IsQualifiedName(plain(pattern))) > 0 {
				k.at(fmt.Sprintf("%s.needs[%d]", at, i), "%q is not the name of a resource, an annotation, a label or a variable",
					pattern)
			}
		}
	}
	if r.Scheduler != "" && len(validation.IsDNS1123Subdomain(r.Scheduler)) > 0 {
		k.at(at+".scheduler", "%q is not the name of a scheduler", r.Scheduler)
	}
	if len(r.Resources)+len(r.Needs) == 0 {
		k.at(at, "nothing says how a pod asks for it: resources or needs are missing")
	}
}

// plain is a pattern with letters in place of what stands for others, so that it can be checked as a name.
func plain(pattern string) string {
	var b strings.Builder
	for rest := pattern; rest != ""; {
		switch c := rest[0]; {
		case c == '[':
			_, after, _ := strings.Cut(rest, "]")
			b.WriteByte('x')
			rest = after
			continue
		case c == '*' || c == '?':
			b.WriteByte('x')
		default:
			b.WriteByte(c)
		}
		rest = rest[1:]
	}
	return b.String()
}

// isExtended reports whether the name is that of an extended resource: with a domain that is not of Kubernetes itself.
func isExtended(name string) bool {
	domain, _, found := strings.Cut(name, "/")
	return found && len(validation.IsQualifiedName(name)) == 0 && domain != "kubernetes.io" &&
		!strings.HasSuffix(domain, ".kubernetes.io") &&
		!strings.HasPrefix(name, "requests.") && len("requests."+name) <= validation.DNS1123SubdomainMaxLength
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// ruled asks whether a size looks as its technology, which is data, says.
func (k *checker) ruled(at string, s Size, r TechnologyRule) {
	a := s.Accelerator
	switch {
	case len(r.Resources) == 0 && a.Resource != "":
		k.at(at+".accelerator.resource", "%s has no resource: a pod asks by annotations alone", r.Name)
	case len(r.Resources) > 0 && !matchesAny(r.Resources, a.Resource):
		k.at(at+".accelerator.resource", "the resource of %s is one of %s", r.Name, strings.Join(r.Resources, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Extra)) {
		if !matchesAny(r.Resources, name) && slices.ContainsFunc(r.Resources,
			func(p string) bool { return domainOf(p) == domainOf(name) }) {
			k.at(at+".accelerator.extra."+name, "%s does not know %s; its resources are %s", r.Name, name,
				strings.Join(r.Resources, ", "))
		}
	}
	var missing []string
	for _, need := range r.Needs {
		if !slices.ContainsFunc(slices.Collect(asks(s)),
			func(name string) bool { return matchesAny(strings.Split(need, "|"), name) }) {
			missing = append(missing, strings.ReplaceAll(need, "|", " or "))
		}
	}
	if len(missing) > 0 {
		k.at(at+".technology", "%s: each size must set %s", r.Name, strings.Join(missing, ", and "))
	}
	if r.Scheduler != "" && s.Placement.SchedulerName != r.Scheduler {
		k.at(at+".placement.schedulerName", "%s is handed out by the scheduler %s", r.Name, r.Scheduler)
	}
}

// asks is every name by which a pod of the size asks: resources, annotations, labels, variables.
func asks(s Size) iter.Seq[string] {
	return func(yield func(string) bool) {
		if s.Accelerator.Resource != "" && !yield(s.Accelerator.Resource) {
			return
		}
		for _, names := range []map[string]string{s.Accelerator.Extra, s.Placement.PodAnnotations, s.Placement.PodLabels,
			s.Placement.Env} {
			for name := range names {
				if !yield(name) {
					return
				}
			}
		}
	}
}

func domainOf(name string) string {
	domain, _, _ := strings.Cut(name, "/")
	return domain
}

// KnownTechnologies are those that a size may have, by name.
func (c Catalog) KnownTechnologies() []Technology {
	names := slices.Collect(maps.Keys(technologies))
	for _, r := range slices.Concat(brought(), c.Technologies) {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}
