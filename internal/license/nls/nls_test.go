package nls

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/license"
)

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func page(number, pages int, features ...string) string {
	return fmt.Sprintf(
		`{"virtualGroups":[{"id":1,"name":"lab","entitlements":[{"entitlementProductKeys":[{"entitlementFeatures":[%s]}]}]}],"paginationInfo":{"totalPages":%d,"pageNumber":%d}}`,
		strings.Join(features, ","), pages, number)
}

func featureJSON(name string, total, used int) string {
	return fmt.Sprintf(
		`{"featureName":"%s","productName":"P","startDate":"2026-01-01T00:00:00Z","endDate":"2026-12-31","totalQuantity":%d,"inUseQuantity":%d,"new":{}}`, name, total, used)
}

func ask(t *testing.T, handler http.HandlerFunc, change func(*Config)) (license.Answer, error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c := Config{Name: "cls", URL: server.URL + "/", Org: "lic-1/2", APIKeyFile: write(t, "key", []byte("secret\n"))}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s.Fetch(t.Context())
}

func TestAllPagesAreRead(t *testing.T) {
	answer, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-KEY") != "secret" || r.URL.EscapedPath() != "/v1/org/lic-1%2F2/virtual-groups" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		switch r.URL.Query().Get("page-number") {
		case "0":
			_, _ = w.Write([]byte(page(0, 3, featureJSON(`A\u0007`, 5, 2), featureJSON("B", 1, 1))))
		case "1":
			_, _ = w.Write([]byte(page(1, 3)))
		default:
			_, _ = w.Write([]byte(page(2, 3, featureJSON("A", 7, 0))))
		}
	}, nil)
	from, until := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	feature := func(name string, total, used int) license.Feature {
		return license.Feature{Name: name, Product: "P", Reference: "lab", Total: total, InUse: used, From: from,
			Until: until}
	}
	if diff := cmp.Diff([]license.Feature{feature("A", 5, 2), feature("B", 1, 1), feature("A", 7, 0)},
		answer.Features); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if answer.LeasesKnown {
		t.Error("nobody told who holds the leases")
	}
}

func TestEachFailureIsCalledWhatItIs(t *testing.T) {
	always := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = w.Write([]byte(body)) }
	}
	for sentence, c := range map[string]struct {
		handler http.HandlerFunc
		change  func(*Config)
		want    string
	}{
		"a key that does not hold": {always(401, "secret"), nil, "licenses.why_key"},
		"a key for something else": {always(403, ""), nil, "licenses.why_key"},
		"no key file": {always(200, page(0, 1)), func(c *Config) { c.APIKeyFile += "-gone" },
			"licenses.why_key"},
		"an error of its own": {always(500, "oops"), nil, "licenses.why_status"},
		"too many calls":      {always(429, ""), nil, "licenses.why_status"},
		"it leads elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, nil, "licenses.why_status"},
		"a sign-in page":              {always(200, "<html>"), nil, "licenses.why_nonsense"},
		"an answer to something else": {always(200, `{"items":[]}`), nil, "licenses.why_nonsense"},
		"a negative number":           {always(200, page(0, 1, featureJSON("A", -1, 0))), nil, "licenses.why_nonsense"},
		"no number":                   {always(200, page(0, 1, `{"featureName":"A"}`)), nil, "licenses.why_nonsense"},
		"a date that is none": {always(200, page(0, 1, strings.Replace(featureJSON("A", 1, 0), "2026-12-31", "soon", 1))),
			nil, "licenses.why_nonsense"},
		"pages without end": {always(200, page(0, 1000000)), nil, "licenses.why_nonsense"},
		"too long":          {always(200, strings.Repeat(" ", mostBytes+1)), nil, "licenses.why_nonsense"},
		"nobody at home":    {always(200, ""), func(c *Config) { c.URL = "http://127.0.0.1:1" }, "licenses.why_away"},
		"a page fails after the first": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("page-number") != "0" {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = w.Write([]byte(page(0, 2, featureJSON("A", 1, 0))))
		}, nil, "licenses.why_status"},
	} {
		t.Run(sentence, func(t *testing.T) {
			answer, err := ask(t, c.handler, c.change)
			if got := license.WhyOf(err).ID; err == nil || got != c.want || len(answer.Features) > 0 {
				t.Errorf("want %s and nothing else, got %s: %v %+v", c.want, got, err, answer)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Error("the key, or what a stranger wrote, is in the error")
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(page(0, 1, featureJSON("A", 1, 0))))
	}))
	t.Cleanup(server.Close)
	c := Config{Name: "dls", URL: server.URL, Org: "lic"}
	stranger, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Fetch(t.Context()); license.WhyOf(err).ID != "licenses.why_certificate" {
		t.Errorf("want the certificate named, got %v", err)
	}
	c.CAFile = write(t, "ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	known, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := known.Fetch(t.Context()); err != nil || len(answer.Features) != 1 {
		t.Errorf("a certificate that is trusted: %v %+v", err, answer)
	}
	c.CAFile = write(t, "none.pem", []byte("none"))
	if _, err := New(c); err == nil {
		t.Error("a file without a certificate was taken")
	}
}

