package requests

import (
	"net/url"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// listPage is how many requests a page of a list shows.
const listPage = 25

// anybody in the address shows what rules decided as well, to those for whom it is left out otherwise.
const anybody = "all"

// filters are the names in the address that choose what a list shows; the cursor says where in it.
var filters = []string{"q", "team", "state", "by"}

// filterOf reads the address of a list.
func filterOf(k page.Call, usual request.Sort) request.Filter {
	f := request.Filter{Cursor: k.Get("cursor"), Limit: listPage, Sort: usual, Text: request.Words(k.Get("q"))}
	if s := request.Sort(k.Get("sort")); slices.Contains(request.Sorts(), s) {
		f.Sort = s
	}
	if team := k.Get("team"); team != "" {
		f.Tenants = []string{team}
	}
	return f
}

// filtered reports whether the address chooses.
func filtered(k page.Call) bool {
	return slices.ContainsFunc(filters, func(name string) bool { return k.Get(name) != "" })
}

// keptOf are names of the address with their values, as the query of another address; "" for none.
func keptOf(k page.Call, names ...string) string {
	kept := url.Values{}
	for _, name := range names {
		if v := k.Get(name); v != "" {
			kept.Set(name, v)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + kept.Encode()
}

// filterModel is what is chosen from a list in a usual order, and what can be.
func (w *Pages) filterModel(k page.Call, usual request.Sort) requests.FilterModel {
	m := requests.FilterModel{Text: k.Get("q"), Team: k.Get("team"), Sort: string(filterOf(k, usual).Sort),
		Usual: string(usual), SortOrder: page.IDs(request.Sorts())}
	teams := w.OwnTeams(k)
	if k.Actor.SeesAll() || k.Actor.Is(identity.Approver) {
		teams = w.Site().Directory.Tenants
	}
	if len(teams) < 2 { // they see the requests of one team only
		return m
	}
	m.Teams = make([]ui.OptionModel, 1, 1+len(teams))
	m.Teams[0].Label = k.Words.S("requests.any_team")
	for i := range teams {
		m.Teams = append(m.Teams, ui.OptionModel{Value: teams[i].Name, Label: teams[i].Display()})
	}
	return m
}

// heads are the orders of a list by column: the first click on a head, and the second.
var heads = map[string][2]request.Sort{"asked": {request.Newest, request.Oldest},
	"price": {request.Dearest, request.Cheapest}}

// listOf leads through a list, counts it, and says what the heads of its columns sort by.
func listOf(k page.Call, path string, usual request.Sort, p request.Page) ui.ListModel {
	m := ui.ListModel{Orders: map[string]ui.OrderModel{}, Pages: pagesOf(k, path, p), Count: shownOf(k.Words, p)}
	now := filterOf(k, usual).Sort
	for column, orders := range heads {
		o, next := ui.OrderModel{}, orders[0]
		switch now {
		case orders[0]:
			o.Sorted, next = "descending", orders[1]
		case orders[1]:
			o.Sorted = "ascending"
		}
		q := url.Values{"sort": {string(next)}}
		for _, name := range append([]string{"scope"}, filters...) {
			if v := k.Get(name); v != "" {
				q.Set(name, v)
			}
		}
		o.URL = page.WithQuery(path, q)
		m.Orders[column] = o
	}
	return m
}

// pagesOf leads through a list and counts it.
func pagesOf(k page.Call, path string, p request.Page) ui.PaginationModel {
	q := url.Values{}
	for _, name := range append([]string{"scope", "sort"}, filters...) {
		if v := k.Get(name); v != "" {
			q.Set(name, v)
		}
	}
	return ui.PaginationModel{Label: k.Words.S("requests.pages"), Shown: shownOf(k.Words, p),
		NextURL: page.NextURL(path, q, p.Next), PrevURL: page.NextURL(path, q, p.Prev)}
}

// shownOf says which part of the list a page is: "26–50 of 123".
func shownOf(say page.Words, p request.Page) string {
	total := i18n.T("requests.total", "Count", p.Total)
	if p.Total > request.MostCounted {
		total = i18n.T("requests.total_more", "Total", request.MostCounted)
	}
	if p.Next == "" && p.Prev == "" || len(p.Items) == 0 || p.Before > request.MostCounted {
		return say.Text(total)
	}
	return say.S("requests.shown", "From", p.Before+1, "To", p.Before+len(p.Items), "Total", total)
}
