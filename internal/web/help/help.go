// Package help has the help pages: the texts of docs/ (package manual), the reference of the REST API (package
// reference), release notes (package news), and about: version, status page, contact.
package help

import (
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/manual"
	"github.com/gpu-portal/gpu-portal/internal/reference"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/help"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Pages are those of the area.
type Pages struct {
	*page.Frame
	Reference func() (reference.Document, error) // of the API
	PortalURL string
}

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows(page.HelpPath, identity.ReadCatalog, page.Page{Name: "help", Build: w.index}),
		w.Shows(page.NewsPath, identity.ReadCatalog, page.Page{Name: "news", Build: w.news}),
		w.ShowsAll(page.ReferencePath, page.Page{Name: "reference", Build: w.reference}),
		w.ShowsAll(page.ReferencePath+"/:operation", page.Page{Name: "operation", Build: w.operation}),
		w.Shows(page.HelpPath+"/:document", identity.ReadCatalog, page.Page{Name: "manual", Build: w.document}),
	}
}

// textLang is the language of docs/.
const textLang = "en"

func (w *Pages) index(k page.Call) (page.View, error) {
	say := k.Words
	m := help.IndexModel{Header: ui.HeaderModel{Title: say.S("layout.help"), Lead: say.S("help.lead")}, Version: w.Version}
	for _, d := range page.Documents(k) {
		m.Items = append(m.Items, help.ItemModel{ID: d.Name, Title: d.Title, Href: manual.Path(d.Name)})
	}
	return page.View{Title: m.Header.Title, Body: help.Index(m)}, nil
}

// document shows one text to everybody: what is written there is no secret, and texts link to each other.
func (w *Pages) document(k page.Call) (page.View, error) {
	d, ok := manual.Find(k.Get("document"))
	if !ok {
		return page.View{}, fault.New(fault.NotFound, i18n.T("help.no_document"))
	}
	m := help.PageModel{HTML: d.HTML, Lang: textLang, Header: ui.HeaderModel{Title: d.Title,
		Crumbs: []ui.CrumbModel{{Label: k.Words.S("layout.help"), Href: page.HelpPath}, {Label: d.Title}}}}
	for _, s := range d.Sections {
		if s.Level == 2 {
			m.Sections = append(m.Sections, help.SectionModel{Title: s.Title, Href: "#" + s.ID})
		}
	}
	return page.View{Title: d.Title, Body: help.Page(m)}, nil
}
