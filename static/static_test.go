package static

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
)

type library struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	License string            `json:"license"`
	Folder  string            `json:"folder"`
	Source  string            `json:"source"`
	Files   map[string]string `json:"files"`
}

func TestVendoredFilesAreTheOnesNamed(t *testing.T) {
	var libraries []library
	if err := json.Unmarshal(contents["vendor/vendor.json"], &libraries); err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"vendor/vendor.json": true}
	for _, lib := range libraries {
		if lib.Name == "" || lib.Version == "" || lib.License == "" || lib.Source == "" {
			t.Errorf("%s: name, version, license and source must be said", lib.Folder)
		}
		if _, ok := lib.Files["LICENSE"]; !ok {
			t.Errorf("%s: no LICENSE", lib.Folder)
		}
		for file, want := range lib.Files {
			name := path.Join("vendor", lib.Folder, file)
			named[name] = true
			sum := sha256.Sum256(contents[name])
			if got := hex.EncodeToString(sum[:]); want != got {
				t.Errorf("%s: want sha256 %s, got %s", name, want, got)
			}
		}
	}
	err := fs.WalkDir(files, "vendor", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !named[name] {
			t.Errorf("%s is not in vendor.json", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSubsetOfPatternFlyStaysSmall(t *testing.T) {
	const limit = 250_000
	if got := len(contents["vendor/patternfly-6.6.1/patternfly.css"]); got > limit {
		t.Errorf("want at most %d bytes, got %d", limit, got)
	}
}

func TestEverySheetIsInTheOrder(t *testing.T) {
	sheets, err := files.ReadDir("css")
	if err != nil {
		t.Fatal(err)
	}
	for _, sheet := range sheets {
		name := strings.TrimSuffix(sheet.Name(), ".css")
		if !slices.Contains(cssOrder, name) {
			t.Errorf("css/%s is not in cssOrder", sheet.Name())
		}
	}
}

func TestSheetsAndScriptsKeepThePolicy(t *testing.T) {
	for name, content := range contents {
		if strings.HasPrefix(name, "vendor/") {
			continue
		}
		text := string(content)
		for _, address := range []string{"http://", "https://", "@import"} {
			if path.Ext(name) == ".css" && strings.Contains(text, address) {
				t.Errorf("%s refers to another place: %s", name, address)
			}
		}
		for _, forbidden := range []string{"eval(", "new Function", ".cssText", "setAttribute('style'", "document.write",
			".innerHTML"} {
			if path.Ext(name) == ".js" && strings.Contains(text, forbidden) {
				t.Errorf("%s uses %s, which the page's policy refuses", name, forbidden)
			}
		}
		if path.Ext(name) == ".js" && !strings.HasPrefix(text, "// ") {
			t.Errorf("%s must open with a line that says what it improves", name)
		}
	}
}

func TestHandler(t *testing.T) {
	cases := map[string]struct {
		url         string
		status      int
		cache, kind string
	}{
		"a file under its hash is cached for good": {Path("css/app.css"), 200, "public, max-age=31536000, immutable",
			"text/css; charset=utf-8"},
		"scripts have the type that modules need": {Path("dist/app.js"), 200, "public, max-age=31536000, immutable",
			"text/javascript; charset=utf-8"},
		"fonts have their type": {Path("vendor/patternfly-6.6.1/fonts/RedHatTextVF.woff2"), 200,
			"public, max-age=31536000, immutable", "font/woff2"},
		"an older hash finds today's file, and not cached": {"/static/000000000000/css/app.css", 200, "no-cache",
			"text/css; charset=utf-8"},
		"an unknown file is not found": {"/static/" + hash + "/css/none.css", 404, "", "text/plain; charset=utf-8"},
		"a folder is not listed":       {"/static/" + hash + "/css/", 404, "", "text/plain; charset=utf-8"},
		"no hash, no file":             {"/static/app.css", 404, "", "text/plain; charset=utf-8"},
		"a path cannot climb out":      {"/static/" + hash + "/../static.go", 404, "", "text/plain; charset=utf-8"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.url, nil))
			if c.status != w.Code || c.cache != w.Header().Get("Cache-Control") || c.kind != w.Header().Get("Content-Type") {
				t.Errorf("want %d %q %q, got %d %q %q", c.status, c.cache, c.kind, w.Code, w.Header().Get("Cache-Control"),
					w.Header().Get("Content-Type"))
			}
		})
	}
}

func TestIconsAreRead(t *testing.T) {
	if want, got := strings.Count(string(contents["icons.svg"]), "<symbol "), len(icons); want != got {
		t.Errorf("icons.svg holds %d symbols, %d were read", want, got)
	}
}

// TestScriptsOfTheConsoleStandAlone: the console's plugin serves them without what they could import.
func TestScriptsOfTheConsoleStandAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"js/summary.js", "js/dialog.js"} {
		for line := range strings.Lines(string(Bytes(name))) {
			if strings.HasPrefix(line, "import ") {
				t.Errorf("%s imports: %s", name, line)
			}
		}
	}
}
