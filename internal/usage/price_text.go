package usage

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/yamltext"
)

// DraftsYAML is the text of drafts that ReadDrafts reads.
func DraftsYAML(drafts []PriceDraft) string {
	var b strings.Builder
	for _, d := range drafts {
		before := "- "
		for _, f := range []struct{ name, value string }{{"kind", d.Kind}, {"subject", d.Subject}, {"tenant", d.Tenant},
			{"amount", d.Amount}, {"from", d.From}} {
			if f.value == "" && f.name != "amount" {
				continue
			}
			word, err := yaml.Marshal(f.value)
			if err != nil { // a string has YAML
				continue
			}
			fmt.Fprintf(&b, "%s%s: %s\n", before, f.name, strings.TrimSpace(string(word)))
			before = "  "
		}
	}
	return b.String()
}

// ReadDrafts reads a list of drafts; what is wrong is in the text, which knows the line of every field.
func ReadDrafts(text string) ([]PriceDraft, *yamltext.Text) {
	t, root := yamltext.Read(text)
	if root == nil {
		return nil, t
	}
	var drafts []PriceDraft
	t.Items(root, "", func(path string, item *yaml.Node) {
		var d PriceDraft
		t.Members(item, path, []string{"kind", "subject", "tenant", "amount", "from"},
			func(name, path string, v *yaml.Node) {
				*map[string]*string{"kind": &d.Kind, "subject": &d.Subject, "tenant": &d.Tenant, "amount": &d.Amount,
					"from": &d.From}[name] = t.Word(v, path)
			})
		drafts = append(drafts, d)
	})
	return drafts, t
}

// With is the list after prices were added.
func (l PriceList) With(prices ...Price) PriceList {
	return append(append(make(PriceList, 0, len(l)+len(prices)), l...), prices...)
}

// Before is the rate that a price takes the place of when it begins, the one for everybody where its team has none of
// its own.
func (l PriceList) Before(p Price) (UnitPrice, bool) {
	was, ok := l.find(p.Kind, p.Subject, p.Tenant, p.From)
	return was.Rate, ok
}
