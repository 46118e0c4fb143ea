package stories

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/search"
	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func searchPaletteResults(s story.Setting) templ.Component {
	return search.Options(search.ResultsModel{Count: "5 results", Groups: []search.GroupModel{
		{Kind: search.Workload, Hits: []search.HitModel{
			{Kind: search.Workload, Title: "train-resnet", Detail: "Whole H100 · Anna Albers", Icon: "notebook",
				Href: "#", State: &ui.StateModel{Kind: ui.OK, Word: "Running"}},
			{Kind: search.Workload, Title: "a-name-as-long-as-names-may-be-at-the-most-it-can", Icon: "endpoint", Href: "#",
				State:  &ui.StateModel{Kind: ui.Waiting, Word: "Waiting for a free GPU"},
				Detail: "MIG slice 10 GB · Maximiliane von und zu Hohenstein"}}},
		{Kind: search.Action, Hits: []search.HitModel{
			{Kind: search.Action, ID: "notebook", Title: s.Localizer.S("search.do_notebook"), Href: "#"},
			{Kind: search.Action, ID: "dark", Title: s.Localizer.S("search.do_dark"), Action: "#",
				Hidden: []ui.HiddenModel{{Name: "theme", Value: "dark"}}}}},
		{Kind: search.Place, Hits: []search.HitModel{
			{Kind: search.Place, ID: "rules", Title: s.Localizer.S("web.nav.rules"),
				Detail: s.Localizer.S("web.nav.group_policies"), Icon: "rules",
				Href: "#"}}}}})
}

func searchPaletteNothingFound(s story.Setting) templ.Component {
	return search.Options(search.ResultsModel{None: s.Localizer.S("search.none", "Query", "zzz")})
}
