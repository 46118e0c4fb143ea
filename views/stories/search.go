package stories

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/search"
	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func searchPaletteResults(s story.Setting) templ.Component {
	return search.Options(search.ResultsModel{Count: "5 results", Groups: []search.GroupModel{
		{ID: "workload", Title: s.Localizer.S("search.kind_workload"), Hits: []search.HitModel{
			{Title: "train-resnet", Detail: "Running · Whole H100 · Anna Albers", Icon: "notebook", Href: "#"},
			{Title: "a-name-as-long-as-names-may-be-at-the-most-it-can", Icon: "endpoint", Href: "#",
				Detail: "Waiting for a free GPU · MIG slice 10 GB · Maximiliane von und zu Hohenstein"}}},
		{ID: "action", Title: s.Localizer.S("search.kind_action"), Hits: []search.HitModel{
			{Title: s.Localizer.S("search.do_notebook"), Icon: "notebook", Href: "#"},
			{Title: s.Localizer.S("search.do_dark"), Icon: "moon", Action: "#",
				Hidden: []ui.HiddenModel{{Name: "theme", Value: "dark"}}}}},
		{ID: "page", Title: s.Localizer.S("search.kind_page"), Hits: []search.HitModel{
			{Title: s.Localizer.S("web.nav.rules"), Detail: s.Localizer.S("web.nav.group_policies"), Icon: "rules",
				Href: "#"}}}}})
}

func searchPaletteNothingFound(s story.Setting) templ.Component {
	return search.Options(search.ResultsModel{None: s.Localizer.S("search.none", "Query", "zzz")})
}
