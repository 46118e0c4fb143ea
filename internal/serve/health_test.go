package serve

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/jobs"
)

func TestHealthzNamesWhatHangs(t *testing.T) {
	fine := jobs.Check{Name: "job/settle", Since: time.Second}
	hung := jobs.Check{Name: "cluster/main/probe", Since: 42 * time.Second, Hung: true}
	for name, c := range map[string]struct {
		checks []jobs.Check
		path   string
		status int
		body   string
	}{
		"all live":            {[]jobs.Check{fine}, "/healthz", http.StatusOK, "ok\n"},
		"all live, verbose":   {[]jobs.Check{fine}, "/healthz?verbose", http.StatusOK, "[+]job/settle ok\nok\n"},
		"one hangs":           {[]jobs.Check{fine, hung}, "/healthz", http.StatusServiceUnavailable, "not ok\n"},
		"nothing has to live": {nil, "/healthz?verbose", http.StatusOK, "ok\n"},
		"one hangs, verbose": {[]jobs.Check{hung, fine}, "/healthz?verbose", http.StatusServiceUnavailable,
			"[-]cluster/main/probe failed: no sign of life for 42s\n[+]job/settle ok\nnot ok\n"},
	} {
		s := &Server{opts: Options{Alive: func() []jobs.Check { return c.checks }}}
		w := httptest.NewRecorder()
		if err := s.healthz(echo.New().NewContext(httptest.NewRequest(http.MethodGet, c.path, nil), w)); err != nil {
			t.Fatal(err)
		}
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s: got %d %q", name, w.Code, w.Body)
		}
	}
}
