package web_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestAreasStandAlone: an area imports what all share and no other area, so that it can be read and changed by itself.
func TestAreasStandAlone(t *testing.T) {
	t.Parallel()
	const prefix = "github.com/gpu-portal/gpu-portal/internal/web"
	below := map[string][]string{"page": {}, "blocks": {"page"}}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	areas := 0
	for _, e := range entries {
		if !e.IsDir() || e.Name() == "webtest" || e.Name() == "testdata" {
			continue
		}
		may, shared := below[e.Name()]
		if !shared {
			may = []string{"page", "blocks"}
			areas++
		}
		files, err := filepath.Glob(filepath.Join(e.Name(), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", e.Name(), err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range f.Imports {
				path, _ := strconv.Unquote(spec.Path.Value)
				of, ours := strings.CutPrefix(path, prefix)
				if ours && !slices.Contains(may, strings.TrimPrefix(of, "/")) {
					t.Errorf("%s imports %s", file, path)
				}
			}
		}
	}
	if areas < 9 {
		t.Errorf("want every area looked at, got %d", areas)
	}
}
