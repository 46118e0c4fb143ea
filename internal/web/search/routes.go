package search

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/search"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Routes are the addresses of the area. Each kind of result asks for its own right.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows(page.SearchPath, identity.ReadCatalog, page.Page{Name: "search", Build: w.search}),
		page.Get(page.SearchPath+"/results", identity.ReadCatalog, w.results),
	}
}

// search is the page, for those without scripts and for more results than the palette has room for.
func (w *Pages) search(k page.Call) (page.View, error) {
	q := parse(k.Get("q"))
	groups, err := w.find(k, q, mostOnPage)
	if err != nil {
		return page.View{}, err
	}
	m := search.PageModel{Header: ui.HeaderModel{Title: k.Words.S("search.title"), Lead: k.Words.S("search.lead")},
		Path: page.SearchPath, Query: q.text, Longest: longest, Results: results(k, q, groups)}
	return page.View{Title: m.Header.Title, Body: search.Page(m)}, nil
}

// results is the part of the palette.
func (w *Pages) results(c echo.Context) error {
	k := w.CallOf(c)
	q := parse(k.Get("q"))
	groups, err := w.find(k, q, mostInPalette)
	if err != nil {
		return err
	}
	return w.Write(c, http.StatusOK, search.Options(results(k, q, groups)))
}

func results(k page.Call, q query, groups []group) search.ResultsModel {
	m := search.ResultsModel{}
	n := 0
	for _, g := range groups {
		gm := search.GroupModel{Kind: g.kind}
		for _, h := range g.hits {
			gm.Hits = append(gm.Hits, h.HitModel)
		}
		n += len(g.hits)
		m.Groups = append(m.Groups, gm)
	}
	m.Count = k.Words.S("search.count", "Count", n)
	if n == 0 {
		m.None = k.Words.S("search.none", "Query", q.text)
	}
	return m
}
