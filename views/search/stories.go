package search

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/story"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func init() {
	story.AddFunc("search", "Palette, results", func(s story.Setting) templ.Component {
		return Options(ResultsModel{Count: "5 results", Groups: []GroupModel{
			{ID: "workload", Title: s.Localizer.S("search.kind_workload"), Hits: []HitModel{
				{Title: "train-resnet", Detail: "Running · Whole H100 · Anna Albers", Icon: "notebook", Href: "#"},
				{Title: "a-name-as-long-as-names-may-be-at-the-most-it-can", Icon: "endpoint", Href: "#",
					Detail: "Waiting for a free GPU · MIG slice 10 GB · Maximiliane von und zu Hohenstein"}}},
			{ID: "action", Title: s.Localizer.S("search.kind_action"), Hits: []HitModel{
				{Title: s.Localizer.S("search.do_notebook"), Icon: "notebook", Href: "#"},
				{Title: s.Localizer.S("search.do_dark"), Icon: "moon", Action: "#",
					Hidden: []ui.HiddenModel{{Name: "theme", Value: "dark"}}}}},
			{ID: "page", Title: s.Localizer.S("search.kind_page"), Hits: []HitModel{
				{Title: s.Localizer.S("web.nav.rules"), Detail: s.Localizer.S("web.nav.group_policies"), Icon: "rules",
					Href: "#"}}}}})
	})
	story.AddFunc("search", "Palette, nothing found", func(s story.Setting) templ.Component {
		return Options(ResultsModel{None: s.Localizer.S("search.none", "Query", "zzz")})
	})
}
