package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

const endpointPage = "/workloads/w-llm-chat"

func keysOf(t *testing.T, w *webtest.World) []endpointkey.Key {
	t.Helper()
	keys, err := w.EndpointKeys(t.Context(), "w-llm-chat")
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestKeysSayHowTheyAreAndWhatTheyTake(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Keyed(t).Get(webtest.Anna, endpointPage), http.StatusOK)
	var rows []string
	part(doc, "key").Each(func(_ int, s *goquery.Selection) { rows = append(rows, textOf(s)) })
	for i, want := range [][]string{
		{"nightly summaries", "gpk_eeeeeeee", "600 requests/min", "200,000 tokens/min", "8 concurrent requests", "active",
			"2 d ago",
			"Requests: 1,313", "Tokens: 1,807,900", "Over a limit: 1", "Rotate", "Revoke"},
		{"search index", "gpk_cccccccc", "rotated", "The old secret works until"},
		{"support bot", "expires soon", "never", "Requests: 0"},
		{"demo on Friday", "expired"},
		{"laptop that was lost", "gpk_dddddddd", "revoked", "Requests: 1,300"},
	} {
		if i >= len(rows) {
			t.Fatalf("want five keys, got %q", rows)
		}
		for _, words := range want {
			if !strings.Contains(rows[i], words) {
				t.Errorf("key %d: want %q, got %q", i, words, rows[i])
			}
		}
	}
	if last := rows[len(rows)-1]; strings.Contains(last, "Revoke") {
		t.Errorf("a revoked key cannot be revoked again: %q", last)
	}
	ask := doc.Find("#key-revoke-eeeeeeee").Text()
	for _, want := range []string{"nightly summaries", "gpk_eeeeeeee", "Requests in the last 7 days: 1,313",
		"five seconds"} {
		if !strings.Contains(ask, want) {
			t.Errorf("the question before a key is revoked does not say %q", want)
		}
	}
	wantAbsent(t, doc, "key-secret", "keys-none")
}

func TestAKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, endpointPage), http.StatusOK)
	wantText(t, doc, "keys-none", "A key lets a program call this endpoint", "New key")
	if to, _ := part(doc, "key-new").Attr("href"); to != endpointPage+"/keys" {
		t.Errorf("without scripts the button leads to the form, not to %q", to)
	}
	form := read(t, w.Get(webtest.Anna, endpointPage+"/keys"), http.StatusOK)
	if to, _ := part(form, "key-form").Attr("action"); to != endpointPage+"/keys" {
		t.Errorf("the form posts to %q", to)
	}
	doc = read(t, w.Post(webtest.Anna, endpointPage+"/keys", url.Values{"name": {"evening batch"}, "expires": {"30d"},
		"limits.tokensPerMinute": {"5000"}}), http.StatusOK)
	secret := textOf(part(doc, "key-secret").Find("code"))
	credential, ok := endpointkey.Parse(secret)
	made := keysOf(t, w)[0]
	if !ok || made.Check(credential, webtest.Now) != nil {
		t.Fatalf("want a key that opens the endpoint, got %q", secret)
	}
	if made.Name != "evening batch" || made.Limits != (endpointkey.Limits{TokensPerMinute: 5000}) ||
		made.ExpiresAt.Sub(made.CreatedAt) != 30*24*time.Hour {
		t.Errorf("want what was typed, got %+v", made)
	}
	wantText(t, doc, "key-fresh", "evening batch", "shown only once", "It is not shown again")
	if strings.Contains(w.Get(webtest.Anna, endpointPage).Body.String(), credential.Secret) {
		t.Error("the secret is shown a second time")
	}

	path := endpointPage + "/keys/" + made.ID
	doc = read(t, w.Post(webtest.Anna, path+"/rotate", url.Values{"overlap": {"1h"}}), http.StatusOK)
	fresh, _ := endpointkey.Parse(textOf(part(doc, "key-secret").Find("code")))
	wantText(t, doc, "key-fresh", "The old secret works until")
	hour := webtest.Now.Add(time.Hour)
	if k := keysOf(t, w)[0]; k.Check(fresh, hour) != nil || k.Check(credential, hour.Add(-time.Second)) != nil ||
		k.Check(credential, hour) == nil {
		t.Error("both secrets open for an hour, then the new one alone")
	}
	doc = read(t, w.Post(webtest.Anna, path+"/rotate", url.Values{"overlap": {"0h"}}), http.StatusOK)
	if words := textOf(part(doc, "key-fresh")); strings.Contains(words, "The old secret") {
		t.Errorf("the old one ended at once: %q", words)
	}
	if got := w.Post(webtest.Anna, path+"/rotate", url.Values{"overlap": {"8d"}}).Code; got != 422 {
		t.Errorf("want an overlap of 8 days refused, got %d", got)
	}
	if to := wantRedirect(t, w.Post(webtest.Anna, path+"/revoke", nil)); to != endpointPage {
		t.Errorf("leads to %q", to)
	}
	if left := keysOf(t, w); len(left) != 0 {
		t.Errorf("it was revoked, and there is %+v", left)
	}
}

