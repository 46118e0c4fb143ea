package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// try calls as the portal's page does for somebody.
func (w *world) try(person identity.PersonID, session, path string) (*httptest.ResponseRecorder, error) {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodPost, portalURL+"/workloads/w-ep-anna/try", strings.NewReader(`{"a":1}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Cookie", "__Host-session=of-the-portal")
	r.Header.Set("Authorization", "Bearer of-the-portal")
	a := w.actors[person]
	a.Session = session
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Security-Policy", "default-src 'none'")
	return answer, w.gw.Try(answer, r, a, Trial{Workload: "ep-anna", Method: http.MethodPost, Path: path})
}

// T-TRY-1: the endpoint sees the body and its own secret and nothing of the portal's; of its answer only text reaches
// the portal's origin.
func TestTry(t *testing.T) {
	w := newWorld(t)
	answer, err := w.try("anna", annaPortal, "/v1/responses?x=1")
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("want an answer, got %d %v", answer.Code, err)
	}
	var saw receivedCall
	if err := json.Unmarshal(answer.Body.Bytes(), &saw); err != nil {
		t.Fatal(err)
	}
	if saw.Method != http.MethodPost || saw.URI != "/v1/responses?x=1" || saw.Host != "ep-anna.apps.test" ||
		saw.Header.Get("Authorization") != "Bearer pod-secret-of-ep-anna" || saw.Header.Get("Cookie") != "" {
		t.Errorf("want the call without what is the portal's, got %+v", saw)
	}
	answer, _ = w.try("anna", annaPortal, "/headers?Content-Type=text/html&Set-Cookie=a%3Db&Clear-Site-Data=x"+
		"&Location=//evil&Content-Security-Policy=none")
	if h := answer.Header(); h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get(TriedHeader) != "text/html" ||
		h.Get("Content-Security-Policy") != "default-src 'none'" || h.Get("Set-Cookie")+h.Get("Clear-Site-Data")+
		h.Get("Location") != "" {
		t.Errorf("want no header of the endpoint on the portal's origin, got %v", h)
	}
}

// TestTryIsRefused: who may not open the endpoint gets nothing of it by this way either.
func TestTryIsRefused(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		person  identity.PersonID
		session string
		want    int
	}{"a colleague": {"jonas", jonasPortal, http.StatusNotFound},
		"another's session":      {"anna", jonasPortal, http.StatusUnauthorized},
		"a session that is over": {"anna", "none", http.StatusUnauthorized}} {
		if answer, err := w.try(c.person, c.session, "/v1/models"); err != nil || answer.Code != c.want {
			t.Errorf("%s: want %d, got %d %v", name, c.want, answer.Code, err)
		}
	}
	for _, path := range []string{"", "v1", "//evil/v1", "http://evil/v1", ownPaths + "callback"} {
		if _, err := w.try("anna", annaPortal, path); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: want it refused, got %v", path, err)
		}
	}
	if _, err := w.try("anna", "", "/v1/models"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("want a program refused, got %v", err)
	}
	if len(w.dials()) != 0 {
		t.Errorf("want no pod asked, got %v", w.dials())
	}
}

// TestTryEndsWithTheSession: a stream ends soon after its person has signed out.
func TestTryEndsWithTheSession(t *testing.T) {
	w := newWorld(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // a stream that is cut off aborts its handler
		_, _ = w.try("anna", annaPortal, "/stream")
	}()
	waitFor(t, "the stream to be open", func() bool { return w.gw.Open() > 0 })
	if err := w.EndSession(t.Context(), annaPortal); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case <-time.After(15 * time.Second):
		t.Error("want the stream ended")
	}
}
