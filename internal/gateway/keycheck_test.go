package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// asks is a gateway of the site that asks about the key of a call.
func (w *world) asks(namespace, endpoint string, outside bool, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	query := url.Values{endpointkey.QueryNamespace: {namespace}, endpointkey.QueryEndpoint: {endpoint}}
	if outside {
		query.Set(endpointkey.QueryOutside, "true")
	}
	r := httptest.NewRequest(http.MethodGet, "http://gpu-portal.gpu-portal.svc"+endpointkey.AnswerPath+"?"+query.Encode(),
		nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	w.gw.CheckKey(answer, r)
	return answer
}

// TestCheckKey: a key that opens the endpoint is told by its id and its limits, never by its secret. Everything else is
// refused as it is here, in the form that the caller reads.
func TestCheckKey(t *testing.T) {
	w := newWorld(t)
	limits := endpointkey.Limits{RequestsPerMinute: 60, TokensPerMinute: 100_000, Concurrency: 3}
	key := w.key("a", "ep-anna", limits)
	answer := w.asks("gpu-red", "ep-anna", false, key...)
	var got endpointkey.Answer
	want := endpointkey.Answer{ID: "aaaaaaaa", RequestsPerMinute: 60, TokensPerMinute: 100_000}
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code != http.StatusOK || got != want ||
		answer.Header().Get("Content-Type") != "application/json" || answer.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("want %+v, got %d %+v %v %v", want, answer.Code, got, answer.Header(), err)
	}

	expired, revoked := w.key("c", "ep-anna", limits), w.key("d", "ep-anna", limits)
	w.changeKey("c", func(k *endpointkey.Key) { k.ExpiresAt = time.Now() })
	w.changeKey("d", func(k *endpointkey.Key) { k.RevokedAt = time.Now() })
	other := w.key("b", "nb-anna", limits)
	cookie := w.signIn(annaPortal, "nb-anna")
	for name, c := range map[string]struct {
		namespace, endpoint string
		headers             []string
		code                string
	}{
		"no key":                  {"gpu-red", "ep-anna", nil, "invalid_api_key"},
		"another scheme":          {"gpu-red", "ep-anna", []string{"Authorization", "Basic eDp5"}, "invalid_api_key"},
		"a wrong secret":          {"gpu-red", "ep-anna", []string{"Authorization", key[1] + "x"}, "invalid_api_key"},
		"expired":                 {"gpu-red", "ep-anna", expired, "expired_api_key"},
		"revoked":                 {"gpu-red", "ep-anna", revoked, "invalid_api_key"},
		"another endpoint":        {"gpu-red", "ep-nobody", key, "invalid_api_key"},
		"another namespace":       {"gpu-blue", "ep-anna", key, "invalid_api_key"},
		"a notebook":              {"gpu-red", "nb-anna", key, "invalid_api_key"},
		"a notebook of the key":   {"gpu-red", "nb-anna", other, "invalid_api_key"},
		"a key of something else": {"gpu-red", "ep-anna", other, "invalid_api_key"},
		"the cookie of a session": {"gpu-red", "nb-anna", []string{"Cookie", cookie}, "invalid_api_key"},
		"a person's token": {"gpu-red", "ep-anna", []string{"Authorization", "Bearer " + identity.TokenPrefix + "a.b"},
			"invalid_api_key"},
		"nothing asked":               {"", "", key, "invalid_api_key"},
		"outside, and it is not open": {"gpu-red", "ep-anna", key, "invalid_api_key"},
	} {
		answer := w.asks(c.namespace, c.endpoint, strings.HasPrefix(name, "outside"), c.headers...)
		if got := errorOf(t, answer.Result()).Error.Code; answer.Code != http.StatusUnauthorized || got != c.code {
			t.Errorf("%s: want 401 %s, got %d %s", name, c.code, answer.Code, got)
		}
	}
	w.change("ep-anna", func(wl *workload.Workload) { wl.Reach = workload.Reach{External: true} })
	waittest.For(t, "it is open to outside", func() bool {
		return w.asks("gpu-red", "ep-anna", true, key...).Code == http.StatusOK
	})
}

// TestCheckKeyWithoutDatabase: trouble is no "no", and lets nobody in.
func TestCheckKeyWithoutDatabase(t *testing.T) {
	w := newWorld(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	w.fail(errors.New("the database is away"))
	answer := w.asks("gpu-red", "ep-anna", false, key...)
	if answer.Code != http.StatusServiceUnavailable || errorOf(t, answer.Result()).Error.Type != "api_error" {
		t.Errorf("got %d", answer.Code)
	}
}

// TestARevokedKeyIsToldAtOnce: an answer holds for as long as for a call that comes here.
func TestARevokedKeyIsToldAtOnce(t *testing.T) {
	w := newWorld(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	if got := w.asks("gpu-red", "ep-anna", false, key...).Code; got != http.StatusOK {
		t.Fatal(got)
	}
	w.changeKey("a", func(k *endpointkey.Key) { k.RevokedAt = time.Now() })
	w.pass(w.gw.opts.Recheck)
	if got := w.asks("gpu-red", "ep-anna", false, key...).Code; got != http.StatusUnauthorized {
		t.Errorf("revoked, and still %d", got)
	}
}

// TestCallsElsewhereAreCounted: a key that is used at the site's gateway alone is no unused key.
func TestCallsElsewhereAreCounted(t *testing.T) {
	w := newWorld(t)
	key := w.key("a", "ep-anna", endpointkey.Limits{RequestsPerMinute: 1})
	for range 3 { // its limit is the other gateway's to keep
		if got := w.asks("gpu-red", "ep-anna", false, key...).Code; got != http.StatusOK {
			t.Fatal(got)
		}
	}
	w.gw.Flush(t.Context())
	w.mu.Lock()
	defer w.mu.Unlock()
	var requests, without int
	for _, n := range w.taken {
		requests, without = requests+n.Requests, without+n.WithoutUsage
	}
	if requests != 3 || without != 3 {
		t.Errorf("want three calls whose tokens nobody told, got %d and %d", requests, without)
	}
}
