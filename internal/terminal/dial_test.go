package terminal_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/terminal"
)

// TestExecDialsAsTheConfigSays: the transports of client-go for exec read no Dial of a config. An API server whose name
// resolves to an address that the config's dialer refuses is not called; one that it allows is, under its own name in
// TLS and in the Host header.
func TestExecDialsAsTheConfigSays(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			var mu sync.Mutex
			hosts, names, methods := map[string]bool{}, map[string]bool{}, map[string]bool{}
			refuse, old := false, false
			w := newWorld(t, func(o *terminal.Options) {
				at, err := url.Parse(o.Clusters["main"].Config.Host)
				if err != nil {
					t.Fatal(err)
				}
				behind := httputil.NewSingleHostReverseProxy(at)
				api := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					mu.Lock()
					hosts[r.Host] = true
					methods[r.Method] = true
					sockets := !old
					mu.Unlock()
					if !sockets && strings.HasSuffix(r.URL.Path, "/exec") {
						http.Error(rw, "no WebSockets here", http.StatusBadRequest)
						return
					}
					behind.ServeHTTP(rw, r)
				}))
				api.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
					mu.Lock()
					defer mu.Unlock()
					names[hello.ServerName] = true
					return nil, nil
				}}
				config := &rest.Config{Host: scheme + "://example.com", Dial: func(ctx context.Context, network, _ string) (
					net.Conn, error) {
					mu.Lock()
					defer mu.Unlock()
					if refuse {
						return nil, errors.New("this address is not allowed")
					}
					return new(net.Dialer).DialContext(ctx, network, api.Listener.Addr().String())
				}}
				if scheme == "https" {
					api.StartTLS()
					config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
				} else {
					api.Start()
				}
				t.Cleanup(api.Close)
				cluster, err := terminal.NewCluster(config)
				if err != nil {
					t.Fatal(err)
				}
				o.Clusters["main"] = cluster
			})
			w.shell = func(e exec) { e.exits("3") }
			if end := run(t, w, newClient()); end.Reason != terminal.Exited || end.Code != 3 {
				t.Errorf("ended %+v", end)
			}
			if len(hosts) != 1 || !hosts["example.com"] {
				t.Errorf("called as %v, want example.com alone", hosts)
			}
			if scheme == "https" && (len(names) != 1 || !names["example.com"]) {
				t.Errorf("TLS names %v, want example.com alone", names)
			}

			open := func() *terminal.Session {
				s, err := w.Open(t.Context(), person("p-dana"), "w-1")
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			old = true // an API server before Kubernetes 1.31 is asked by SPDY then
			_, _ = open().Run(t.Context(), newClient())
			if !methods[http.MethodPost] || len(hosts) != 1 {
				t.Errorf("an older API server was called as %v by %v, want by POST too", hosts, methods)
			}

			s := open()
			refuse = true
			clear(hosts)
			if _, err := s.Run(t.Context(), newClient()); err == nil || err.Error() != "this address is not allowed" {
				t.Errorf("an address that is not allowed: got %v", err)
			}
			if len(hosts) != 0 {
				t.Errorf("called as %v although the address is not allowed", hosts)
			}
		})
	}
}