// TestAKeyOfSeveralEndpoints: its maker ticks others of the team; each of them shows it, and can close itself to it.
func TestAKeyOfSeveralEndpoints(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantAbsent(t, read(t, w.Get(webtest.Anna, endpointPage+"/keys"), http.StatusOK), "key-also-choice")
	for _, name := range []string{"ranker", "embedder"} {
		w.Add(w.Workload(name, webtest.Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", time.Hour, 7*time.Hour))
	}
	form := read(t, w.Get(webtest.Anna, endpointPage+"/keys"), http.StatusOK)
	offered := form.Find("input[name=endpoints]").Map(func(_ int, s *goquery.Selection) string {
		return s.AttrOr("value", "")
	})
	if want := []string{"w-embedder", "w-ranker"}; !slices.Equal(offered, want) {
		t.Errorf("want the other endpoints offered, got %q", offered)
	}
	typed := url.Values{"name": {"router"}, "expires": {"30d"}, "endpoints": {"w-ranker", "w-train-resnet"}}
	bad := read(t, w.Post(webtest.Anna, endpointPage+"/keys", typed), http.StatusUnprocessableEntity)
	if n := bad.Find("input[name=endpoints][value=w-ranker][checked]").Length(); n != 1 {
		t.Error("want what was ticked kept")
	}
	wantText(t, bad, "form-errors", "w-train-resnet is not an endpoint of this team")
	typed["endpoints"] = []string{"w-ranker"}
	doc := read(t, w.Post(webtest.Anna, endpointPage+"/keys", typed), http.StatusOK)
	wantText(t, doc, "key-base-url", "models.", "/v1")
	made := keysOf(t, w)[0]
	if !made.Opens("w-ranker") || made.Opens("w-embedder") {
		t.Errorf("want it to open the ticked one, got %v", made.Endpoints())
	}
	wantText(t, read(t, w.Get(webtest.Anna, endpointPage), http.StatusOK), "key-also", "Also opens ranker")

	other := read(t, w.Get(webtest.Anna, "/workloads/w-ranker"), http.StatusOK)
	wantText(t, other, "key-made-at", "Created at llm-chat")
	wantAbsent(t, other, "key-rotate", "key-also")
	path := "/workloads/w-ranker/keys/" + made.ID
	if got := w.Post(webtest.Anna, path+"/rotate", url.Values{"overlap": {"1h"}}).Code; got != http.StatusConflict {
		t.Errorf("want it rotated where it was made only, got %d", got)
	}
	wantRedirect(t, w.Post(webtest.Anna, path+"/revoke", nil))
	if left := keysOf(t, w); len(left) != 1 || left[0].Opens("w-ranker") {
		t.Errorf("want the key kept for the first endpoint alone, got %+v", left)
	}
	wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-ranker"), http.StatusOK), "keys-none", "No keys yet")
}

func TestAKeyThatCannotBeMadeComesBack(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for name, bad := range map[string]struct {
		form  url.Values
		field string
	}{
		"no name":         {url.Values{"expires": {"30d"}}, "name"},
		"too long a life": {url.Values{"name": {"x"}, "expires": {"91d"}}, "expires"},
		"no length":       {url.Values{"name": {"x"}, "expires": {"soon"}}, "expires"},
		"no number": {url.Values{"name": {"x"}, "expires": {"30d"}, "limits.requestsPerMinute": {"many"}},
			"limits.requestsPerMinute"},
	} {
		doc := read(t, w.Post(webtest.Anna, endpointPage+"/keys", bad.form), http.StatusUnprocessableEntity)
		wantAbsent(t, doc, "key-secret")
		link := part(doc, "form-errors").Find("a")
		if to, _ := link.Attr("href"); to != "#"+bad.field {
			t.Errorf("%s: the problem leads to %q", name, to)
		}
		field := doc.Find(`[name="` + bad.field + `"]`)
		if field.AttrOr("aria-invalid", "") != "true" {
			t.Errorf("%s: %s does not say that it is wrong", name, bad.field)
		}
		if _, open := part(doc, "key-limits").Attr("open"); open != strings.HasPrefix(bad.field, "limits.") {
			t.Errorf("%s: the fold is open: %v", name, open)
		}
	}
	if keys := keysOf(t, w); len(keys) != 0 {
		t.Errorf("nothing was made, and there is %+v", keys)
	}
}

func TestKeysAreForEndpointsAndThoseWhoMayChangeThem(t *testing.T) {
	t.Parallel()
	w := webtest.Keyed(t)
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "workload-keys")
	wantAbsent(t, read(t, w.Get(webtest.Eli, endpointPage), http.StatusOK), "workload-keys") // an auditor only looks
	if n := part(read(t, w.Get(webtest.Ben, endpointPage), http.StatusOK), "workload-keys").Length(); n != 1 {
		t.Error("an owner of the team manages its keys")
	}
	named := url.Values{"name": {"x"}, "expires": {"30d"}, "overlap": {"1h"}}
	before := len(keysOf(t, w))
	for _, c := range []struct {
		who    identity.Person
		path   string
		status int
	}{
		{webtest.Anna, "/workloads/w-train-resnet/keys", http.StatusConflict},
		{webtest.Eli, endpointPage + "/keys", http.StatusForbidden},
		{webtest.Eli, endpointPage + "/keys/eeeeeeee/rotate", http.StatusForbidden},
		{webtest.Eli, endpointPage + "/keys/eeeeeeee/revoke", http.StatusForbidden},
		{webtest.Olaf, endpointPage + "/keys/eeeeeeee/revoke", http.StatusNotFound},
		{webtest.Anna, endpointPage + "/keys/zzzzzzzz/revoke", http.StatusNotFound},
		{webtest.Anna, endpointPage + "/keys/dddddddd/rotate", http.StatusNotFound}, // was revoked
	} {
		if got := w.Post(c.who, c.path, named).Code; got != c.status {
			t.Errorf("%s, %s: want %d, got %d", c.who.Name, c.path, c.status, got)
		}
	}
	if after := len(keysOf(t, w)); after != before {
		t.Errorf("want %d keys as before, got %d", before, after)
	}
}
