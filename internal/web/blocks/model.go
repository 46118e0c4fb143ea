package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// ModelFacts is what an endpoint serves, none for everything else.
func ModelFacts(say page.Words, m *catalog.Model) []ui.DefModel {
	if m == nil {
		return nil
	}
	items := []ui.DefModel{{Term: say.S("model.title"), Value: m.Name, About: say.S("model.from_" + string(m.Source)),
		Test: "model"}}
	add := func(term, value, test string) {
		if value != "" {
			items = append(items, ui.DefModel{Term: say.S(term), Value: value, Test: test})
		}
	}
	add("model.revision_term", m.Revision, "revision")
	if m.ContextLength > 0 {
		add("model.context_term", say.S("model.tokens", "Tokens", say.Number(float64(m.ContextLength))), "context")
	}
	add("model.quantization_term", m.Quantization, "quantization")
	return items
}
