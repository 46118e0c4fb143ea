package manual

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/PuerkitoBio/goquery"
)

// Every link between the texts leads to a document and a heading that are there, and no page carries what the policy
// of the portal forbids.
func TestTheDocumentsOfThisBuild(t *testing.T) {
	t.Parallel()
	fragments := map[string]bool{}
	for _, d := range All() {
		fragments[Path(d.Name)] = true
		for _, s := range d.Sections {
			fragments[Path(d.Name)+"#"+s.ID] = true
		}
	}
	if len(fragments) < 50 {
		t.Fatalf("want documents with sections, got %d places", len(fragments))
	}
	for _, d := range All() {
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(d.HTML))
		if err != nil {
			t.Fatal(err)
		}
		if d.Title == "" || doc.Find("h1, script, style, [style], [onclick]").Length() > 0 {
			t.Errorf("%s: want a title, and neither a second one nor script nor style", d.Name)
		}
		doc.Find("table").Each(func(_ int, table *goquery.Selection) {
			if table.Find("caption").Text() == "" || table.Find("th:not([scope])").Length() > 0 {
				t.Errorf("%s: a table has no caption, or no scope", d.Name)
			}
		})
		doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
			href := a.AttrOr("href", "")
			if strings.HasPrefix(href, "#") {
				href = Path(d.Name) + href
			}
			if strings.HasPrefix(href, "/help/") && !fragments[href] || strings.Contains(href, ".md") {
				t.Errorf("%s: the link to %s leads nowhere", d.Name, href)
			}
		})
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	all, err := load(fstest.MapFS{"a.md": {Data: []byte("# The `title`\n\n## One, two\n\n" +
		"[b](b.md#x) [c](../charts/c.yaml) [d](https://example.org/d.md) [e](#one-two) <script>alert(1)</script>\n\n" +
		"## One, two\n\n|x|\n|--:|\n|1|\n")}, "b.txt": {Data: []byte("no")}})
	if err != nil || len(all) != 1 {
		t.Fatalf("want one document, got %d, %v", len(all), err)
	}
	d := all[0]
	if d.Name != "a" || d.Title != "The title" || len(d.Sections) != 2 ||
		d.Sections[0] != (Section{"one-two", "One, two", 2}) ||
		d.Sections[1].ID != "one-two-1" {
		t.Errorf("got %+v", d)
	}
	for _, want := range []string{`href="/help/b#x"`, `href="/help"`, `href="https://example.org/d.md"`, `href="#one-two"`,
		`<caption class="pf-v6-screen-reader">One, two</caption>`, `<th scope="col">x</th>`, "<td>1</td>"} {
		if !strings.Contains(d.HTML, want) {
			t.Errorf("want %s in %s", want, d.HTML)
		}
	}
	for _, never := range []string{"<script", "style=", "<h1"} {
		if strings.Contains(d.HTML, never) {
			t.Errorf("want no %s in %s", never, d.HTML)
		}
	}
}
