package search

import (
	"net/http"
	"net/url"
	"slices"

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
	r := results(k, q, groups)
	if q.text != "" { // without a word all pages are listed, as a map of the site
		r.Groups = ofKind(k, q, r.Groups, search.Kind(k.Get("kind")))
	}
	m := search.PageModel{Header: ui.HeaderModel{Title: k.Words.S("search.title"), Lead: k.Words.S("search.lead")},
		Path: page.SearchPath, Query: q.text, Longest: longest, Results: r}
	if q.text != "" && !q.stored() {
		m.Short = k.Words.S("search.short", "Fewest", fewestStored)
	}
	return page.View{Title: m.Header.Title, Body: search.Page(m)}, nil
}

// ofKind are the results of one kind, or a few of each with the way to the others.
func ofKind(k page.Call, q query, groups []search.GroupModel, kind search.Kind) []search.GroupModel {
	of := func(kind search.Kind) string {
		values := url.Values{"q": {q.text}}
		if kind != "" {
			values.Set("kind", string(kind))
		}
		return page.SearchPath + "?" + values.Encode()
	}
	if i := slices.IndexFunc(groups, func(g search.GroupModel) bool { return g.Kind == kind }); i >= 0 {
		groups[i].AllURL = of("")
		return groups[i : i+1]
	}
	for i := range groups {
		g := &groups[i]
		if more := len(g.Hits) - fewOnPage; more > 0 {
			g.Hits, g.MoreURL = g.Hits[:fewOnPage], of(g.Kind)
			g.More = k.Words.S("search.more", "Count", more)
		}
	}
	return groups
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
	for _, word := range q.words {
		m.Words = append(m.Words, search.WordModel{Text: word, Inside: long(word)})
	}
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
