package registry_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/registry"
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
		"by a token, refused":                {"Bearer", "wrong", loopback, registry.ErrRefused, 2},
		"by the password itself":             {"Basic", "right", loopback, nil, 2},
		"by the password itself, refused":    {"Basic", "wrong", loopback, registry.ErrRefused, 2},
		"one that asks nobody":               {"open", "wrong", loopback, nil, 1},
		"one that is broken":                 {"broken", "right", loopback, registry.ErrSilent, 1},
		"one that leads astray":              {"elsewhere", "right", loopback, registry.ErrSilent, 1},
		"one inside, which may not be asked": {"Bearer", "right", notify.Guard{}, registry.ErrSilent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			host, calls := stand(t, c.kind)
			client := registry.Client{HTTP: c.guard.Client(), Scheme: "http"}
			err := client.SignIn(t.Context(), host, registry.Account{User: "robot", Password: c.password})
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

func TestWhichRegistryAnImageIsOf(t *testing.T) {
	for reference, want := range map[string]string{"jupyter/base-notebook:1": "docker.io", "busybox": "docker.io",
		"docker.io/jupyter/base@sha256:00": "docker.io", "Harbor.example.org/a/b:1": "harbor.example.org",
		"registry:5000/a": "registry:5000", "localhost/a": "localhost"} {
		if got := registry.HostOf(reference); got != want {
			t.Errorf("%s: want %s, got %s", reference, want, got)
		}
	}
}

// index is an image for two platforms with an attestation beside, as builders push it.
const index = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[
 {"digest":"sha256:a","platform":{"os":"linux","architecture":"arm64","variant":"v8"}},
 {"digest":"sha256:b","platform":{"os":"linux","architecture":"amd64"}},
 {"digest":"sha256:c","platform":{"os":"unknown","architecture":"unknown"}}]}`

// holds is a registry with one image, vision/train:1.4, that gives tokens for pulling to those it knows.
func holds(t *testing.T, public bool, manifest string) (host string) {
	t.Helper()
	sum := sha256.Sum256([]byte(manifest))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token" && user != "" && password != "right":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/token":
			if scope := r.URL.Query().Get("scope"); scope != "repository:vision/train:pull" {
				t.Errorf("a token is asked for %q", scope)
			}
			token := "anybody"
			if user == "robot" {
				token = "robot"
			}
			_, _ = w.Write([]byte(`{"access_token":"` + token + `"}`))
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="a test"`)
			w.WriteHeader(http.StatusUnauthorized)
		case !public && r.Header.Get("Authorization") != "Bearer robot":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/v2/vision/train/manifests/1.4", r.URL.Path == "/v2/vision/train/manifests/"+digest:
			if !strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "image.index.v1+json") {
				t.Error("an index is not accepted")
			}
			w.Header().Set("Docker-Content-Digest", digest)
			_, _ = w.Write([]byte(manifest))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestTheDigestOfATag(t *testing.T) {
	robot := registry.Account{User: "robot", Password: "right"}
	both := []string{"linux/amd64", "linux/arm64"}
	single := `{"schemaVersion":2,"config":{"digest":"sha256:a"}}`
	for name, c := range map[string]struct {
		public    bool
		manifest  string
		image     string
		account   registry.Account
		want      error
		platforms []string
	}{
		"public":                    {true, index, "/vision/train:1.4", registry.Account{}, nil, both},
		"private":                   {false, index, "/vision/train:1.4", robot, nil, both},
		"of one platform":           {true, single, "/vision/train:1.4", registry.Account{}, nil, nil},
		"private, without password": {false, index, "/vision/train:1.4", registry.Account{}, registry.ErrMissing, nil},
		"a wrong password": {false, index, "/vision/train:1.4", registry.Account{User: "robot", Password: "wrong"},
			registry.ErrRefused, nil},
		"no such tag":          {true, index, "/vision/train:1.5", registry.Account{}, registry.ErrMissing, nil},
		"by its digest":        {true, index, "/vision/train@" + sumOf(index), registry.Account{}, nil, both},
		"no such digest":       {true, index, "/vision/train@" + sumOf(single), registry.Account{}, registry.ErrMissing, nil},
		"no tag is the latest": {true, index, "/vision/train", registry.Account{}, registry.ErrMissing, nil},
	} {
		t.Run(name, func(t *testing.T) {
			host := holds(t, c.public, c.manifest)
			guard := notify.Guard{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
			client := registry.Client{HTTP: guard.Client(), Scheme: "http"}
			got, err := client.Resolve(t.Context(), host+c.image, c.account)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Fatalf("want %v, got %v", c.want, err)
			}
			if err == nil && got.Digest != sumOf(c.manifest) {
				t.Errorf("another digest: %s", got.Digest)
			}
			if !slices.Equal(got.Platforms, c.platforms) {
				t.Errorf("want %v, got %v", c.platforms, got.Platforms)
			}
		})
	}
}

