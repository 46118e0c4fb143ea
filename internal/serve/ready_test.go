package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
)

// TestReadyNamesItsParts: a part that is away is named and makes nothing unready.
func TestReadyNamesItsParts(t *testing.T) {
	s := &Server{opts: Options{Parts: func() []Part {
		return []Part{{Name: "cluster/main"}, {Name: "oidc", Problem: "does not answer since 2026-11-23T12:00:00Z"}}
	}}}
	for path, want := range map[string]string{
		"/readyz": "ready\n",
		"/readyz?verbose": "[+]database ok\n[+]cluster/main ok\n" +
			"[-]oidc does not answer since 2026-11-23T12:00:00Z\nready\n",
	} {
		w := httptest.NewRecorder()
		if err := s.readyz(echo.New().NewContext(httptest.NewRequest(http.MethodGet, path, nil), w)); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: got %d %q", path, w.Code, w.Body)
		}
	}
}