func TestASlowServer(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); server.Close() })
	s, err := New(Config{Name: "dls", URL: server.URL, Org: "lic"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Fetch(ctx); license.WhyOf(err).ID != "licenses.why_slow" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want slow, got %v", err)
	}
}

// Who holds a lease is told where the server tells all of it, and unknown everywhere else; the counts hold either way.
func TestLeasesAreAskedWhereTheServerTells(t *testing.T) {
	const two = `{"clients":[{"hostname":"vm-1","leases":[{"leaseId":"l-1","featureName":"A","leaseCount":1,` +
		`"expires":"2026-12-01T08:00:00Z"}]},` +
		`{"environment":{"hostname":"vm-2.lab"},"leases":[{"leaseId":"l-2","featureName":"A"}]},{"leases":[]}]}`
	for sentence, c := range map[string]struct {
		status int
		leases string
		asked  bool
		want   int // leases; -1 for unknown
	}{
		"all of it":                     {200, two, true, 2},
		"nobody holds one":              {200, `{"clients":[]}`, true, 0},
		"the settings do not ask":       {200, two, false, -1},
		"there is no such call":         {404, "", true, -1},
		"the key is not for it":         {403, "", true, -1},
		"another shape":                 {200, `{"items":[]}`, true, -1},
		"no JSON":                       {200, "<html>", true, -1},
		"a machine without a name":      {200, `{"clients":[{"leases":[{"leaseId":"l","featureName":"A"}]}]}`, true, -1},
		"a number that cannot be":       {200, strings.Replace(two, `"leaseCount":1`, `"leaseCount":-4`, 1), true, -1},
		"a lease of nothing in special": {200, `{"clients":[{"hostname":"a","leases":[{"leaseId":"l"}]}]}`, true, -1},
	} {
		t.Run(sentence, func(t *testing.T) {
			answer, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/1/license-servers"):
					_, _ = w.Write([]byte(`{"licenseServers":[{"serviceInstanceId":"i-7"},{"serviceInstanceId":"i-7"}]}`))
				case strings.HasSuffix(r.URL.Path, "/1/leases") && r.Header.Get("X-NV-Service-Instance-Id") == "i-7":
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte(c.leases))
				default:
					_, _ = w.Write([]byte(page(0, 1, featureJSON("A", 5, 2))))
				}
			}, func(config *Config) { config.Leases = c.asked })
			if err != nil || len(answer.Features) != 1 || answer.LeasesKnown != (c.want >= 0) ||
				len(answer.Leases) != max(0, c.want) {
				t.Fatalf("want %d leases beside the count, got %+v %v", c.want, answer, err)
			}
			if c.want == 2 && (answer.Leases[0].Client != "vm-1" || answer.Leases[1].Client != "vm-2.lab" ||
				answer.Leases[0].Until.IsZero() || answer.Leases[1].Count != 1) {
				t.Errorf("got %+v", answer.Leases)
			}
		})
	}
}
