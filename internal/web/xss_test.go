package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// evil is what people, clusters and metrics might put into a field.
const evil = `"><script>alert(1)</script><svg onload=alert(2)><img src=x onerror=alert(3)>{{.}}${7*7}javascript:alert(4)' onmouseover='alert(5)` + "\x1b[31m\u202e"

// poisoned is a busy world where every field that comes from outside holds it.
func poisoned(t *testing.T) *webtest.World {
	t.Helper()
	w := webtest.Busy(t)
	for _, item := range w.Works() {
		item.OwnerName, item.Reason, item.Observed.Detail, item.Observed.Node = evil, i18n.Literal(evil), evil, evil
		item.Image.Title, item.Size.Title, item.Volume = evil, evil, evil
		item.Image.Reference, item.Image.OpenPath = "javascript:alert(6)", "javascript:alert(7)"
		if a := item.Observed.Activity; a != nil {
			a.Kernels[0].Name, a.Kernels[0].State = evil, evil
		}
		if r, ok := w.Readings[item.Observed.Pod]; ok {
			for i := range r.Live.Devices {
				d := &r.Live.Devices[i]
				d.Model, d.UUID, d.Profile, d.Node = evil, evil, evil, evil
			}
		}
		w.PutWork(item)
	}
	for _, r := range w.AllRequests() {
		r.AskerName, r.Spec.Reason, r.Spec.Name, r.Decision.Note, r.Decision.ByName, r.Decision.Rule = evil, evil, evil, evil,
			evil, evil
		r.Decision.Sentence = i18n.Literal(evil)
		w.PutRequest(r)
	}
	for _, v := range w.AllVolumes() {
		v.OwnerName, v.Cluster = evil, evil
		w.PutVolume(v)
	}
	for _, e := range w.Record() {
		e.ActorName, e.Address, e.Rule, e.Detail, e.Tenant = evil, evil, evil, i18n.Literal(evil), evil
		if err := w.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.CreateToken(t.Context(), identity.Token{ID: "t-evil", Name: evil, Person: webtest.Anna.ID,
		CreatedAt: webtest.Now, ExpiresAt: webtest.Now.AddDate(0, 1, 0)}, audit.Event{At: webtest.Now,
		Kind: audit.TokenCreated, Actor: webtest.Anna.ID, ActorName: evil}); err != nil {
		t.Fatal(err)
	}
	s := w.Inventory("local")
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Name, n.Model, n.Warnings = n.Name+evil, evil, []i18n.Text{i18n.Literal(evil)}
		for j := range n.Resources {
			n.Resources[j].Name = evil
			n.Resources[j].Holders = []inventory.Holder{{Namespace: evil, Pod: evil, Count: 1}}
		}
	}
	w.PutInventory(s)
	w.SetAway(page.Outage{System: page.ClusterSystem, Name: evil, Since: webtest.Now})
	return w
}

func TestNothingThatPeopleWriteBecomesMarkup(t *testing.T) {
	t.Parallel()
	everyone := map[string]identity.Person{"anna": webtest.Anna, "ben": webtest.Ben, "carla": webtest.Carla,
		"dora": webtest.Dora, "eli": webtest.Eli, "olaf": webtest.Olaf}
	paths := []string{"/", "/?scope=team", "/?scope=all", "/start", "/start?size=" + url.QueryEscape(evil) + "&lease=" +
		url.QueryEscape(evil) + "&reason=" + url.QueryEscape(evil), "/requests", "/requests?scope=all",
		"/requests/r-anna1", "/requests/r-anna0", "/approvals", "/approvals/r-olaf1", "/storage", "/storage?scope=team",
		"/fleet", "/licenses", "/team", "/account", "/audit", "/audit?person=" + url.QueryEscape(evil)}
	for _, id := range []string{"train-resnet", "llm-chat", "sweep-lr", "vlm-test", "old-notes"} {
		paths = append(paths, "/workloads/w-"+id, "/workloads/w-"+id+"/history", "/workloads/w-"+id+"/extend",
			"/workloads/w-"+id+"/delete")
	}
	w := poisoned(t)
	for who, p := range everyone {
		for _, path := range paths {
			answer := w.Get(p, path)
			if answer.Code == http.StatusNotFound || answer.Code == http.StatusForbidden {
				continue
			}
			harmless(t, who+" "+path, read(t, answer, http.StatusOK))
		}
	}
	for path, form := range map[string]url.Values{
		"/start": {"tenant": {evil}, "kind": {evil}, "size": {evil}, "image": {evil},
			"lease": {evil}, "storage": {evil}, "volume": {evil}, "reason": {evil}, "name": {evil}, "key": {evil}},
		"/account/tokens":                  {"name": {evil}, "lasts": {evil}},
		"/workloads/w-train-resnet/extend": {"lease": {evil}, "reason": {evil}},
		"/workloads/w-llm-chat/keys":       {"name": {evil}, "expires": {evil}, "limits.concurrency": {evil}},
	} {
		harmless(t, "POST "+path, read(t, w.Post(webtest.Anna, path, form), http.StatusUnprocessableEntity))
	}
}

// harmless asks that the page runs nothing of what was written into it, and links nowhere but to pages.
func harmless(t *testing.T, where string, doc *goquery.Document) {
	t.Helper()
	doc.Find("script").Each(func(_ int, s *goquery.Selection) {
		if src, ok := s.Attr("src"); !ok || !strings.HasPrefix(src, "/static/") || strings.TrimSpace(s.Text()) != "" {
			t.Errorf("%s: a script of its own: %.80s", where, s.Text())
		}
	})
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, a := range s.Nodes[0].Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				t.Errorf("%s: %s carries %s=%.60q", where, goquery.NodeName(s), a.Key, a.Val)
			case a.Key == "href" || a.Key == "action" || a.Key == "formaction" || a.Key == "src" ||
				strings.HasPrefix(a.Key, "hx-post"):
				if a.Val == webtest.Contact {
					continue // by the site's settings, on every page
				}
				u, err := url.Parse(a.Val)
				if err != nil || (u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https") {
					t.Errorf("%s: %s leads to %.80q", where, a.Key, a.Val)
				}
			}
		}
	})
	if doc.Find("img, iframe, object, embed, base, main svg[onload]").Length() > 0 {
		t.Errorf("%s: foreign markup came through", where)
	}
}

// An administrator's slip in the apps domain must not turn "Open" into a script.
func TestALinkThatIsNoAddressIsLeftOut(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.AppsURL = func(string) string { return "javascript:alert(1)//" }
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	wantAbsent(t, doc, "open", "address")
	var answer *httptest.ResponseRecorder = w.Get(webtest.Anna, "/")
	if strings.Contains(answer.Body.String(), "javascript:") {
		t.Error("a script is linked on the home page")
	}
}
