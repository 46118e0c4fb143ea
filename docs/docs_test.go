package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// threatID is how comments name a test of threats.md. A bare "T-AUTHZ" stands for the whole family.
var threatID = regexp.MustCompile(`\bT-[A-Z]{3,}(?:-\d)?\b`)

func TestEveryThreatIDResolves(t *testing.T) {
	listed, err := os.ReadFile("threats.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, id := range threatID.FindAllString(string(listed), -1) {
		known[id] = true
		known[strings.TrimRight(id, "-0123456789")] = true
	}
	found := 0
	eachSource(t, func(path, text string) {
		for _, id := range threatID.FindAllString(text, -1) {
			found++
			if !known[id] {
				t.Errorf("%s names %s, which threats.md does not list", path, id)
			}
		}
	})
	if found == 0 {
		t.Error("no source names a threat: is the tree where this test looks?")
	}
}

// eachSource reads everything in the repository that people write and that may point to a document.
func eachSource(t *testing.T, fn func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "node_modules" || name == "vendor" || strings.HasPrefix(name, ".") && name != ".." {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".templ", ".js", ".yaml", ".md", ".sql", ".tpl":
			text, err := os.ReadFile(path)
			fn(path, string(text))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGlossaryNamesPackages: each word stands in a package that is there, and its code has a word that the entry names.
func TestGlossaryNamesPackages(t *testing.T) {
	text, err := os.ReadFile("glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || strings.TrimSpace(cells[0]) == "word" ||
			strings.HasPrefix(cells[0], " ---") {
			continue
		}
		rows++
		dir := strings.Trim(strings.TrimSpace(cells[3]), "`")
		source := packageSource(t, filepath.Join("..", filepath.FromSlash(dir)))
		for word := range strings.SplitSeq(cells[0], ",") {
			if plain := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(word), " ", "")); !strings.Contains(source, plain) {
				t.Errorf("%s: %q is not in its code", dir, strings.TrimSpace(word))
			}
		}
	}
	if rows < 40 {
		t.Errorf("want the glossary's rows read, got %d", rows)
	}
}

// packageSource is the Go code of a package, in lower case and without spaces.
func packageSource(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return strings.NewReplacer(" ", "", "\n", "", "//", "").Replace(strings.ToLower(all.String()))
}
