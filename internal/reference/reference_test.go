package reference_test

import (
	"encoding/json"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/reference"
)

// document is that of the API, as it is committed.
func document(t *testing.T) reference.Document {
	t.Helper()
	b, err := os.ReadFile("../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := reference.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func find(t *testing.T, id string) reference.Operation {
	t.Helper()
	o, _, ok := document(t).Find(id)
	if !ok {
		t.Fatalf("no operation %s", id)
	}
	return o
}

func TestNothingOfTheDocumentIsLost(t *testing.T) {
	b, err := os.ReadFile("../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var raw struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	want, got := 0, 0
	for _, methods := range raw.Paths {
		want += len(methods)
	}
	for _, g := range document(t).Groups {
		for _, o := range g.Operations {
			got++
			if o.Summary == "" || o.Answer.Status == 0 || len(o.Errors) == 0 {
				t.Errorf("%s: no summary, answer or errors", o.ID)
			}
			for _, e := range o.Errors {
				if e.Type == "" || e.Title == "" {
					t.Errorf("%s: %d is not explained", o.ID, e.Status)
				}
			}
		}
	}
	if want != got || got < 100 {
		t.Errorf("want %d operations, got %d", want, got)
	}
}

func TestFieldsTellTypeLimitsAndWhatTheyHold(t *testing.T) {
	o := find(t, "submit-request")
	var required []string
	fields := map[string]reference.Field{}
	for _, f := range o.Body.Fields {
		if fields[f.Name] = f; f.Required {
			required = append(required, f.Name)
		}
	}
	if diff := cmp.Diff([]string{"kind", "size", "tenant"}, required); diff != "" {
		t.Error(diff)
	}
	if got := o.Body.Fields[0].Name; got != "kind" {
		t.Errorf("what is needed comes first, got %s", got)
	}
	kinds := []reference.Limit{{Name: "enum", Value: "notebook, endpoint, job"}}
	if diff := cmp.Diff(kinds, fields["kind"].Limits); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]reference.Limit{{Name: "maxLength", Value: "32"}, {Name: "example", Value: "8h"}},
		fields["lease"].Limits); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"mounts": "array of string", "env": "map of string", "model": "object",
		"retries": "integer"} {
		if got := fields[name].Type; got != want {
			t.Errorf("%s: want %s, got %s", name, want, got)
		}
	}
	if len(fields["model"].Fields) == 0 {
		t.Error("a model holds fields")
	}
	if got := find(t, "list-requests").Answer.Content.Fields[0]; got.Name != "items" || got.Type != "array of object" ||
		len(got.Fields) < 10 {
		t.Errorf("want the items of the list, got %s %s with %d fields", got.Name, got.Type, len(got.Fields))
	}
}

// A schema that holds itself ends, and a document without tags or types is read as well.
func TestASchemaThatHoldsItself(t *testing.T) {
	d, err := reference.Parse([]byte(`{"openapi": "3.1.0", "paths": {"/tree": {"get": {"operationId": "get-tree",
		"responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}}}}},
		"components": {"schemas": {"Tree": {"type": "object", "properties": {
			"name": {"type": "string"},
			"children": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Tree"}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	o, g, ok := d.Find("get-tree")
	if !ok || g.Name != "Other" {
		t.Fatalf("want it among others, got %q", g.Name)
	}
	if diff := cmp.Diff("{\n  \"children\": [],\n  \"name\": \"…\"\n}", o.Answer.Content.Example()); diff != "" {
		t.Error(diff)
	}
}

// Programs of every operation are ones: Go is formatted as gofmt does, Python and the shell read theirs.
func TestSnippetsArePrograms(t *testing.T) {
	var python, shell strings.Builder
	for _, g := range document(t).Groups {
		for _, o := range g.Operations {
			for _, s := range o.Snippets("https://gpu.example.org/") {
				call, _, _ := strings.Cut(s.Text, "Authorization")
				if s.Language == "curl" && strings.ContainsAny(call, "{}") {
					t.Errorf("%s: a parameter is not filled in: %s", o.ID, s.Text)
				}
				switch s.Language {
				case "Go":
					formatted, err := format.Source([]byte(s.Text))
					if err != nil {
						t.Fatalf("%s: %v\n%s", o.ID, err, s.Text)
					}
					if diff := cmp.Diff(string(formatted), s.Text); diff != "" {
						t.Errorf("%s: %s", o.ID, diff)
					}
					if _, err := parser.ParseFile(token.NewFileSet(), "", s.Text, 0); err != nil {
						t.Errorf("%s: %v", o.ID, err)
					}
				case "Python":
					python.WriteString(s.Text + "\n")
				case "curl":
					shell.WriteString(s.Text + "\n")
				}
			}
		}
	}
	for program, c := range map[string]struct{ text, check string }{
		"python3": {python.String(), "import ast, sys; ast.parse(sys.stdin.read())"}, "bash": {shell.String(), ""}} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Logf("%s is not here", program)
			continue
		}
		args := []string{"-n"}
		if c.check != "" {
			args = []string{"-c", c.check}
		}
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Stdin = strings.NewReader(c.text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
}

func TestASnippetHoldsWhatTheCallNeeds(t *testing.T) {
	got := find(t, "submit-request").Snippets("https://gpu.example.org")[0]
	want := `curl -sS -X POST \
  'https://gpu.example.org/api/v1/requests' \
  -H "Authorization: Bearer $PORTAL_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{
  "kind": "notebook",
  "size": "mig-1g.10gb",
  "tenant": "vision",
  "image": "jupyterlab"
}'`
	if diff := cmp.Diff(want, got.Text); diff != "" {
		t.Error(diff)
	}
}
