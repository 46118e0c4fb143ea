package page

import (
	"net/url"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// LocalPath keeps a redirect on this site: a path that begins with one slash, and nothing else.
func LocalPath(path, otherwise string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsAny(path, "\\\r\n\t") {
		return otherwise
	}
	return u.RequestURI()
}

// Scope is whose workloads the home page lists.
type Scope string

// The scopes.
const (
	ScopeMine Scope = "mine"
	ScopeTeam Scope = "team"
	ScopeAll  Scope = "all"
)

// NextURL leads to the next page of a list with everything else the address says.
func NextURL(path string, q url.Values, next string) string {
	if next == "" {
		return ""
	}
	kept := url.Values{}
	for name, values := range q {
		if name != "page" {
			kept[name] = values
		}
	}
	kept.Set("cursor", next)
	return path + "?" + kept.Encode()
}

// ChooseTeam is the team that the reader chose to look at, the first of teams otherwise; "" for none.
func ChooseTeam(k Call, teams []tenant.Tenant) string {
	for _, t := range teams {
		if t.Name == k.team {
			return t.Name
		}
	}
	if len(teams) == 0 {
		return ""
	}
	return teams[0].Name
}