// sumOf is the digest of a manifest.
func sumOf(manifest string) string {
	sum := sha256.Sum256([]byte(manifest))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// TestWhatARegistryOfDockerHubIsAsked: its short names are written out.
func TestWhatARegistryOfDockerHubIsAsked(t *testing.T) {
	var asked []string
	client := registry.Client{HTTP: &http.Client{Transport: answers(func(r *http.Request) *http.Response {
		asked = append(asked, r.Method+" "+r.URL.String())
		return &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody}
	})}}
	for _, reference := range []string{"busybox", "docker.io/library/busybox:1", "docker.io/jupyter/base@sha256:00"} {
		if _, err := client.Resolve(t.Context(), reference, registry.Account{}); !errors.Is(err, registry.ErrSilent) {
			t.Errorf("%s: %v", reference, err)
		}
	}
	want := []string{"HEAD https://registry-1.docker.io/v2/library/busybox/manifests/latest",
		"HEAD https://registry-1.docker.io/v2/library/busybox/manifests/1",
		"HEAD https://registry-1.docker.io/v2/jupyter/base/manifests/sha256:00"}
	if !slices.Equal(asked, want) {
		t.Errorf("want %v, got %v", want, asked)
	}
}

type answers func(*http.Request) *http.Response

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// blobs is a registry whose manifests and blobs are called by what is in them; the blobs of the second host are those
// that the first one sends people to.
func blobs(t *testing.T, redirects bool, texts ...string) (c registry.Client, asked *[]string) {
	t.Helper()
	held := map[string]string{}
	for _, text := range texts {
		held[digestOf(text)] = text
	}
	asked = &[]string{}
	return registry.Client{HTTP: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}, Transport: answers(func(r *http.Request) *http.Response {
		*asked = append(*asked, r.URL.Host+" "+r.Header.Get("Authorization"))
		a := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		switch {
		case strings.HasSuffix(r.URL.Path, "/manifests/1"):
			a.Header.Set("Docker-Content-Digest", digestOf(texts[0]))
		case redirects && r.URL.Host == "registry.example.org" && strings.Contains(r.URL.Path, "/blobs/"):
			a.StatusCode = http.StatusTemporaryRedirect
			a.Header.Set("Location", "https://blobs.example.org/"+name+"?signed=yes")
		case held[name] != "":
			a.Body = io.NopCloser(strings.NewReader(held[name]))
		default:
			a.StatusCode = http.StatusNotFound
		}
		return a
	})}}, asked
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func manifestOf(config string) string {
	return `{"config":{"digest":"` + digestOf(config) + `"},"layers":[]}`
}

