package layout

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// HelpModel is what explains the portal. Addresses are "" for what a site or a reader does not have.
type HelpModel struct {
	News    string
	Unread  string // what the server keeps of the newest change once it was read; "" for what was read
	Read    string // POST mark, back; "" for those who may not read it in somebody's place
	Back    string
	Tour    string
	Users   string // documents
	Admins  string
	All     string
	API     string
	Status  string
	Contact string
	Version string
}

// HelpMark says what of it is new; "" for nothing.
func HelpMark(say *i18n.Localizer, m HelpModel) string {
	if m.Unread == "" {
		return ""
	}
	return say.S("news.title")
}

// HelpItems are its entries.
func HelpItems(say *i18n.Localizer, m HelpModel) []ui.MenuItemModel {
	fresh := ui.MenuItemModel{Label: say.S("news.title"), Icon: "bell", Href: m.News, Test: "help-new"}
	read := ui.MenuItemModel{Label: say.S("news.dismiss"), Icon: "check", Action: m.Read, Test: "help-new-read",
		Hidden: []ui.HiddenModel{{Name: "mark", Value: m.Unread}, {Name: "back", Value: m.Back}}}
	if m.Unread != "" {
		fresh.Badge = say.S("news.badge")
	} else {
		read.Action = ""
	}
	items := slices.DeleteFunc([]ui.MenuItemModel{fresh, read,
		{Label: say.S("tour.title"), Icon: "play", Href: m.Tour, Test: "help-tour"},
		{Label: say.S("help.users"), Icon: "help", Href: m.Users, Test: "help-users"},
		{Label: say.S("help.admins"), Icon: "gear", Href: m.Admins, Test: "help-admins"},
		{Label: say.S("help.all"), Icon: "audit", Href: m.All, Test: "help-all"},
		{Label: say.S("web.nav.api"), Icon: "link", Href: m.API, Test: "nav-api"},
		{Label: say.S("layout.shortcuts"), Icon: "keyboard", OpensDialog: "gp-shortcuts", Test: "nav-shortcuts"},
		{Label: say.S("help.status"), Icon: "pulse", Href: m.Status, Test: "help-status"},
		{Label: say.S("help.contact"), Icon: "user", Href: m.Contact, Test: "help-contact"},
	}, func(i ui.MenuItemModel) bool { return i.Href == "" && i.OpensDialog == "" && i.Action == "" })
	return append(items, ui.MenuItemModel{Label: say.S("help.version", "Version", m.Version)})
}

// AccountModel is what belongs to somebody alone; Current is the address of the page.
type AccountModel struct{ Account, Secrets, Notices, Current string }

// AccountItems are its entries.
func AccountItems(say *i18n.Localizer, m AccountModel) []ui.MenuItemModel {
	return []ui.MenuItemModel{
		{Label: say.S("web.nav.account"), Icon: "key", Href: m.Account, Current: m.Current == m.Account,
			Test: "nav-account"},
		{Label: say.S("web.nav.secrets"), Icon: "lock", Href: m.Secrets, Current: m.Current == m.Secrets,
			Test: "nav-secrets"},
		{Label: say.S("web.nav.notices"), Icon: "bell", Href: m.Notices, Current: m.Current == m.Notices,
			Test: "nav-notices"},
	}
}

// ImpersonationModel is who sees the portal as whom, until when; End is POST.
type ImpersonationModel struct{ Name, Admin, Until, End string }

// ImpersonationStrip stands on every page that somebody sees as somebody else, with the way out.
func ImpersonationStrip(say *i18n.Localizer, m ImpersonationModel) ui.StripModel {
	return ui.StripModel{Kind: ui.Warning, ID: "strip-impersonation", Test: "impersonation",
		Words: say.S("web.impersonation", "Name", m.Name, "Admin", m.Admin, "Until", m.Until),
		Actions: []ui.ActionModel{{Post: &ui.PostButtonModel{Action: m.End,
			Button: ui.ButtonModel{Label: say.S("web.impersonation_end"), Small: true, Test: "impersonation-end"}}}}}
}

// OutageModel is a system that does not answer.
type OutageModel struct {
	System string // "cluster", "prometheus", …
	Name   string // of the cluster; "" where there is one
	Slug   string // the same for ids
	Since  string
}

// OutageStrip says what is away, since when, and what still works.
func OutageStrip(say *i18n.Localizer, m OutageModel) ui.StripModel {
	return ui.StripModel{Kind: ui.Warning, ID: "strip-" + m.System + "-" + m.Slug, Test: "strip-" + m.System,
		Words: say.S("web.away."+m.System, "Name", m.Name, "Since", m.Since)}
}

// Done says what the last action did; name is that of the flash, args what its words tell.
func Done(say *i18n.Localizer, kind ui.Kind, name string, args ...any) *ui.NoticeModel {
	return &ui.NoticeModel{Kind: kind, Title: say.S("web.flash."+name, args...), Test: "flash"}
}

// Locked is an error page for somebody whose roles do not open a page of the platform: its name, and whom to ask.
// contact is "" where the site names nobody.
func Locked(say *i18n.Localizer, m ErrorModel, page, contact string) ErrorModel {
	m.Kind, m.Title, m.Body = ui.Warning, say.S("error.role_title"), say.S("error.role", "Page", page)
	m.Todo = []string{say.S("error.todo.ask")}
	m.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("layout.error.home"), Href: "/",
		Kind: ui.Primary}}}
	if contact != "" {
		m.Actions = append(m.Actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("error.ask"), Href: contact,
			Icon: "user", Test: "ask-access"}})
	}
	return m
}
