package request

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// serving is an offering with an image for each kind of runtime.
func serving() Offering {
	o := offering()
	image := func(name string, change func(*catalog.Runtime)) {
		i := llm
		i.Name, i.Title, i.Home = name, name, "/models"
		i.Runtime = &catalog.Runtime{Engine: catalog.VLLM, Sources: []catalog.Source{{Kind: catalog.FromHub},
			{Kind: catalog.FromStorage}}, Quantizations: []string{"fp8"}}
		change(i.Runtime)
		o.Catalog.Images = append(o.Catalog.Images, i)
	}
	image("server", func(*catalog.Runtime) {})
	image("usual", func(r *catalog.Runtime) {
		r.Default = &catalog.Model{Source: catalog.FromHub, Name: "a/usual", ContextLength: 4096}
	})
	image("nim", func(r *catalog.Runtime) { r.Optional = true })
	return o
}

func TestCheckModelOfADraft(t *testing.T) {
	hub := func(name string) *catalog.Model { return &catalog.Model{Source: catalog.FromHub, Name: name} }
	for name, c := range map[string]struct {
		kind   catalog.WorkloadKind
		image  string
		said   *catalog.Model
		volume string
		want   *catalog.Model
		fields string
	}{
		"named":                    {image: "server", said: hub("a/b"), want: hub("a/b")},
		"source by the name":       {image: "server", said: &catalog.Model{Name: " a/b "}, want: hub("a/b")},
		"none where one is needed": {image: "server", fields: "model.name"},
		"the usual one": {image: "usual", want: &catalog.Model{Source: "hub", Name: "a/usual",
			ContextLength: 4096}},
		"another than the usual": {image: "usual", said: hub("a/b"), want: hub("a/b")},
		"of another source":      {image: "usual", said: &catalog.Model{Source: "storage"}, fields: "model.name"},
		"the usual one, longer": {image: "usual", said: &catalog.Model{ContextLength: 8192, Quantization: "fp8",
			Revision: "v1"}, want: &catalog.Model{Source: "hub", Name: "a/usual", Revision: "v1", ContextLength: 8192,
			Quantization: "fp8"}},
		"the image's own":           {image: "nim"},
		"more of the image's own":   {image: "nim", said: &catalog.Model{ContextLength: 1}, fields: "model.name"},
		"an image without":          {image: "llm", said: hub("a/b"), fields: "model.name"},
		"an image without, nothing": {image: "llm", said: &catalog.Model{}},
		"a notebook":                {kind: catalog.Notebook, image: "lab", said: hub("a/b"), fields: "model"},
		"all wrong": {image: "server", said: &catalog.Model{Source: "hub", Name: "x", Revision: "--x", ContextLength: -1,
			Quantization: "none"}, fields: "model.name model.revision model.contextLength model.quantization"},
		"own storage": {image: "server", said: &catalog.Model{Name: "/models/a"}, volume: "kept",
			want: &catalog.Model{Source: "storage", Name: "/models/a"}},
		"own storage that is new": {image: "server", said: &catalog.Model{Name: "/models/a"}, fields: "model.name"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Draft{Kind: catalog.Endpoint, Tenant: "vision", Size: "slice", Image: c.image, Lease: "8h", Model: c.said,
				Volume: c.volume}
			if c.kind != "" {
				d.Kind = c.kind
			}
			w, problems := Check(d, serving())
			var fields []string
			for _, p := range problems {
				fields = append(fields, p.Name)
			}
			if got := strings.Join(fields, " "); got != c.fields {
				t.Fatalf("want problems with %q, got %v", c.fields, problems)
			}
			if diff := cmp.Diff(c.want, w.Model); c.fields == "" && diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A model in a volume of the team brings the volume with it, once.
func TestAModelBringsItsVolume(t *testing.T) {
	for _, said := range [][]string{nil, {"models"}, {"data"}} {
		w, fields := Check(Draft{Kind: catalog.Endpoint, Tenant: "vision", Size: "slice", Image: "server", Lease: "8h",
			Mounts: said, Model: &catalog.Model{Name: "/shared/models/qwen"}}, serving())
		if len(fields) > 0 {
			t.Fatal(fields)
		}
		n := 0
		for _, m := range w.Mounts {
			if m.Name == "models" {
				n++
			}
		}
		if n != 1 || w.mountField("models") != "model.name" || w.mountField("data") != "mounts" {
			t.Errorf("with %v: got %v", said, w.Mounts)
		}
	}
}

// What was checked is what is granted, and what rules decide about.
func TestRulesSeeTheModel(t *testing.T) {
	w, fields := Check(Draft{Kind: catalog.Endpoint, Tenant: "vision", Size: "slice", Image: "server", Lease: "8h",
		Reason: "needed", Model: &catalog.Model{Name: "meta-llama/Llama-3.1-8B", ContextLength: 8192}}, serving())
	if len(fields) > 0 {
		t.Fatal(fields)
	}
	f := facts(t)
	rules, problems := policy.Compile([]policy.Rule{
		{Name: "licensed-weights", Outcome: policy.Approve, By: identity.Approver,
			When: `request.model.name.startsWith("meta-llama/") && request.model.engine == "vllm" && ` +
				`request.model.context_length > 4096`},
		{Name: "rest", When: "true", Outcome: policy.Allow}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	f.Policy = rules
	out, err := Submit(w, dana, f)
	if err != nil || out.Request.Decision.Rule != "licensed-weights" || out.Request.State != Pending {
		t.Fatalf("want it before an approver, got %+v %v", out.Request.Decision, err)
	}
	if made := newWorkload(out.Request, f); cmp.Diff(w.Model, made.Model) != "" || made.Model == nil {
		t.Errorf("want the workload to serve %v, got %v", w.Model, made.Model)
	}
	w.Model, w.Kind = nil, catalog.Notebook
	if out, err = Submit(w, dana, f); err != nil || out.Request.Decision.Rule != "rest" {
		t.Errorf("without a model: want the next rule, got %+v %v", out.Request.Decision, err)
	}
}