// TestWhatAnImageSaysOfItself: the image for the machines that most clusters have is read, and nothing that is not what
// its digest says.
func TestWhatAnImageSaysOfItself(t *testing.T) {
	const amd64 = `{"os":"linux","architecture":"amd64","config":{"User":"1000:100",
		"ExposedPorts":{"8888/tcp":{},"53/udp":{},"80":{},"none/tcp":{}}}}`
	const arm64 = `{"os":"linux","architecture":"arm64","config":{"User":"jovyan"}}`
	const windows = `{"os":"windows","architecture":"amd64","config":{}}`
	of := func(image, architecture string) string {
		return `{"digest":"` + digestOf(manifestOf(image)) + `",
			"platform":{"os":"linux","architecture":"` + architecture + `"}}`
	}
	both := `{"manifests":[` + of(arm64, "arm64") + `,` + of(amd64, "amd64") + `]}`
	arm := `{"manifests":[` + of(arm64, "arm64") + `]}`
	want := &registry.Config{User: "1000:100", Ports: []int32{80, 8888}, Platform: "linux/amd64"}
	for name, c := range map[string]struct {
		texts     []string
		redirects bool
		want      *registry.Config
		platforms []string
	}{
		"one image": {[]string{manifestOf(amd64), amd64}, false, want, []string{"linux/amd64"}},
		"of several platforms": {[]string{both, manifestOf(amd64), manifestOf(arm64), amd64, arm64}, true, want,
			[]string{"linux/amd64", "linux/arm64"}},
		"of another platform": {[]string{arm, manifestOf(arm64), arm64}, false,
			&registry.Config{User: "jovyan", Platform: "linux/arm64"}, []string{"linux/arm64"}},
		"for Windows": {[]string{manifestOf(windows), windows}, false, &registry.Config{Platform: "windows/amd64"},
			[]string{"windows/amd64"}},
		"without its blob":   {[]string{manifestOf(amd64)}, false, nil, nil},
		"with no manifest":   {[]string{both}, false, nil, []string{"linux/amd64", "linux/arm64"}},
		"that is no image":   {[]string{manifestOf("[]"), "[]"}, false, nil, nil},
		"with a chart in it": {[]string{manifestOf(`{"name":"chart"}`), `{"name":"chart"}`}, false, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client, asked := blobs(t, c.redirects, c.texts...)
			m, err := client.Resolve(t.Context(), "registry.example.org/vision/train:1", registry.Account{})
			if err != nil || m.Digest != digestOf(c.texts[0]) {
				t.Fatalf("%+v %v", m, err)
			}
			if diff := cmp.Diff(c.want, m.Config); diff != "" {
				t.Error(diff)
			}
			if !slices.Equal(m.Platforms, c.platforms) {
				t.Errorf("want %v, got %v", c.platforms, m.Platforms)
			}
			if c.redirects && !slices.Contains(*asked, "blobs.example.org ") {
				t.Errorf("want the other host asked, without credentials: %q", *asked)
			}
		})
	}
}

// TestAWrongBlobIsNotRead: what a registry sends in place of a blob is not the image's.
func TestAWrongBlobIsNotRead(t *testing.T) {
	const config = `{"os":"linux","architecture":"amd64","config":{"User":"0"}}`
	manifest := manifestOf(config)
	client := registry.Client{HTTP: &http.Client{Transport: answers(func(r *http.Request) *http.Response {
		a := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Docker-Content-Digest": {digestOf(manifest)}},
			Body: io.NopCloser(strings.NewReader(manifest)), Request: r}
		if strings.Contains(r.URL.Path, "/blobs/") {
			a.Body = io.NopCloser(strings.NewReader(strings.Replace(config, `"0"`, `"7"`, 1)))
		}
		return a
	})}}
	m, err := client.Resolve(t.Context(), "registry.example.org/vision/train:1", registry.Account{})
	if err != nil || m.Config != nil {
		t.Errorf("want it unknown, got %+v %v", m.Config, err)
	}
}

func TestWhoRunsAsRoot(t *testing.T) {
	for user, root := range map[string]bool{"": true, "0": true, "0:0": true, "root": true, "jovyan": true,
		"jovyan:100": true, "1000": false, "1000:0": false, "65532:65532": false} {
		if got := (registry.Config{User: user}).RootUser(); got != root {
			t.Errorf("%q: want %t, got %t", user, root, got)
		}
	}
}
