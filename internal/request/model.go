package request

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// modelField names a field of a draft's model.
func modelField(name string) string { return "model." + name }

// model is what an endpoint will serve: what was said, on top of the runtime's usual model where no other is named.
func (c *checker) model(d Draft, w Spec) *catalog.Model {
	said := catalog.Model{}
	if d.Model != nil {
		said = *d.Model
		said.Name, said.Revision = strings.TrimSpace(said.Name), strings.TrimSpace(said.Revision)
	}
	runtime := w.Image.Runtime
	switch {
	case d.Kind != catalog.Endpoint:
		if said != (catalog.Model{}) {
			c.problem("model", i18n.T("model.endpoints_only"))
		}
		return nil
	case runtime == nil:
		if said != (catalog.Model{}) && w.Image.Name != "" {
			c.problem(modelField("name"), i18n.T("model.in_image", "Image", w.Image.Title))
		}
		return nil
	case said == (catalog.Model{}) && runtime.Default == nil && runtime.Optional:
		return nil
	case said.Name == "" && runtime.Default != nil && (said.Source == "" || said.Source == runtime.Default.Source):
		said = usual(*runtime.Default, said)
	case said.Name == "":
		c.problem(modelField("name"), i18n.T("model.missing"))
		return nil
	case said.Source == "":
		said.Source = catalog.SourceOf(said.Name)
	}
	for _, p := range runtime.CheckModel(said, w.Image.Home) {
		c.problem(modelField(p.Field), p.Reason)
	}
	if said.Source == catalog.FromStorage && catalog.TeamVolumeOf(said.Name) == "" && w.Volume == "" {
		c.problem(modelField("name"), i18n.T("model.own_storage"))
	}
	return &said
}

// usual is the runtime's usual model, with what else was said.
func usual(m, said catalog.Model) catalog.Model {
	if said.Revision != "" {
		m.Revision = said.Revision
	}
	if said.ContextLength != 0 {
		m.ContextLength = said.ContextLength
	}
	if said.Quantization != "" {
		m.Quantization = said.Quantization
	}
	return m
}

// volumeOf is the team's volume that a model lies in; "" for none.
func volumeOf(m *catalog.Model) string {
	if m == nil || m.Source != catalog.FromStorage {
		return ""
	}
	return catalog.TeamVolumeOf(m.Name)
}

// mountsWith are the volumes that were asked for and the one that the model lies in.
func mountsWith(names []string, m *catalog.Model) []string {
	if v := volumeOf(m); v != "" && !slices.Contains(names, v) {
		return append(slices.Clone(names), v)
	}
	return names
}

// mountField is the field that named a volume.
func (w Spec) mountField(volume string) string {
	if volumeOf(w.Model) == volume {
		return modelField("name")
	}
	return "mounts"
}

// modelFacts is what rules see of a model.
func modelFacts(w Spec) policy.Model {
	if w.Model == nil {
		return policy.Model{}
	}
	f := policy.Model{Source: string(w.Model.Source), Name: w.Model.Name, Revision: w.Model.Revision,
		ContextLength: int64(w.Model.ContextLength), Quantization: w.Model.Quantization}
	if w.Image.Runtime != nil {
		f.Engine = string(w.Image.Runtime.Engine)
	}
	return f
}
