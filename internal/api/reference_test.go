package api

import (
	"encoding/json"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/reference"
)

// The examples of the reference are ones that the API takes, as far as its document says.
func TestExamplesOfTheReferenceKeepTheDocument(t *testing.T) {
	a := New(Deps{})
	document, err := a.Document()
	if err != nil {
		t.Fatal(err)
	}
	d, err := reference.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	paths, registry, bodies := a.huma.OpenAPI().Paths, a.huma.OpenAPI().Components.Schemas, 0
	check := func(id, text string, s *huma.Schema, mode huma.ValidateMode) {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("%s: %v in %s", id, err, text)
			return
		}
		res := &huma.ValidateResult{}
		huma.Validate(registry, s, huma.NewPathBuffer(nil, 0), mode, v, res)
		for _, err := range res.Errors {
			t.Errorf("%s: %v in %s", id, err, text)
		}
	}
	for _, g := range d.Groups {
		for _, o := range g.Operations {
			item := paths[o.Path]
			op := map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch,
				"DELETE": item.Delete}[o.Method]
			if text := o.Body.Example(); text != "" {
				bodies++
				check(o.ID, text, op.RequestBody.Content[o.Body.Type].Schema, huma.ModeWriteToServer)
			}
		}
	}
	if bodies < 30 {
		t.Errorf("want the bodies of all operations, got %d", bodies)
	}
}
