package manual

import (
	"github.com/yuin/goldmark/ast"
	tableast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

const caption = "caption"

// table names a table after its section and the heads after their columns, for screen readers.
func (t transformer) table(n ast.Node) {
	switch n := n.(type) {
	case *tableast.Table:
		name := t.d.Title
		if len(t.d.Sections) > 0 {
			name = t.d.Sections[len(t.d.Sections)-1].Title
		}
		n.SetAttributeString(caption, []byte(name))
	case *tableast.TableHeader:
		for cell := n.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cell.SetAttributeString("scope", []byte("col"))
		}
	}
}

// tables writes the frame of a table: a region that scrolls sideways where the table is wider than the page, by
// keyboard too, so that the page itself never does.
type tables struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (tables) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(tableast.KindTable, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			_, err := w.WriteString("</table></div>\n")
			return ast.WalkContinue, err
		}
		name, _ := n.AttributeString(caption)
		raw, _ := name.([]byte)
		title := string(util.EscapeHTML(raw))
		_, err := w.WriteString(`<div class="gp-manual__table" role="region" tabindex="0" aria-label="` + title +
			`"><table><caption class="pf-v6-screen-reader">` + title + "</caption>\n")
		return ast.WalkContinue, err
	})
}
