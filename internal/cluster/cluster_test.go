package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/secret"
)

// kubeconfig has more in its cluster and its user; "" for nothing.
func kubeconfig(server, cluster, user string) string {
	return `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "` + server + `"` + cluster + `}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users: [{name: u, user: {` + user + `}}]
current-context: x
`
}

const good = "https://api.example.org:6443"

// TestWhatAKubeconfigMayHave: nothing of it runs a program, reads a file, or leaves the connection unprotected.
func TestWhatAKubeconfigMayHave(t *testing.T) {
	const token, refused = "token: abc", "clusters.kubeconfig_refused"
	const noPEM, noContext = "clusters.kubeconfig_pem", "clusters.kubeconfig_context"
	for name, c := range map[string]struct{ text, wrong, field string }{
		"a token":          {kubeconfig(good, "", token), "", ""},
		"below a path":     {kubeconfig("https://rancher.example.org/k8s/clusters/c-1", "", token), "", ""},
		"nothing":          {"", "clusters.kubeconfig_missing", ""},
		"too long":         {strings.Repeat("#", MaxKubeconfig+1), "clusters.kubeconfig_long", ""},
		"no YAML":          {"{", "clusters.kubeconfig_unreadable", ""},
		"no context":       {"kind: Config\napiVersion: v1\n", noContext, ""},
		"nobody":           {kubeconfig(good, "", ""), "clusters.kubeconfig_nobody", ""},
		"plain":            {kubeconfig("http://api.example.org", "", token), "clusters.kubeconfig_server", ""},
		"no scheme":        {kubeconfig("api.example.org:6443", "", token), "clusters.kubeconfig_server", ""},
		"a password in it": {kubeconfig("https://me:pw@api.example.org", "", token), "clusters.kubeconfig_server", ""},
		"a program": {kubeconfig(good, "", "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, "+
			"interactiveMode: Never}"), refused, "exec"},
		"a plugin":           {kubeconfig(good, "", "auth-provider: {name: gcp}"), refused, "auth-provider"},
		"a token file":       {kubeconfig(good, "", "tokenFile: /etc/passwd"), refused, "tokenFile"},
		"a certificate file": {kubeconfig(good, "", "client-certificate: /x"), refused, "client-certificate"},
		"a key file":         {kubeconfig(good, "", "client-key: /x"), refused, "client-key"},
		"a password": {kubeconfig(good, "", "username: a, password: b"), refused,
			"username, password"},
		"somebody else": {kubeconfig(good, "", token+", as: admin"), refused, "as"},
		"a CA file":     {kubeconfig(good, ", certificate-authority: /x", token), refused, "certificate-authority"},
		"a proxy":       {kubeconfig(good, `, proxy-url: "http://p"`, token), refused, "proxy-url"},
		"unverified":    {kubeconfig(good, ", insecure-skip-tls-verify: true", token), refused, "insecure-skip-tls-verify"},
		"a wrong CA": {kubeconfig(good, ", certificate-authority-data: eA==", token), noPEM,
			"certificate-authority-data"},
		"a lone key":     {kubeconfig(good, "", "client-key-data: eA=="), noPEM, "client-certificate-data, client-key-data"},
		"another's user": {strings.Replace(kubeconfig(good, "", token), "user: u}", "user: v}", 1), noContext, ""},
	} {
		a, problems := read(c.text)
		got, field := "", ""
		if len(problems) > 0 {
			got = problems[0].Reason.ID
			field, _ = problems[0].Reason.Args["Field"].(string)
		}
		if got != c.wrong || field != c.field {
			t.Errorf("%s: want %q %q, got %q %q", name, c.wrong, c.field, got, field)
		}
		if c.wrong == "" && (a.Token != "abc" || !slices.Equal(a.Secrets(), []string{"abc"})) {
			t.Errorf("%s: got %+v", name, a)
		}
	}
}

