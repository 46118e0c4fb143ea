package web

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/views/account"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// browsers and systems are what a User-Agent header names, the more particular first: Edge calls itself Chrome too, and
// Android Linux.
var (
	browsers = [][2]string{{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}}
	systems = [][2]string{{"Android", "Android"}, {"iPhone", "iOS"}, {"iPad", "iPadOS"}, {"Windows", "Windows"},
		{"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"}}
)

// browserOf is a User-Agent in two words, or its begin where nothing in it is known.
func browserOf(say words, agent string) string {
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

// sessionRows lists sign-ins; each button posts below path. The session that the reader uses now is marked.
func sessionRows(k call, list []identity.Session, path string, manages bool) []account.SessionModel {
	say := k.words
	rows := make([]account.SessionModel, len(list))
	for i, n := range list {
		rows[i] = account.SessionModel{Browser: ui.StackModel{Title: browserOf(say, n.Agent), Detail: n.Address,
			Icon: "globe"},
			Since: say.ago(n.CreatedAt), Seen: say.ago(n.SeenAt)}
		if accounts.Current(k.actor, n) {
			rows[i].Current = &ui.StateModel{Kind: ui.OK, Word: say.S("account.this_session"), Test: "current"}
		}
		if manages {
			rows[i].End = &ui.PostButtonModel{Action: path + "/sessions/" + n.ID + "/end", Button: ui.ButtonModel{
				Label: say.S("account.end_session"), Kind: ui.DangerSecondary, Small: true, Test: "session-end"}}
		}
	}
	return rows
}

// noSessions stands where nobody is signed in.
func noSessions(say words) *ui.EmptyStateModel {
	return &ui.EmptyStateModel{Icon: "globe", Title: say.S("account.no_sessions"), Level: 3, Test: "no-sessions"}
}
