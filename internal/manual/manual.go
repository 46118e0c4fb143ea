// Package manual renders docs/*.md for the help pages: Find gives a Document with its Sections as HTML without script,
// style or raw HTML; links between documents lead to their pages under /help. Screenshots are left out.
package manual

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/gpu-portal/gpu-portal/docs"
)

// Document is one text. Name is that of its file, without the ending.
type Document struct {
	Name     string
	Title    string // its first heading, which is not in HTML
	HTML     string
	Sections []Section
}

// Section is a heading below the title.
type Section struct {
	ID    string
	Title string
	Level int // 2 and up
}

// Path is the page of a document.
func Path(name string) string { return "/help/" + name }

// All are the documents of this build, by name. They are rendered once.
var All = sync.OnceValue(func() []Document {
	all, err := load(docs.Pages)
	if err != nil {
		panic(err) // they are compiled in: a test sees it first
	}
	return all
})

// Find gives a document by its name.
func Find(name string) (Document, bool) {
	all := All()
	i := slices.IndexFunc(all, func(d Document) bool { return d.Name == name })
	if i < 0 {
		return Document{}, false
	}
	return all[i], true
}

func load(files fs.FS) ([]Document, error) {
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, err
	}
	var all []Document
	for _, file := range names {
		source, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		d, err := render(strings.TrimSuffix(file, ".md"), source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// render leaves out raw HTML: goldmark escapes it unless told otherwise.
func render(name string, source []byte) (Document, error) {
	d := Document{Name: name}
	md := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(),
			parser.WithASTTransformers(util.Prioritized(transformer{&d}, 500))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tables{}, 1))))
	var out bytes.Buffer
	err := md.Convert(source, &out, parser.WithContext(parser.NewContext(parser.WithIDs(&ids{seen: map[string]int{}}))))
	d.HTML = out.String()
	return d, err
}

// transformer takes the title out, and fits headings, links and tables to the page.
type transformer struct{ d *Document }

// Transform implements parser.ASTTransformer.
func (t transformer) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	source := reader.Source()
	var title ast.Node
	var pictures []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 && title == nil {
				title, t.d.Title = n, plain(n, source)
				return ast.WalkContinue, nil
			}
			id, _ := n.AttributeString("id")
			raw, _ := id.([]byte)
			t.d.Sections = append(t.d.Sections, Section{ID: string(raw), Title: plain(n, source), Level: n.Level})
		case *ast.Image: // of the pages that the reader is on
			pictures = append(pictures, n)
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			n.Destination = []byte(destination(string(n.Destination)))
		}
		t.table(n)
		return ast.WalkContinue, nil
	})
	if title != nil {
		doc.RemoveChild(doc, title)
	}
	for _, n := range pictures {
		around := n.Parent()
		if around.RemoveChild(around, n); !around.HasChildren() {
			around.Parent().RemoveChild(around.Parent(), around)
		}
	}
}

// destination is where a link of a text leads on the portal. A file that is not served is on the project's own page of
// the release, which the portal does not know: such a link leads to the list of documents.
func destination(link string) string {
	file, fragment, _ := strings.Cut(link, "#")
	switch {
	case file == "" || strings.Contains(file, "://") || strings.HasPrefix(file, "/"):
		return link
	case path.Ext(file) != ".md" || strings.HasPrefix(file, "../"):
		return "/help"
	case fragment != "":
		return Path(strings.TrimSuffix(file, ".md")) + "#" + fragment
	}
	return Path(strings.TrimSuffix(file, ".md"))
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// ids makes the fragments of headings as GitHub does, so that links work there and here.
type ids struct{ seen map[string]int }

// Generate implements parser.IDs.
func (i *ids) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_':
			return r
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.ToLower(string(value)))
	n := i.seen[id]
	i.seen[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (i *ids) Put(value []byte) { i.seen[string(value)]++ }
