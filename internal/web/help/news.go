package help

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/news"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/help"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// news lists what each version brought to the reader. Who has seen the newest is not told of it again.
func (w *Pages) news(k page.Call) (page.View, error) {
	say := k.Words
	m := help.NewsModel{Header: ui.HeaderModel{Title: say.S("news.title"), Lead: say.S("news.lead"),
		Crumbs: []ui.CrumbModel{{Label: say.S("layout.help"), Href: page.HelpPath}, {Label: say.S("news.title")}}}}
	platform := identity.Can(k.Actor, identity.ReadPlatform, identity.Resource{})
	for _, r := range news.All() {
		release := help.ReleaseModel{Title: say.S("news.release", "Version", r.Version),
			Date: r.Date.Format(time.DateOnly)}
		for _, e := range r.Entries {
			if text := e.In(say.Lang()); platform || !e.Platform {
				release.Items = append(release.Items, help.NewsItemModel{Title: text.Title, Words: text.Words, Href: e.Href})
			}
		}
		m.Releases = append(m.Releases, release)
	}
	if k.Actor.Impersonator == nil && news.Unread(k.Actor.Person.Acknowledged) {
		if err := w.Acknowledge(k.Ctx, k.Actor, news.Mark()); err != nil {
			return page.View{}, err
		}
	}
	return page.View{Title: m.Header.Title, Body: help.News(m), NewsRead: true}, nil
}
