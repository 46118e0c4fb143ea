package page

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/manual"
	"github.com/gpu-portal/gpu-portal/internal/news"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Support is where one finds help beside the documents, by the site's settings: addresses, "" for none.
type Support struct{ StatusURL, ContactURL string }

// readers are the documents in the order of the list, and who looks for them: everybody, or those who see the platform.
// Texts that nobody looks for in the portal are reached by links.
var readers = []struct {
	name   string
	action identity.Action
}{{"users", identity.ReadCatalog}, {"api", identity.ReadCatalog}, {"glossary", identity.ReadCatalog},
	{"admins", identity.ReadPlatform}, {"install", identity.ReadPlatform}, {"configuration", identity.ReadPlatform},
	{"threats", identity.ReadPlatform}}

// Documents are those that the reader looks for.
func Documents(k Call) []manual.Document {
	var list []manual.Document
	for _, r := range readers {
		if d, ok := manual.Find(r.name); ok && identity.Can(k.Actor, r.action, identity.Resource{}) {
			list = append(list, d)
		}
	}
	return list
}

// newsMark says what the help menu has that the reader has not read; "" for nothing.
func newsMark(k Call) string {
	if !news.Unread(k.Actor.Person.Acknowledged) {
		return ""
	}
	return k.Words.S("news.title")
}

func newsBadge(k Call) string {
	if newsMark(k) == "" {
		return ""
	}
	return k.Words.S("news.badge")
}

// help is what explains the portal.
func (w *Frame) help(k Call, tour, back string) []ui.MenuItemModel {
	say := k.Words
	fresh := ui.MenuItemModel{Label: say.S("news.title"), Icon: "bell", Href: NewsPath, Badge: newsBadge(k),
		Test: "help-new"}
	items := []ui.MenuItemModel{fresh, {Label: say.S("tour.title"), Icon: "play", Href: tour, Test: "help-tour"},
		{Label: say.S("help.users"), Icon: "help", Href: manual.Path("users"), Test: "help-users"}}
	if identity.Can(k.Actor, identity.ReadPlatform, identity.Resource{}) {
		items = append(items, ui.MenuItemModel{Label: say.S("help.admins"), Icon: "gear", Href: manual.Path("admins"),
			Test: "help-admins"})
	}
	if newsMark(k) != "" && k.Actor.Impersonator == nil {
		items = slices.Insert(items, 1, ui.MenuItemModel{Label: say.S("news.dismiss"), Icon: "check",
			Action: "/settings/acknowledged", Hidden: []ui.HiddenModel{{Name: "mark", Value: news.Mark()},
				{Name: "back", Value: back}}, Test: "help-new-read"})
	}
	items = append(items, ui.MenuItemModel{Label: say.S("help.all"), Icon: "audit", Href: HelpPath, Test: "help-all"},
		ui.MenuItemModel{Label: say.S("web.nav.api"), Icon: "link", Href: "/api/docs", Test: "nav-api"},
		ui.MenuItemModel{Label: say.S("layout.shortcuts"), Icon: "keyboard", OpensDialog: "gp-shortcuts",
			Test: "nav-shortcuts"},
		ui.MenuItemModel{Label: say.S("help.status"), Icon: "pulse", Href: w.Support.StatusURL, Test: "help-status"},
		ui.MenuItemModel{Label: say.S("help.contact"), Icon: "user", Href: w.Support.ContactURL, Test: "help-contact"})
	items = slices.DeleteFunc(items, func(i ui.MenuItemModel) bool {
		return i.Href == "" && i.OpensDialog == "" && i.Action == ""
	})
	return append(items, ui.MenuItemModel{Label: say.S("help.version", "Version", w.Version)})
}
