package yamltext_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/yamltext"
)

// told are line and reason of each problem, and the words that were read.
func told(text string) (problems, words []string) {
	t, n := yamltext.Read(text)
	if n != nil {
		t.Members(n, "", []string{"all", "list"}, func(name, path string, v *yaml.Node) {
			if name == "all" {
				words = append(words, path+"="+t.Word(v, path))
				return
			}
			t.Items(v, path, func(path string, v *yaml.Node) { words = append(words, path+"="+t.Word(v, path)) })
		})
	}
	for _, p := range t.Problems {
		problems = append(problems, strconv.Itoa(p.Line)+" "+p.Reason.ID)
	}
	return problems, words
}

func TestEveryProblemHasItsLine(t *testing.T) {
	for name, c := range map[string]struct {
		text     string
		problems []string
		words    []string
	}{
		"nothing":    {text: "# nothing\n"},
		"words":      {text: "all: 4h\nlist:\n- a\n- null\n", words: []string{"all=4h", "list.0=a", "list.1="}},
		"no YAML":    {text: "all: 1\n  b: [", problems: []string{"2 yamltext.syntax"}},
		"no mapping": {text: "- a\n", problems: []string{"1 yamltext.want_map"}},
		"unknown and twice": {text: "all: 1\nal: 2\nall: 3\n", problems: []string{"2 yamltext.unknown", "3 yamltext.twice"},
			words: []string{"all=1"}},
		"no list, no value": {text: "all: {}\nlist: a\n", problems: []string{"1 yamltext.want_value", "2 yamltext.want_list"},
			words: []string{"all="}},
		"an alias": {text: "list: &a [x]\nall: *a\n", problems: []string{"2 yamltext.want_value"},
			words: []string{"list.0=x", "all="}},
		"too long": {text: strings.Repeat("#", yamltext.Longest+1), problems: []string{"1 yamltext.too_long"}},
	} {
		t.Run(name, func(t *testing.T) {
			problems, words := told(c.text)
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.words, words); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is said of a field that is not there stands at what is around it.
func TestProblemsOfFieldsHaveLines(t *testing.T) {
	text, n := yamltext.Read("all: 1\nlist:\n- a\n- b\n")
	text.Members(n, "", nil, func(name, path string, v *yaml.Node) {
		if name == "list" {
			text.Items(v, path, func(string, *yaml.Node) {})
		}
	})
	text.Place([]fault.Field{{Name: "list.1.amount", Reason: i18n.T("x")}, {Name: "all", Reason: i18n.T("y")},
		{Name: "none", Reason: i18n.T("z")}})
	var lines []int
	for _, p := range text.Problems {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff([]int{1, 1, 4}, lines); diff != "" {
		t.Error(diff)
	}
}
