package blocks

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/account"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// PersonItems say who somebody is: groups, roles, teams.
func PersonItems(say page.Words, a identity.Actor) []ui.DefModel {
	items := []ui.DefModel{{Term: say.S("account.person"), Value: a.Person.Name},
		{Term: say.S("account.email"), Value: a.Person.Email}, {Term: say.S("account.roles"), Value: RoleList(say, a)},
		{Term: say.S("account.groups"), Value: strings.Join(a.Person.Groups, ", ")},
		{Term: say.S("account.id"), Component: ui.Copy(ui.CopyModel{Value: string(a.Person.ID), Label: say.S("account.id")})}}
	return items
}

// RoleList is "vision: developer, team owner · administrator".
func RoleList(say page.Words, a identity.Actor) string {
	join := func(roles []identity.Role) string {
		list := make([]string, len(roles))
		for i, r := range roles {
			list[i] = say.Say(page.RoleWord(r))
		}
		return strings.Join(list, ", ")
	}
	var parts []string
	for _, t := range a.TenantNames() {
		parts = append(parts, t+": "+join(a.Tenants[t]))
	}
	if len(a.Global) > 0 {
		parts = append(parts, join(a.Global))
	}
	return strings.Join(parts, " · ")
}

// TokenModel is an API token without its secret.
func TokenModel(say page.Words, t identity.Token) account.TokenModel {
	m := account.TokenModel{Name: t.Name, ID: identity.TokenPrefix + t.ID, Created: say.At(t.CreatedAt),
		Expires: say.Around(t.ExpiresAt), Used: ui.TimeModel{Words: say.S("account.never")}, State: account.TokenValid}
	if !t.LastUsedAt.IsZero() {
		m.Used = say.Ago(t.LastUsedAt)
	}
	if !t.ExpiresAt.IsZero() && !say.Now.Before(t.ExpiresAt) {
		m.State = account.TokenExpired
	}
	return m
}

// browsers and systems are what a User-Agent header names, the more particular first: Edge calls itself Chrome too, and
// Android Linux.
var (
	browsers = [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems = [][2]string{{"Android", "Android"}, {"iPhone", "iOS"}, {"iPad", "iPadOS"}, {"Windows", "Windows"},
		{"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
)

// browserOf is a User-Agent in two words, or its begin where nothing in it is known.
func browserOf(say page.Words, agent string) string {
	named := func(known [][2]string) string {
		for _, k := range known {
			if strings.Contains(agent, k[0]) {
				return k[1]
			}
		}
		return ""
	}
	browser, system := named(browsers), named(systems)
	switch {
	case browser != "" && system != "":
		return say.S("account.browser_on", "Browser", browser, "System", system)
	case browser+system != "":
		return browser + system
	case agent == "":
		return say.S("account.browser_unknown")
	}
	return agent[:min(len(agent), 40)]
}

// SessionRows lists sign-ins; each button posts below path. The session that the reader uses now is marked.
func SessionRows(k page.Call, list []identity.Session, path string, manages bool) []account.SessionModel {
	say := k.Words
	rows := make([]account.SessionModel, len(list))
	for i, n := range list {
		rows[i] = account.SessionModel{Browser: browserOf(say, n.Agent), Address: n.Address, Since: say.Ago(n.CreatedAt),
			Seen: say.Ago(n.SeenAt), Current: accounts.Current(k.Actor, n)}
		if manages {
			rows[i].End = path + "/sessions/" + n.ID + "/end"
		}
	}
	return rows
}

// TeamFilter narrows a list of teams.
func TeamFilter(say page.Words, action, typed string) ui.FilterBarModel {
	m := ui.FilterBarModel{Action: action, Label: say.S("tenants.filter"), Search: &ui.FieldModel{ID: "teams-q", Name: "q",
		Kind: ui.SearchField, Label: say.S("tenants.filter"), Placeholder: say.S("tenants.filter"), Value: typed,
		MaxLength: 100, Autocomplete: "off", Test: "filter-text"}}
	if typed != "" {
		m.ClearURL = action
	}
	return m
}

// PeopleSearch is the search field over a list of people.
func PeopleSearch(say page.Words, action, typed string) ui.FilterBarModel {
	clear := ""
	if typed != "" {
		clear = action
	}
	return ui.FilterBarModel{ClearURL: clear, Action: action, Label: say.S("tenants.search"), Go: say.S("tenants.find"),
		Search: &ui.FieldModel{ID: "q", Name: "q", Kind: ui.SearchField, Label: say.S("tenants.search"),
			Placeholder: say.S("tenants.search"), Value: typed,
			MaxLength: 100, Autocomplete: "off", Test: "search"}}
}
