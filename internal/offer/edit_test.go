package offer

import (
	"strings"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

const written = `# Our own sizes.

sizes:
# Small and cheap.
- name: small
  title: Small # as the posters say
  hidden: true
  order: 10

# The last one.
- name: big
  title: Big
  about: |
    first

    # no comment
# Below are images.
images:
  - name: lab
    title: Lab

  - {name: flow, title: Flow}
# The end.
`

func TestAFieldIsSetAndNothingElseMoves(t *testing.T) {
	t.Parallel()
	yes := func(text, key, value string) string { return strings.Replace(text, key, value, 1) }
	for sentence, c := range map[string]struct {
		list      List
		name, key string
		value     string // "" takes it away
		want      string
	}{
		"a value takes the place of the old one": {Sizes, "small", "hidden", "false",
			yes(written, "hidden: true", "hidden: false")},
		"a field is taken away with its line": {Sizes, "small", "hidden", "", yes(written, "  hidden: true\n", "")},
		"the last field is taken away":        {Sizes, "small", "order", "", yes(written, "  order: 10\n", "")},
		"a new field stands at the end of its entry": {Sizes, "small", "preemptible", "true",
			yes(written, "  order: 10\n", "  order: 10\n  preemptible: true\n")},
		"a list that is indented": {Images, "lab", "hidden", "true",
			yes(written, "    title: Lab\n", "    title: Lab\n    hidden: true\n")},
		"what is not there cannot be taken away": {Images, "lab", "hidden", "", written},
	} {
		t.Run(sentence, func(t *testing.T) {
			node := scalar("!!bool", c.value)
			if c.value == "" {
				node = nil
			}
			got, err := setField(written, c.list, c.name, c.key, node)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A comment's look-alike inside a text must not be taken for one, and an entry on one line has no line of its own to
// add to: then the nodes are written out.
func TestWhereLinesDoNotDoNodesDo(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]List{"big": Sizes, "flow": Images} {
		got, err := setField(written, list, name, "hidden", scalar("!!bool", "true"))
		if err != nil {
			t.Fatal(err)
		}
		root, err := parse(got)
		if err != nil {
			t.Fatal(err)
		}
		items, i, err := entry(root, list, name)
		if err != nil {
			t.Fatal(err)
		}
		if at := pair(items.Content[i], "hidden"); at < 0 || items.Content[i].Content[at+1].Value != "true" {
			t.Errorf("%s is not hidden:\n%s", name, got)
		}
		if !strings.Contains(got, "# no comment") || !strings.Contains(got, "# Small and cheap.") ||
			!strings.Contains(got, "# The end.") {
			t.Errorf("%s: comments or texts are lost:\n%s", name, got)
		}
	}
	if _, err := setField(written, Sizes, "none", "hidden", nil); err == nil {
		t.Error("an entry that is not there: want an error")
	}
	for _, text := range []string{"", "- a", "sizes: 3", "a: [", "null"} {
		if _, err := setField(text, Sizes, "small", "hidden", nil); err == nil {
			t.Errorf("%q: want an error", text)
		}
	}
}

// Each entry of the first set can be hidden and shown again, and what comes of it is the text that was.
func TestHidingAndShowingGivesTheSameText(t *testing.T) {
	t.Parallel()
	text := string(catalog.DefaultYAML())
	for _, s := range catalog.Default().Sizes {
		hidden, err := setField(text, Sizes, s.Name, "hidden", scalar("!!bool", "true"))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(hidden, "\n") - strings.Count(text, "\n"); n != 1 {
			t.Errorf("%s: want one line more, got %d", s.Name, n)
		}
		back, err := setField(hidden, Sizes, s.Name, "hidden", nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, back); diff != "" {
			t.Errorf("%s: -want +got:\n%s", s.Name, diff)
		}
	}
}

func TestAnEditMeansWhatTheNodesSay(t *testing.T) {
	t.Parallel()
	means := func(value string) bool {
		got, err := setField(written, Sizes, "small", "title", scalar("!!str", value))
		if err != nil {
			// what YAML cannot hold
			return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0xFFFD || r > 0xD7FF })
		}
		root, err := parse(got)
		if err != nil {
			return false
		}
		items, i, err := entry(root, Sizes, "small")
		return err == nil && items.Content[i].Content[pair(items.Content[i], "title")+1].Value == value &&
			strings.Contains(got, "# The last one.")
	}
	for _, value := range []string{"plain", "true", "a: b", "# not a comment", "two\nlines", "ends with space ", `quote "`,
		"- dash", "größe", "null", "", "*alias", "a\n# b\n"} {
		if !means(value) {
			t.Errorf("%q does not come back", value)
		}
	}
	if err := quick.Check(means, &quick.Config{MaxCount: 300}); err != nil {
		t.Error(err)
	}
}

func TestASizeIsAppendedAsPeopleWrite(t *testing.T) {
	t.Parallel()
	size, _ := catalog.Default().Size("mig-1g.10gb")
	size.Name, size.Title, size.Titles = "mig-1g.12gb", "MIG slice 12 GB", nil
	got, err := appendSize(string(catalog.DefaultYAML()), size)
	if err != nil {
		t.Fatal(err)
	}
	c, problems := catalog.Parse([]byte(got), catalog.DefaultPools()...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	back, ok := c.Size(size.Name)
	if !ok {
		t.Fatal("it is not there")
	}
	if diff := cmp.Diff(size, back); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	head, tail, _ := strings.Cut(string(catalog.DefaultYAML()), "\nimages:")
	if !strings.HasPrefix(got, strings.TrimRight(head, "\n#")[:len(head)/2]) || !strings.HasSuffix(got, tail) {
		t.Error("the rest of the text was changed")
	}
	if !strings.Contains(got, "\n\n- name: mig-1g.12gb\n  title: MIG slice 12 GB\n  technology: mig\n") ||
		!strings.Contains(got, "  pricePerHour: {minor: 55, currency: EUR}\n") || strings.Contains(got, "placement: {}") {
		t.Errorf("it is not written as people do:\n%s", got[strings.Index(got, "mig-1g.12gb")-10:])
	}
}

func TestJSONBecomesYAML(t *testing.T) {
	t.Parallel()
	got,
		err := fromJSON(
		"{\n\t\"sizes\": [{\"name\": \"cpu\", \"title\": \"true\", \"cpu\": \"2\", \"order\": 3}], \"images\": []}")
	if err != nil {
		t.Fatal(err)
	}
	if want := "sizes:\n  - name: cpu\n    title: \"true\"\n    cpu: \"2\"\n    order: 3\nimages: []\n"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	if _, err := fromJSON("sizes: []"); err == nil {
		t.Error("YAML is no JSON")
	}
}