// TestWhereAPIServersMayBe: not on the portal's own machine and link unless a network says so, and then nowhere else.
// What counts is the address that is dialled, whatever its name was a moment ago.
func TestWhereAPIServersMayBe(t *testing.T) {
	inside := Guard{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for address, want := range map[string][2]bool{"10.0.0.1": {true, false}, "203.0.113.9": {true, false},
		"fd00::1": {true, false}, "127.0.0.1": {false, true}, "::1": {false, false}, "169.254.169.254": {false, false},
		"::ffff:127.0.0.1": {false, true},
		"0.0.0.0":          {false, false}, "224.0.0.1": {false, false}, "fe80::1%eth0": {false, false}} {
		ip := netip.MustParseAddr(address)
		if got := [2]bool{(Guard{}).allows(ip), inside.allows(ip)}; got != want {
			t.Errorf("%s: want %v, got %v", address, want, got)
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		guard Guard
		ok    bool
	}{"not allowed": {Guard{}, false}, "allowed": {inside, true}} {
		conn, err := c.guard.dialer().DialContext(t.Context(), "tcp4", net.JoinHostPort("localhost", port))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, errAddress) {
			t.Errorf("%s: %v", name, err)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
}

// memory is a Store.
type memory struct {
	Store
	all    []Cluster
	events []audit.Event
}

func (m *memory) Clusters(context.Context) ([]Cluster, error) { return slices.Clone(m.all), nil }

func (m *memory) Reports(context.Context, time.Time) ([]doctor.Report, error) { return nil, nil }

func (m *memory) CreateCluster(_ context.Context, c Cluster, _ int, e audit.Event) error {
	m.all, m.events = append(m.all, c), append(m.events, e)
	return nil
}

func (m *memory) ResealCluster(_ context.Context, c Cluster) error {
	m.all = []Cluster{c}
	return nil
}

// key seals so that a test can see what about.
func key(id string) secret.Key {
	return secret.Key{ID: id, Seal: func(about, text string) (string, error) {
		return hex.EncodeToString([]byte(about + "\n" + text)), nil
	}, Open: func(about, sealed string) (string, error) {
		data, err := hex.DecodeString(sealed)
		text, ok := strings.CutPrefix(string(data), about+"\n")
		if err != nil || !ok {
			return "", errors.New("does not open")
		}
		return text, nil
	}}
}

func service(m *memory, err string, keys ...secret.Key) *Service {
	return New(Options{Store: m, Keys: keys, Configured: []string{"main"}, Now: time.Now,
		Settings: func(string) error { return nil }, InUse: func() []string { return []string{"main"} },
		Test: func(_ context.Context, name string, _ Access, _ string) doctor.Facts {
			return doctor.Facts{Clusters: []doctor.Cluster{{Name: name, Err: err, Version: "v1.34.0"}}}
		}})
}

var admin = identity.Actor{Person: identity.Person{ID: "p-1", Name: "Ada"}, Global: []identity.Role{identity.Admin},
	Via: identity.ViaToken}

// TestOnlyWhatAnswersIsKept: and of that, only what is sealed; a test keeps nothing at all.
func TestOnlyWhatAnswersIsKept(t *testing.T) {
	d := Draft{Name: "annex", Kubeconfig: kubeconfig(good, "", "token: canary-token"), Settings: "openShift: true"}
	m := &memory{}
	if _, err := service(m, "no route to host", key("a")).Add(t.Context(), admin, d); !fault.Is(err, fault.Invalid) ||
		len(m.all) > 0 {
		t.Errorf("one that does not answer: %v, kept %v", err, m.all)
	}
	s := service(m, "", key("a"))
	if found, err := s.Test(t.Context(), admin, d); err != nil || len(found) == 0 || len(m.all) > 0 {
		t.Errorf("tested: %v %v, kept %v", found, err, m.all)
	}
	if _, err := s.Add(t.Context(), admin, Draft{Name: "main", Kubeconfig: d.Kubeconfig}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a name of the configuration: %v", err)
	}
	if _, err := s.Add(t.Context(), admin, d); err != nil || len(m.all) != 1 {
		t.Fatalf("%v, kept %v", err, m.all)
	}
	if text := fmt.Sprint(m.events[0].Detail); strings.Contains(text, "canary") || m.events[0].Kind != audit.ClusterAdded {
		t.Errorf("the record: %s %s", m.events[0].Kind, text)
	}
	list, err := s.List(t.Context(), admin)
	if err != nil || len(list) != 2 || list[1].Sealed != "" || list[1].State() != Pending || list[0].State() != Unknown {
		t.Errorf("listed: %+v %v", list, err)
	}
	auditor := identity.Actor{Person: admin.Person, Global: []identity.Role{identity.Auditor}, Via: identity.ViaToken}
	if _, err := s.Add(t.Context(), auditor, d); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an auditor: %v", err)
	}

	// The row of one does not open as that of another; what a former key sealed is sealed anew, or left out without that.
	loaded, err := service(m, "", key("b"), key("a")).Load(t.Context())
	if err != nil || len(loaded) != 1 || loaded[0].Access.Token != "canary-token" || loaded[0].Settings != d.Settings {
		t.Fatalf("loaded: %+v %v", loaded, err)
	}
	if !strings.HasPrefix(m.all[0].Sealed, "b.") {
		t.Errorf("not sealed anew: %s", m.all[0].Sealed)
	}
	if loaded, err := s.Load(t.Context()); err != nil || len(loaded) != 0 {
		t.Errorf("without its key: %v %v", loaded, err)
	}
	m.all[0].Name = "other"
	if loaded, err := service(m, "", key("b")).Load(t.Context()); err != nil || len(loaded) != 0 {
		t.Errorf("in another's row: %v %v", loaded, err)
	}
}
