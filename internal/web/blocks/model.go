package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// ServesModel is the model of an endpoint; nil where it has none.
func ServesModel(say page.Words, m *catalog.Model) *workloadview.ServesModel {
	if m == nil {
		return nil
	}
	v := &workloadview.ServesModel{Name: m.Name, Source: string(m.Source), Revision: m.Revision,
		Quantization: m.Quantization}
	if m.ContextLength > 0 {
		v.Context = say.Number(float64(m.ContextLength))
	}
	return v
}
