package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
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

// call asks a surface without any service, as somebody who is signed in: what is refused is refused before it is
// carried out.
func call(t *testing.T, method, path, body string) (int, Problem) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	someone := identity.Actor{Person: identity.Person{ID: "p-1"}, Via: identity.ViaToken}
	r = r.WithContext(identity.WithActor(context.Background(), someone))
	w := httptest.NewRecorder()
	New(Deps{}).ServeHTTP(w, r)
	var p Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return w.Code, p
}

// TestUnknownNamesAreRefused: a misspelt name that is passed over would answer another question.
func TestUnknownNamesAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ method, path, body, field, reason string }{
		"a parameter": {"GET", "/api/v1/workloads?frobnicate=1", "", "frobnicate", "Unknown query parameter."},
		"a parameter that is nearly one": {"GET", "/api/v1/audit?curser=1", "", "curser",
			"Unknown query parameter. Did you mean cursor?"},
		"a parameter in other letters": {"GET", "/api/v1/audit?Cursor=1", "", "Cursor",
			"Unknown query parameter. Did you mean cursor?"},
		"a field": {"POST", "/api/v1/requests/preview", `{"frobnicate":1}`, "frobnicate", "Unknown field."},
		"a field that is nearly one": {"POST", "/api/v1/requests/preview", `{"tennant":"vision"}`, "tennant",
			"Unknown field. Did you mean tenant?"},
		"a field of an object in a list": {"PUT", "/api/v1/account/notifications",
			`{"language":"en","choices":[{"kind":"x","chanels":[]}]}`, "choices[0].chanels",
			"Unknown field. Did you mean channels?"},
		"of an operation without a body": {"DELETE", "/api/v1/workloads/w-1?force=true", "", "force",
			"Unknown query parameter."},
	} {
		status, p := call(t, c.method, c.path, c.body)
		found := false
		for _, f := range p.Fields {
			found = found || f.Name == c.field && f.Reason == c.reason
		}
		if status != http.StatusUnprocessableEntity || !found {
			t.Errorf("%s: want 422 and %q: %q, got %d, %+v", name, c.field, c.reason, status, p.Fields)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9000) + "1" + strings.Repeat("}", 9000)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"deep": {"POST", "/api/v1/requests", deep, http.StatusUnprocessableEntity, "nested too deeply"},
		"long": {"POST", "/api/v1/requests", `"` + strings.Repeat("x", maxBody) + `"`,
			http.StatusRequestEntityTooLarge, "64 KiB"},
		"a long catalog": {"POST", "/api/v1/catalog/check", strings.Repeat("x", 600<<10), http.StatusRequestEntityTooLarge,
			"512 KiB"},
	} {
		status, p := call(t, c.method, c.path, c.body)
		says := p.Detail
		for _, f := range p.Fields {
			says += " " + f.Reason
		}
		if status != c.status || !strings.Contains(says, c.says) {
			t.Errorf("%s: want %d and %q, got %d, %s", name, c.status, c.says, status, says)
		}
	}
}

// TestStrangersHearOnlyThatTheyAreOnes: what is wrong with a call is for those who may make it.
func TestStrangersHearOnlyThatTheyAreOnes(t *testing.T) {
	a := New(Deps{})
	for _, op := range a.Operations() {
		r := httptest.NewRequest(op.Method, strings.NewReplacer("{", "", "}", "").Replace(op.Path)+"?nonsense=1",
			strings.NewReader(`{"nonsense":1}`))
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s %s: %d", op.Method, op.Path, w.Code)
		}
	}
}
