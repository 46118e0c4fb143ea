package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are the texts for people, from the folder of this package.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*.md")
	if err != nil || len(found) < 8 {
		t.Fatalf("want the pages, got %q, %v", found, err)
	}
	return append(found, "../README.md")
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is a fenced block of a page.
type block struct {
	page, language, text string
	line                 int
}

// name is that of the file that a block shows, by its first line ("# site.yaml"); "" for none.
func (b block) name() string {
	first, _, _ := strings.Cut(b.text, "\n")
	name, is := strings.CutPrefix(first, "# ")
	if !is || strings.Contains(name, " ") {
		return ""
	}
	return name
}

var fence = regexp.MustCompile("^( *)```([a-z]*)$")

// blocks reads the fenced blocks of a page; those in lists lose their indentation.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	var all []block
	var open *block
	indent := ""
	for i, line := range strings.Split(readPage(t, page), "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && open == nil:
			indent, open = m[1], &block{page: page, language: m[2], line: i + 1}
		case m != nil:
			all, open = append(all, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s: the block at line %d has no end", page, open.line)
	}
	return all
}

// prose is a page without its fenced blocks.
func prose(t *testing.T, page string) string {
	t.Helper()
	var kept []string
	inside := false
	for line := range strings.SplitSeq(readPage(t, page), "\n") {
		if fence.MatchString(line) {
			inside = !inside
		} else if !inside {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	inCode   = regexp.MustCompile("`([^`\n]+)`")
	emphasis = regexp.MustCompile(`(?:^|[\s(|])\*([^*\n|]+)\*(?:[\s,.;:)|]|$)`)
)

// anchors are the fragments of a page's headings, as GitHub makes them.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(prose(t, page), -1) {
		found[strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_':
				return r
			case r == ' ':
				return '-'
			}
			return -1
		}, strings.ToLower(m[1]))] = true
	}
	return found
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
			if strings.HasPrefix(m[1], "https://") {
				continue
			}
			found++
			file, fragment, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if fragment != "" && !anchors(t, target)[fragment] {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
	if found < 30 {
		t.Errorf("want the links read, got %d", found)
	}
}

// ours are the folders of the repository that texts name.
var ours = regexp.MustCompile(`^(?:cmd|internal|views|static|migrations|charts|docs|e2e)(?:/[\w.\-]+)*/?$`)

// placeholder is a name that the reader fills in.
var placeholder = regexp.MustCompile(`NAME`)

