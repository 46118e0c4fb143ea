package app

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/limit"
)

// embeddedCSP lets one site show a page in which nothing runs and nothing is sent.
const embeddedCSP = "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors https://grafana.example.org"

// embedded makes an address over the API and gives its path and id.
func (w *world) embedded(subject string, body map[string]any) (path, id string) {
	w.t.Helper()
	a := w.call(w.token(subject), http.MethodPost, "/api/v1/embeds", body)
	var e struct{ ID, Address string }
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || a.status != http.StatusCreated {
		w.t.Fatal(a.status, a.body, err)
	}
	return strings.TrimPrefix(e.Address, w.url), e.ID
}

// TestAnEmbeddedPanelShowsAndDoesNothingElse: it is framed by the allowed site only, asks for no cookie and sets none,
// holds no script, form or link, and shows the same to whoever looks (T-EMBED).
func TestAnEmbeddedPanelShowsAndDoesNothingElse(t *testing.T) {
	w := newWorld(t)
	item := w.running(developer, "vision")
	for name, body := range map[string]map[string]any{
		"a workload": {"panel": "workload", "subject": string(item.ID), "theme": "dark"},
		"a team":     {"panel": "team", "subject": "vision"}, "the fleet": {"panel": "fleet"},
		"licenses": {"panel": "licenses", "expires": "7d"},
	} {
		path, _ := w.embedded(developer, body)
		for who, b := range map[string]*browser{"nobody": w.browser(), "somebody else": w.as(other)} {
			a := b.get(path)
			doc := a.page(t)
			if a.status != http.StatusOK || doc.Find("[data-test=embed-problem]").Length() > 0 {
				t.Errorf("%s, %s: %d %s", name, who, a.status, doc.Find("main").Text())
			}
			if got := a.header.Get("Content-Security-Policy"); got != embeddedCSP {
				t.Errorf("%s, %s: %s", name, who, got)
			}
			if len(a.header.Values("Set-Cookie")) > 0 {
				t.Errorf("%s, %s: it sets %q", name, who, a.header.Values("Set-Cookie"))
			}
			if n := doc.Find("script, form, a, button, input, iframe, [hx-get], [hx-post]").Length(); n > 0 {
				t.Errorf("%s, %s: %d things that act", name, who, n)
			}
			if every := a.header.Get("Refresh"); every != "30" {
				t.Errorf("%s, %s: it is asked anew every %q s", name, who, every)
			}
		}
	}
	if events := w.events(audit.EmbedCreated); len(events) != 4 || events[0].Actor != w.person(developer).ID {
		t.Errorf("want it on record, got %v", events)
	}
}

