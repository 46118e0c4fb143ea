package api

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

func TestTheDocumentCanBeWritten(t *testing.T) {
	a := New(Deps{Version: "test"})
	doc, err := a.Document()
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := json.Unmarshal(doc, &read); err != nil {
		t.Fatal(err)
	}
	if read["openapi"] != "3.1.0" {
		t.Errorf("want OpenAPI 3.1, got %v", read["openapi"])
	}
}

// TestEveryOperationNamesAnAction: an operation whose action has no rule would be one that nobody thought about.
func TestEveryOperationNamesAnAction(t *testing.T) {
	known := map[identity.Action]bool{}
	for _, a := range identity.Actions() {
		known[a] = true
	}
	ids := map[string]bool{}
	for _, op := range New(Deps{}).Operations() {
		if !known[op.Action] {
			t.Errorf("%s %s: action %q has no rule", op.Method, op.Path, op.Action)
		}
		if ids[op.ID] {
			t.Errorf("operation id %s is used twice", op.ID)
		}
		ids[op.ID] = true
	}
	if len(ids) == 0 {
		t.Error("want operations")
	}
}

// TestTheDocumentIsCurrent: openapi.json is what clients are made from; "make generate" writes it.
func TestTheDocumentIsCurrent(t *testing.T) {
	want, err := New(Deps{Version: "dev"}).Document()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want)+"\n" {
		t.Error("openapi.json is not what the code says; run: go run ./cmd/portal openapi > internal/api/openapi.json")
	}
}

// TestListsHaveOneForm: every list answers items and next, and next goes back as cursor where there are pages.
func TestListsHaveOneForm(t *testing.T) {
	a := New(Deps{})
	for _, op := range a.Operations() {
		if !strings.HasPrefix(op.ID, "list-") && op.ID != "get-workload-history" {
			continue
		}
		schema := a.huma.OpenAPI().Paths[op.Path].Get.Responses["200"].Content["application/json"].Schema
		list := a.huma.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
		if list == nil || list.Properties["items"] == nil || list.Properties["next"] == nil || len(list.Properties) != 2 {
			t.Errorf("%s: want items and next", op.ID)
		}
	}
}

// TestProblemsHaveOneForm: every refusal in the document is the schema Problem.
func TestProblemsHaveOneForm(t *testing.T) {
	for path, item := range New(Deps{}).huma.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Delete} {
			if op == nil {
				continue
			}
			for code, response := range op.Responses {
				if code < "400" {
					continue
				}
				content := response.Content["application/problem+json"]
				if content == nil || content.Schema.Ref != "#/components/schemas/Problem" || content.Example == nil {
					t.Errorf("%s %s %s: want a Problem with an example", op.Method, path, code)
				}
			}
		}
	}
}
