package i18n_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"
	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// message is an id with the words of each plural form.
type message map[string]string

// messages reads one language's files, and refuses an id that is written down twice.
func messages(t *testing.T, lang string) map[string]message {
	t.Helper()
	files, err := filepath.Glob("locales/*." + lang + ".yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no messages for %s: %v", lang, err)
	}
	all := map[string]message{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var entries map[string]any
		if err := yaml.Unmarshal(data, &entries); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for id, value := range entries {
			if all[id] != nil {
				t.Errorf("%s: %s is written down in another file as well", file, id)
			}
			all[id] = message{}
			switch v := value.(type) {
			case string:
				all[id]["other"] = v
			case map[string]any:
				for form, words := range v {
					all[id][form] = fmt.Sprint(words)
				}
			default:
				t.Errorf("%s: %s is neither words nor plural forms", file, id)
			}
		}
	}
	return all
}

var argument = regexp.MustCompile(`\{\{\s*\.([A-Za-z]+)\s*\}\}`)

// arguments are the names between braces, of all forms together.
func (m message) arguments() []string {
	names := map[string]bool{}
	for _, words := range m {
		for _, found := range argument.FindAllStringSubmatch(words, -1) {
			names[found[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// hasPlural reports whether a language says one thing otherwise than several (Unicode CLDR: Chinese and Korean do not).
func hasPlural(tag language.Tag) bool { return tag != language.Chinese && tag != language.Korean }

func TestEveryLanguageSaysTheSame(t *testing.T) {
	english := messages(t, "en")
	for _, tag := range i18n.Languages[1:] {
		other := messages(t, tag.String())
		for id, m := range english {
			o, ok := other[id]
			switch {
			case !ok:
				t.Errorf("%s: %s is missing", tag, id)
			case !slices.Equal(m.arguments(), o.arguments()):
				t.Errorf("%s: want %s with the arguments %v, got %v", tag, id, m.arguments(), o.arguments())
			case hasPlural(tag) && (m["one"] == "") != (o["one"] == ""):
				t.Errorf("%s: %s has plural forms in one language only", tag, id)
			case !hasPlural(tag) && len(o) > 1:
				t.Errorf("%s: %s has forms that this language does not know", tag, id)
			}
		}
		for id := range other {
			if english[id] == nil {
				t.Errorf("%s: %s is in no other language", tag, id)
			}
		}
	}
}

func TestTheLanguageIsTheReaders(t *testing.T) {
	bundle := i18n.MustLoad()
	for lang, want := range map[string]string{"zh": "zh", "zh-CN,zh;q=0.9,en;q=0.8": "zh", "zh-Hans-SG": "zh",
		"ko-KR": "ko",
		"de-AT": "de", "fr, ko;q=0.5": "ko", "fr": "en", "": "en"} {
		if got := bundle.For(lang); got.Lang() != want {
			t.Errorf("%s: want %s, got %s", lang, want, got.Lang())
		}
	}
	for _, tag := range i18n.Languages {
		if i18n.Name(tag) == "" {
			t.Errorf("%s has no name", tag)
		}
	}
}

var (
	// An id as it stands in code: dots between words, in quotes.
	quoted = regexp.MustCompile("[\"`]([a-z][a-z0-9_-]*(?:\\.[a-z0-9_-]+)+)(\\.?)[\"`]")
	// What takes an id.
	takes = regexp.MustCompile(`(?:\bi18n\.T|\bT|\.S|\btext)\(\s*"([a-z][a-z0-9_.-]*)"(\s*\+)?`)
)

// source calls look with every line of Go and templ that we wrote.
func source(t *testing.T, look func(file, line string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, dir := range []string{"internal", "views", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if err == nil && d.IsDir() && strings.HasSuffix(name, "test") {
				return fs.SkipDir // what only tests use says what it likes
			}
			if err != nil || d.IsDir() || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") ||
				(!strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".templ")) {
				return err
			}
			data, err := os.ReadFile(path)
			for _, line := range strings.Split(string(data), "\n") {
				look(path, line)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryIDInCodeHasWords(t *testing.T) {
	english := messages(t, "en")
	prefixed := func(prefix string) bool {
		for id := range english {
			if strings.HasPrefix(id, prefix) {
				return true
			}
		}
		return false
	}
	source(t, func(file, line string) {
		for _, found := range takes.FindAllStringSubmatch(line, -1) {
			id, continued := found[1], found[2] != ""
			if continued && !prefixed(id) {
				t.Errorf("%s: no message begins with %s", file, id)
			}
			if !continued && english[id] == nil && strings.Contains(id, ".") {
				t.Errorf("%s: there are no words for %s", file, id)
			}
		}
	})
}

// Words that nobody uses are words that nobody corrects.
func TestEveryMessageIsUsed(t *testing.T) {
	used, stems := map[string]bool{}, map[string]bool{}
	stem := regexp.MustCompile(`"([a-z][a-z0-9_-]*\.[a-z0-9_.-]*)"\s*\+`)
	source(t, func(_, line string) {
		for _, found := range quoted.FindAllStringSubmatch(line, -1) {
			used[found[1]] = true
		}
		for _, found := range stem.FindAllStringSubmatch(line, -1) {
			stems[found[1]] = true
		}
	})
	for id := range messages(t, "en") {
		begun := false
		for s := range stems {
			begun = begun || strings.HasPrefix(id, s)
		}
		if !used[id] && !begun {
			t.Errorf("nobody says %s", id)
		}
	}
}

// What is put together from a closed list is asked for word by word.
func TestEveryValueOfAListHasAWord(t *testing.T) {
	var ids []string
	add := func(prefix string, values ...string) {
		for _, v := range values {
			ids = append(ids, prefix+v)
		}
	}
	for _, k := range audit.Kinds() {
		add("audit.", string(k))
	}
	for _, s := range workload.States() {
		add("state.", string(s))
	}
	for _, s := range request.States() {
		add("request.state.", string(s))
	}
	for _, r := range []identity.Role{identity.Developer, identity.Owner, identity.Approver, identity.Admin,
		identity.Auditor} {
		add("role.", string(r))
	}
	for _, o := range []policy.Outcome{policy.Allow, policy.Approve, policy.Refuse} {
		add("policy.", string(o))
	}
	for _, k := range fault.Kinds() {
		add("problem.", string(k))
	}
	for _, i := range []catalog.Isolation{catalog.IsolationHard, catalog.IsolationMemory, catalog.IsolationNone,
		catalog.IsolationUnknown} {
		add("isolation."+string(i), "", ".meaning")
		add("start.isolation_", string(i))
		add("web.isolation_", string(i))
	}
	for _, s := range []workload.StepName{workload.StepDecided, workload.StepCreated, workload.StepPlaced,
		workload.StepImage, workload.StepReady} {
		add("step.", string(s))
		add("step.todo.", string(s))
	}
	add("kind.", string(catalog.Notebook), string(catalog.Endpoint))
	for _, tag := range i18n.Languages {
		all := messages(t, tag.String())
		for _, id := range ids {
			if all[id] == nil {
				t.Errorf("%s: there is no word for %s", tag, id)
			}
		}
	}
}

func TestATextIsPutIntoWordsInEachLanguage(t *testing.T) {
	bundle := i18n.MustLoad()
	text := i18n.T("request.already_decided", "State", i18n.T("request.state.approved"))
	for lang, want := range map[string]string{"en": "This request is already decided: approved.",
		"de": "Über diese Anfrage ist schon entschieden: genehmigt."} {
		if got := bundle.For(lang).Say(text); got != want {
			t.Errorf("%s: want %q, got %q", lang, want, got)
		}
	}
}

// TestATitleIsThatOfTheReader: also inside of another text, and after it was stored.
func TestATitleIsThatOfTheReader(t *testing.T) {
	bundle := i18n.MustLoad()
	titled := i18n.Titled("Large", map[string]string{"de": "Groß", "zh": "大型"})
	data, err := json.Marshal(i18n.T("request.size_nowhere", "Size", titled))
	if err != nil {
		t.Fatal(err)
	}
	var text i18n.Text
	if err := json.Unmarshal(data, &text); err != nil {
		t.Fatal(err)
	}
	for lang, want := range map[string]string{"en": "Large", "de": "Groß", "zh": "大型", "ko": "Large"} {
		if got := bundle.For(lang).Say(titled); got != want {
			t.Errorf("%s: want %q, got %q", lang, want, got)
		}
		if got := bundle.For(lang).Say(text); !strings.Contains(got, want) {
			t.Errorf("%s: want %q in %q", lang, want, got)
		}
	}
	if got := bundle.For("de").Say(i18n.Titled("Large", nil)); got != "Large" {
		t.Errorf("want the one title that there is, got %q", got)
	}
}

// TestPseudoKeepsArguments: what stands between braces is data, and none of ours is without brackets.
func TestPseudoKeepsArguments(t *testing.T) {
	pseudo, err := i18n.Pseudo()
	if err != nil {
		t.Fatal(err)
	}
	english := i18n.MustLoad().For("en")
	for id, m := range messages(t, "en") {
		pairs := []any{}
		for _, name := range m.arguments() {
			if pairs = append(pairs, name, "aeiou"); name == "Count" {
				pairs[len(pairs)-1] = 7
			}
		}
		said, meant := pseudo.S(id, pairs...), english.S(id, pairs...)
		if strings.Count(said, "aeiou") != strings.Count(meant, "aeiou") {
			t.Errorf("%s: an argument is missing in %q", id, said)
		}
		if meant != "" && (!strings.HasPrefix(said, "⟦") || !strings.HasSuffix(said, "⟧")) {
			t.Errorf("%s: want brackets, got %q", id, said)
		}
	}
}
