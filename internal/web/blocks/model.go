package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// ServesModel is the model of an endpoint, and over how many nodes it is spread; nil where there is nothing to say.
func ServesModel(say page.Words, i catalog.Image, m *catalog.Model, r workload.Range) *workloadview.ServesModel {
	v := &workloadview.ServesModel{}
	nodes := r.Nodes(i)
	if nodes > 0 {
		v.Nodes = say.Number(float64(nodes))
	}
	switch {
	case m == nil && nodes == 0:
		return nil
	case m == nil:
		return v
	}
	v.Name, v.Source, v.Revision, v.Quantization = m.Name, string(m.Source), m.Revision, m.Quantization
	if m.ContextLength > 0 {
		v.Context = say.Number(float64(m.ContextLength))
	}
	return v
}
