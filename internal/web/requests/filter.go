package requests

import (
	"net/url"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
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

// searchField finds by words.
func searchField(k page.Call, id string) *ui.FieldModel {
	return &ui.FieldModel{ID: id, Name: "q", Kind: ui.SearchField, Label: k.Words.S("requests.filter_text"),
		Placeholder: k.Words.S("requests.filter_text"), Value: k.Get("q"), MaxLength: 100, Autocomplete: "off",
		Test: "filter-text"}
}

// teamField is nil for those who see the requests of one team only.
func (w *Pages) teamField(k page.Call, id string) []ui.FieldModel {
	teams := w.OwnTeams(k)
	if k.Actor.SeesAll() || k.Actor.Is(identity.Approver) {
		teams = w.Site().Directory.Tenants
	}
	if len(teams) < 2 {
		return nil
	}
	f := ui.FieldModel{ID: id, Name: "team", Kind: ui.SelectField, Label: k.Words.S("start.team"), Value: k.Get("team"),
		Test: "filter-team", Options: []ui.OptionModel{{Label: k.Words.S("start.any")}}}
	for _, t := range teams {
		f.Options = append(f.Options, ui.OptionModel{Value: t.Name, Label: t.Display()})
	}
	return []ui.FieldModel{f}
}

// sortField offers every order, the usual one of the list first.
func sortField(k page.Call, id string, usual request.Sort) ui.FieldModel {
	f := ui.FieldModel{ID: id, Name: "sort", Kind: ui.SelectField, Label: k.Words.S("requests.sort"),
		Value: string(filterOf(k, usual).Sort), Test: "sort"}
	for _, s := range request.Sorts() {
		f.Options = append(f.Options, ui.OptionModel{Value: string(s),
			Label: k.Words.Say(i18n.T("requests.sort_" + string(s)))})
	}
	return f
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

// nothingFound is an empty list of a filter, with the way to all of it.
func nothingFound(say page.Words, clear string) *ui.EmptyStateModel {
	return &ui.EmptyStateModel{Icon: "filter", Title: say.S("requests.none_match"), Level: 3, Test: "empty",
		Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("ui.clear-filter"), Href: clear,
			Kind: ui.Secondary, Test: "clear-filter"}}}}
}
