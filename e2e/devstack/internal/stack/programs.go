package stack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/part"
)

// PodNetwork is where the pods' addresses lie. Nothing routes it; addresses on loopback would be refused in
// EndpointSlices.
const PodNetwork = "10.64.0.0/16"

// Programs adds all programs to the group in the order in which they start.
func (s Settings) Programs(g *part.Group) error {
	api, err := s.apiClient()
	if err != nil {
		return err
	}
	g.Add(s.etcd())
	g.Add(s.apiServer(api))
	g.Add(s.controllerManager())
	g.Add(s.scheduler())
	g.Add(s.kwok())
	g.Add(s.prometheus())
	if s.Victoria {
		g.Add(s.victoria())
	}
	if s.SignIn != "" {
		g.Add(s.signIn())
	}
	return nil
}

func (s Settings) etcd() part.Spec {
	return part.Spec{
		Name: "etcd", Path: filepath.Join(s.Bin, "controlplane"), StopWithin: 5 * time.Second,
		Args: []string{"etcd", "--data-dir=" + s.file("etcd"),
			"--listen-client-url=" + s.Ports.URL("etcd"), "--listen-peer-url=" + s.Ports.URL("etcd-peer")},
		ReadyWithin: 2 * time.Minute,
		Ready:       answers(http.DefaultClient, s.Ports.URL("etcd")+"/health", ""),
	}
}

func (s Settings) apiServer(client *http.Client) part.Spec {
	return part.Spec{
		Name: "kube-apiserver", Path: filepath.Join(s.Bin, "controlplane"),
		// With watchers connected it would wait for a minute; nothing of it is lost when it is killed.
		StopWithin: 2 * time.Second,
		Args: []string{"kube-apiserver",
			"--etcd-servers=" + s.Ports.URL("etcd"),
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", s.Ports["kube-apiserver"]),
			// An address for documentation: any that is not loopback is accepted, and a machine without a network has none.
			"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
			"--tls-cert-file=" + s.Keys.ServerCert, "--tls-private-key-file=" + s.Keys.ServerKey,
			"--service-cluster-ip-range=10.96.0.0/16",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + s.Keys.AccountPub,
			"--service-account-signing-key-file=" + s.Keys.AccountKey,
			"--token-auth-file=" + s.file("config", "tokens.csv"),
			"--authorization-mode=Node,RBAC", "--allow-privileged=true", "--profiling=false",
			"--kubelet-preferred-address-types=ExternalIP", // that of our kubelet: nothing routes a node's InternalIP
			"--audit-policy-file=" + s.file("config", "audit-policy.yaml"),
			"--audit-log-path=" + s.AuditLog(), "--audit-log-maxsize=50", "--audit-log-maxbackup=10",
			"--shutdown-delay-duration=0s",
		},
		ReadyWithin: 2 * time.Minute,
		Ready:       answers(client, s.APIServer()+"/readyz", s.Secrets.AdminToken),
	}
}

func (s Settings) controllerManager() part.Spec {
	return part.Spec{
		Name: "kube-controller-manager", Path: filepath.Join(s.Bin, "controlplane"), StopWithin: 5 * time.Second,
		Args: []string{"kube-controller-manager",
			"--kubeconfig=" + s.component("kube-controller-manager"),
			"--service-account-private-key-file=" + s.Keys.AccountKey, "--root-ca-file=" + s.Keys.CA,
			"--use-service-account-credentials", "--leader-elect=false", "--secure-port=0", "--profiling=false",
			"--kube-api-qps=200", "--kube-api-burst=400",
		},
	}
}

func (s Settings) scheduler() part.Spec {
	return part.Spec{
		Name: "kube-scheduler", Path: filepath.Join(s.Bin, "controlplane"), StopWithin: 5 * time.Second,
		Args: []string{"kube-scheduler", "--config=" + s.file("config", "scheduler.yaml"), "--secure-port=0"},
	}
}

func (s Settings) kwok() part.Spec {
	return part.Spec{
		Name: "kwok", Path: filepath.Join(s.Bin, "kwok"), StopWithin: 5 * time.Second,
		Args: []string{"--kubeconfig=" + s.component("kwok"), "--config=" + s.file("config", "stages.yaml"),
			"--manage-all-nodes=true", "--cidr=" + PodNetwork, "--node-ip=10.63.0.1",
			"--node-lease-duration-seconds=40", "--server-address=", "--v=WARN"},
		// Not in the home folder, where a config of another KWOK may lie.
		Env: []string{"KWOK_WORKDIR=" + s.file("kwok")},
	}
}

func (s Settings) prometheus() part.Spec {
	return part.Spec{
		Name: "prometheus", Path: filepath.Join(s.Bin, "prometheus"), StopWithin: 10 * time.Second,
		Args: []string{"--config.file=" + s.file("config", "prometheus.yaml"),
			"--storage.tsdb.path=" + s.file("prometheus"), "--storage.tsdb.retention.time=30d",
			"--storage.tsdb.no-lockfile", "--web.listen-address=" + s.Ports.Addr("prometheus"), "--log.level=warn"},
		ReadyWithin: 2 * time.Minute,
		Ready:       answers(http.DefaultClient, s.Ports.URL("prometheus")+"/-/ready", ""),
	}
}

func (s Settings) victoria() part.Spec {
	return part.Spec{
		Name: "victoria-metrics", Path: filepath.Join(s.Bin, "victoria-metrics"), StopWithin: 10 * time.Second,
		// Two fields of Prometheus are flags here: how often the list of targets is read, and when rules are evaluated.
		Args: []string{"-promscrape.config=" + s.file("config", "prometheus.yaml"),
			"-promscrape.config.strictParse=false", "-promscrape.httpSDCheckInterval=5s",
			"-storageDataPath=" + s.file("victoria-metrics"), "-retentionPeriod=30d",
			"-httpListenAddr=" + s.Ports.Addr("victoria-metrics"), "-loggerLevel=ERROR"},
		ReadyWithin: 2 * time.Minute,
		Ready:       answers(http.DefaultClient, s.Ports.URL("victoria-metrics")+"/health", ""),
	}
}

func (s Settings) signIn() part.Spec {
	return part.Spec{
		Name: "signin", Path: s.SignIn, StopWithin: 5 * time.Second,
		Args: []string{"--listen", s.Ports.Addr("signin"), "--issuer", s.Ports.URL("signin"),
			"--users", s.file("config", "users.json"), "--client-id", ClientID,
			"--client-secret", s.Secrets.ClientSecret, "--keys", s.file("signin.keys")},
		ReadyWithin: 2 * time.Minute,
		Ready:       answers(http.DefaultClient, s.Ports.URL("signin")+"/.well-known/openid-configuration", ""),
	}
}

// ClientID is the portal's name at the OIDC provider.
const ClientID = "gpu-portal"

// answers asks a URL and wants status 200.
func answers(client *http.Client, url, token string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	}
}

func (s Settings) apiClient() (*http.Client, error) {
	ca, err := os.ReadFile(s.Keys.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		DialContext:       (&net.Dialer{Timeout: time.Second}).DialContext,
		DisableKeepAlives: true,
	}}, nil
}