func TestEveryPathIsThere(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		for _, m := range inCode.FindAllStringSubmatch(prose(t, page), -1) {
			if !ours.MatchString(m[1]) || placeholder.MatchString(m[1]) {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
	if found < 40 {
		t.Errorf("want the paths read, got %d", found)
	}
}

var settingRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// settings are those of the generated reference, which a test of its own holds to the code.
func settings(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, m := range settingRow.FindAllStringSubmatch(readPage(t, "configuration.md"), -1) {
		all = append(all, m[1])
	}
	return all
}

// TestEverySettingIsThere: what looks like a setting of the portal, "oidc.refresh", or like a value of the chart is
// one.
func TestEverySettingIsThere(t *testing.T) {
	known := settings(t)
	var groups []string
	for _, s := range known {
		if group, _, below := strings.Cut(s, "."); below && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	values := readPage(t, "../charts/gpu-portal/values.yaml")
	found := 0
	for _, page := range pages(t) {
		if page == "configuration.md" || page == "threats.md" || page == "glossary.md" {
			continue
		}
		text, _, _ := strings.Cut(prose(t, page), "\n## Changes") // there old names stand
		for _, m := range inCode.FindAllStringSubmatch(text, -1) {
			group, rest, below := strings.Cut(m[1], ".")
			if !below || !slices.Contains(groups, group) || strings.ContainsAny(m[1], " /(") || strings.HasSuffix(m[1], ".go") {
				continue
			}
			found++
			if group == "request" || slices.Contains(known, m[1]) || strings.Contains(values, "\n  "+rest+":") {
				continue
			}
			t.Errorf("%s names the setting %s, which there is not", page, m[1])
		}
	}
	if found < 5 {
		t.Errorf("want the settings read, got %d", found)
	}
}

// TestEveryCallIsThere: `GET /api/v1/…` and the paths in scripts are operations of the API.
func TestEveryCallIsThere(t *testing.T) {
	var spec struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	decode(t, "../internal/api/openapi.json", &spec)
	call := regexp.MustCompile(`(?:(GET|PUT|POST|PATCH|DELETE) )?(/api/v1/[\w\-/{}$]+)`)
	found := 0
	for _, page := range pages(t) {
		for _, m := range call.FindAllStringSubmatch(readPage(t, page), -1) {
			path := strings.NewReplacer("$request", "{id}", "$workload", "{id}", "/none", "/{id}").Replace(m[2])
			if strings.HasPrefix(path, "/api/v1/openapi") {
				continue
			}
			found++
			operation, is := spec.Paths[path]
			if _, has := operation[strings.ToLower(m[1])]; !is || m[1] != "" && !has {
				t.Errorf("%s names %s, which is no operation of the API", page, m[0])
			}
		}
	}
	if found < 15 {
		t.Errorf("want the calls read, got %d", found)
	}
}

// TestEveryMetricIsThere: the program or the agent has it, or its chart's rules would be about nothing.
func TestEveryMetricIsThere(t *testing.T) {
	known := readPage(t, "../charts/gpu-portal/templates/_rules.tpl")
	files, err := filepath.Glob("../charts/gpu-portal/files/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		known += readPage(t, f)
	}
	metric := regexp.MustCompile(`gpu_portal_[a-z_]+`)
	found := 0
	for _, page := range pages(t) {
		for _, name := range metric.FindAllString(prose(t, page), -1) {
			found++
			if !strings.Contains(known, name) {
				t.Errorf("%s names the metric %s, which neither alerts nor dashboard know", page, name)
			}
		}
	}
	if found < 3 {
		t.Errorf("want the metrics read, got %d", found)
	}
}

// TestEveryPageOfThePortalIsThere: what stands in italics is a text of the pages, word by word.
func TestEveryPageOfThePortalIsThere(t *testing.T) {
	files, err := filepath.Glob("../internal/i18n/locales/*.en.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var texts strings.Builder
	for _, f := range files {
		texts.WriteString(readPage(t, f))
	}
	found := 0
	for _, page := range []string{"users.md", "admins.md", "install.md", "api.md"} {
		for _, m := range emphasis.FindAllStringSubmatch(prose(t, page), -1) {
			found++
			if !strings.Contains(texts.String(), `: "`+m[1]+`"`) {
				t.Errorf("%s speaks of %q, which no page is called and no button says", page, m[1])
			}
		}
	}
	if found < 25 {
		t.Errorf("want the names read, got %d", found)
	}
}

func TestEveryMakeTargetIsThere(t *testing.T) {
	makefile := readPage(t, "../Makefile")
	target := regexp.MustCompile("`make ([a-z0-9-]+)`")
	found := 0
	for _, page := range pages(t) {
		for _, m := range target.FindAllStringSubmatch(readPage(t, page), -1) {
			found++
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which there is not", page, m[1])
			}
		}
	}
	if found < 8 {
		t.Errorf("want the targets read, got %d", found)
	}
}

// TestPagesAreShort: a README of one screen, lines that a terminal shows. Tables and links may be wider.
func TestPagesAreShort(t *testing.T) {
	if n := strings.Count(readPage(t, "../README.md"), "\n"); n > 75 {
		t.Errorf("the README has %d lines: what is more than a screen belongs to docs", n)
	}
	for _, page := range []string{"../README.md", "users.md", "admins.md", "api.md", "install.md", "develop.md"} {
		for i, line := range strings.Split(prose(t, page), "\n") {
			if len([]rune(line)) > 122 && !strings.HasPrefix(strings.TrimSpace(line), "|") {
				t.Errorf("%s:%d is %d characters wide", page, i+1, len([]rune(line)))
			}
		}
	}
}

var picture = regexp.MustCompile(`!\[([^\]]*)\]\(([^)]+)\)`)

// The limits of pictures, in bytes: of one, and of all.
const (
	pictureMost  = 120_000
	picturesMost = 1_500_000
)

// TestPicturesAreThereAndSmall: each is shown on a page with words for those who do not see it, and none is left over.
func TestPicturesAreThereAndSmall(t *testing.T) {
	shown, sum := map[string]bool{}, int64(0)
	for _, page := range pages(t) {
		for _, m := range picture.FindAllStringSubmatch(readPage(t, page), -1) {
			if len(strings.Fields(m[1])) < 4 {
				t.Errorf("%s: say what %s shows, got %q", page, m[2], m[1])
			}
			shown[filepath.Join(filepath.Dir(page), m[2])] = true
		}
	}
	var files []string
	for _, pattern := range []string{"*.png", "pictures/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if sum += info.Size(); info.Size() > pictureMost {
			t.Errorf("%s has %d bytes, want at most %d", file, info.Size(), pictureMost)
		}
		if !shown[file] && !shown[filepath.Join("..", "docs", file)] {
			t.Errorf("no page shows %s", file)
		}
		delete(shown, file)
		delete(shown, filepath.Join("..", "docs", file))
	}
	for file := range shown {
		t.Errorf("%s is not there", file)
	}
	if sum > picturesMost {
		t.Errorf("all have %d bytes, want at most %d", sum, picturesMost)
	}
}
