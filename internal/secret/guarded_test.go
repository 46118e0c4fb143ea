package secret_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/secret"
)

// stand is a registry that takes one password, in one of the two ways of the distribution specification.
func stand(t *testing.T, kind string) (host string, asked *[]string) {
	t.Helper()
	var calls []string
	var s *httptest.Server
	takes := func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user == "robot" && password == "right"
	}
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, r.URL.String())
		switch {
		case r.URL.Path == "/token" && takes(r), r.URL.Path == "/v2/" && kind == "Basic" && takes(r), kind == "open":
			w.WriteHeader(http.StatusOK)
		case kind == "broken":
			w.WriteHeader(http.StatusBadGateway)
		case kind == "elsewhere":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://ada@`+r.Host+`/token"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set("WWW-Authenticate", kind+` realm="http://`+r.Host+`/token",service="registry of a test"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), &calls
}

func TestARegistryIsAskedWhetherItTakesThePassword(t *testing.T) {
	loopback := notify.Guard{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for name, c := range map[string]struct {
		kind, password string
		guard          notify.Guard
		want           error
		calls          int
	}{
		"by a token":                         {"Bearer", "right", loopback, nil, 2},
		"by a token, refused":                {"Bearer", "wrong", loopback, secret.ErrRefused, 2},
		"by the password itself":             {"Basic", "right", loopback, nil, 2},
		"by the password itself, refused":    {"Basic", "wrong", loopback, secret.ErrRefused, 2},
		"one that asks nobody":               {"open", "wrong", loopback, nil, 1},
		"one that is broken":                 {"broken", "right", loopback, secret.ErrSilent, 1},
		"one that leads astray":              {"elsewhere", "right", loopback, secret.ErrSilent, 1},
		"one inside, which may not be asked": {"Bearer", "right", notify.Guard{}, secret.ErrSilent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			host, calls := stand(t, c.kind)
			err := secret.SignIn(t.Context(), c.guard.Client(), "http", map[string]string{"host": host, "user": "robot",
				"password": c.password})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("want %v, got %v", c.want, err)
			}
			if len(*calls) != c.calls {
				t.Errorf("want %d calls, got %v", c.calls, *calls)
			}
			if c.calls == 2 && c.kind == "Bearer" && !strings.Contains((*calls)[1], "service=registry+of+a+test") {
				t.Errorf("the token is asked for without its service: %v", *calls)
			}
		})
	}
}
