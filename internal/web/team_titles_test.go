package web_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// bareTeam is the id of a team where it is no part of a namespace, a path or a group.
var bareTeam = regexp.MustCompile(`(^|[^-/\w])vision($|[^-/\w])`)

// TestPeopleReadTheTitleOfATeam: pages once had the id in one list and the title in the next. An id stands only where
// somebody types it, or in the name of something else.
func TestPeopleReadTheTitleOfATeam(t *testing.T) {
	t.Parallel()
	w := webtest.Ill(t)
	w.Site.Directory.Tenants[0].Title = "Image analysis"
	for _, path := range []string{"/requests?scope=all&by=all", "/requests/r-anna1", "/approvals", "/approvals/r-anna1",
		"/fleet/use/holders", "/fleet/use/holders?group=team", "/licenses", "/audit",
		"/fleet/health/quarantine?cluster=local&kind=node&name=gpu-01", "/storage?scope=team", "/admin/rules"} {
		doc := read(t, w.Get(webtest.Dora, path), http.StatusOK)
		body := doc.Find("main")
		body.Find("code, option, [data-test=filters]").Remove()
		if at := bareTeam.FindStringIndex(textOf(body)); at != nil {
			text := textOf(body)
			t.Errorf("%s: want the title of the team, got …%s…", path, text[max(0, at[0]-60):min(len(text), at[1]+60)])
		}
	}
	for path, hook := range map[string]string{"/requests/r-anna1": "request-facts", "/approvals": "inbox-row",
		"/fleet/use/holders": "holder", "/licenses": "seat", "/audit": "event"} {
		wantText(t, read(t, w.Get(webtest.Dora, path), http.StatusOK), hook, "Image analysis")
	}
	wantText(t, read(t, w.Get(webtest.Dora, "/storage?scope=team"), http.StatusOK), "volume-row", "Image analysis")
}