// TestAnEmbedAddressEndsWithItsTimeAndWithItsMakersRights: altered, expired, revoked, and made by somebody who may not
// see it any more (T-EMBED).
func TestAnEmbedAddressEndsWithItsTimeAndWithItsMakersRights(t *testing.T) {
	w := newWorld(t)
	team := map[string]any{"panel": "team", "subject": "vision", "expires": "2h"}
	const invalid, ended, gone = "This address is not valid.",
		"This address has expired. Whoever shared the panel can create a new one.", "This panel is no longer shared."
	want := func(what, path string, status int, words string) {
		t.Helper()
		a := w.browser().get(path)
		said := a.page(t).Find("[data-test=embed-problem]").Text()
		if a.status != status || said != words || a.header.Get("Content-Security-Policy") != embeddedCSP {
			t.Errorf("%s: want %d %q, got %d %q", what, status, words, a.status, said)
		}
		if again := a.header.Get("Refresh"); (again == "") != (words == invalid) {
			t.Errorf("%s: it is asked anew every %q s", what, again)
		}
	}
	path, id := w.embedded(developer, team)
	want("shown", path, http.StatusOK, "")
	want("altered", path[:len(path)-2]+"AA", http.StatusNotFound, invalid)
	want("no token", embed.Path, http.StatusNotFound, invalid)
	forged, err := embed.Signer{Key: []byte("another key")}.Sign(embed.Address{ID: id, Panel: embed.Fleet,
		Maker: w.person(admin).ID, Until: w.clock.now().Unix() + 60})
	if err != nil {
		t.Fatal(err)
	}
	want("another key", embed.Path+"?token="+url.QueryEscape(forged), http.StatusNotFound, invalid)
	wide, err := embed.Signer{Key: derive(w.secrets.key, "embed address")}.Sign(embed.Address{ID: id, Panel: embed.Fleet,
		Maker: w.person(developer).ID, Until: w.clock.now().Unix() + 60})
	if err != nil {
		t.Fatal(err)
	}
	want("signed, but not what was recorded", embed.Path+"?token="+wide, http.StatusForbidden, gone)

	if a := w.call(w.token(developer), http.MethodDelete, "/api/v1/embeds/"+id, nil); a.status != http.StatusOK {
		t.Fatal(a.status, a.body)
	}
	want("revoked", path, http.StatusForbidden, gone)
	if events := w.events(audit.EmbedRevoked); len(events) != 1 {
		t.Errorf("want it on record, got %v", events)
	}

	path, id = w.embedded(developer, team)
	page := w.as(admin).get("/admin/people/" + w.personID(developer)).page(t)
	if page.Find("[data-test=embed-row]").Length() == 0 || strings.Contains(page.Text(), "token=") {
		t.Error("an administrator sees which panels there are, and no address")
	}
	w.as(admin).post("/admin/people/"+w.personID(developer)+"/embeds/"+id+"/revoke", nil)
	want("revoked by an administrator", path, http.StatusForbidden, gone)

	path, _ = w.embedded(developer, team)
	left := w.person(developer)
	left.Groups, left.SeenAt, left.ConfirmedAt = nil, w.clock.now(), w.clock.now()
	if err := w.store.SavePerson(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	want("made by somebody who has left the team", path, http.StatusForbidden, gone)

	path, _ = w.embedded(owner, map[string]any{"panel": "fleet"})
	w.disable(owner)
	want("made by somebody who was shut out", path, http.StatusForbidden, gone)

	path, _ = w.embedded(other, map[string]any{"panel": "fleet", "expires": "2h"})
	w.clock.pass(2*time.Hour + time.Second)
	want("too late", path, http.StatusForbidden, ended)

	path, _ = w.embedded(other, map[string]any{"panel": "fleet"})
	w.clock.pass(25 * time.Hour)
	want("made by somebody of whom the provider has told nothing for a day", path, http.StatusForbidden, gone)
}

// TestAnEmbedAddressOpensNothingElse: as bearer token, as cookie, and with another method (T-EMBED).
func TestAnEmbedAddressOpensNothingElse(t *testing.T) {
	w := newWorld(t)
	path, _ := w.embedded(developer, map[string]any{"panel": "fleet"})
	_, token, _ := strings.Cut(path, "token=")
	if a := w.call(token, http.MethodGet, "/api/v1/me", nil); a.status != http.StatusUnauthorized {
		t.Errorf("as a bearer token: %d", a.status)
	}
	for _, path := range []string{"/api/v1/me?token=" + token, "/api/v1/embeds?token=" + token} {
		if a := w.call("", http.MethodGet, path, nil); a.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := w.browser().get("/account?token=" + token); a.status != http.StatusSeeOther {
		t.Errorf("a page: %d", a.status)
	}
	if a := w.browser().post(path, url.Values{}); a.status != http.StatusMethodNotAllowed &&
		a.status != http.StatusNotFound {
		t.Errorf("a post: %d", a.status)
	}
}

// TestEmbeddingIsOffUntilASiteIsNamed: then no page at all can be framed.
func TestEmbeddingIsOffUntilASiteIsNamed(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.Embed.AllowedOrigins = nil })
	if a := w.call(w.token(developer), http.MethodPost, "/api/v1/embeds", map[string]any{"panel": "fleet"}); a.status !=
		http.StatusConflict || !strings.Contains(a.body, "embed.allowedOrigins") {
		t.Errorf("%d %s", a.status, a.body)
	}
	page := w.as(developer).get("/embeds/new?panel=fleet").page(t)
	if said := page.Find("[data-test=embed-off]").Text(); !strings.Contains(said, "embed.allowedOrigins") {
		t.Errorf("want the setting named, got %q", said)
	}
	a := w.browser().get(embed.Path + "?token=x")
	wantHeaders(t, "embedding is off", a.header)
	if a.status != http.StatusNotFound {
		t.Errorf("%d", a.status)
	}
}

func TestLooksAtPanelsAreBounded(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.RateLimits = limit.Rates{limit.Embed: {PerMinute: 1, Burst: 2}} })
	path, _ := w.embedded(developer, map[string]any{"panel": "fleet"})
	for i, status := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if a := w.browser().get(path); a.status != status {
			t.Errorf("look %d: want %d, got %d", i, status, a.status)
		}
	}
}
