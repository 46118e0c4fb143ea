package stack

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// Portal is the portal as a process of its own.
type Portal struct {
	URL    string
	Dir    string            // its database, key and configuration
	Tokens map[string]string // by subject
	// the service account as which it asks the API server; it has the rights that the chart renders and no others
	Account string
	root    string
	out     io.Writer
	env     []string
	cmd     *exec.Cmd
	done    chan error
}

// PortalOptions says how to set a portal up.
type PortalOptions struct {
	Root     string
	Dir      string
	Ready    Ready
	Port     int    // 0: a free one, remembered in Dir
	Database string // default: SQLite in Dir
	Instance string // tells portals on one cluster apart
	MinLease string // default 1m
	Spaces   string // prefix of the teams' namespaces; default "gpu-"
	Out      io.Writer
	Env      []string // more environment
	Change   func(config map[string]any)
	// what a database begins with, by the file of the settings; nil for nothing
	Prepare func(ctx context.Context, config string) error
}

// Subjects are those who get an API token.
var Subjects = []string{"dana", "devi", "otto", "ada", "pat", "audrey", "nora", "lena"}

// NewPortal writes a configuration and makes a token for everybody who has none yet. It starts nothing.
func NewPortal(ctx context.Context, o PortalOptions) (*Portal, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	port, err := portOf(o)
	if err != nil {
		return nil, err
	}
	p := &Portal{URL: fmt.Sprintf("http://localhost:%d", port), Dir: o.Dir, Tokens: map[string]string{}, root: o.Root,
		out: o.Out, env: o.Env}
	rights, err := o.installRights(ctx)
	if err != nil {
		return nil, err
	}
	p.Account = rights.Access.Account
	if err := os.WriteFile(o.licenseKey(), []byte("key-of-the-devstack\n"), 0o600); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(configuration(o, port, rights.Access))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(p.config(), text, 0o600); err != nil {
		return nil, err
	}
	if o.Prepare != nil {
		if err := o.Prepare(ctx, p.config()); err != nil {
			return nil, err
		}
	}
	for _, sub := range Subjects {
		if p.Tokens[sub], err = p.token(ctx, o.Ready, sub); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// licenseKey is what the stub of the license service wants to see; any key will do.
func (o PortalOptions) licenseKey() string { return filepath.Join(o.Dir, "license-key") }

func (p *Portal) config() string { return filepath.Join(p.Dir, "portal.yaml") }

// portOf remembers the port, so that a second start finds it again. A port that is taken is said in one line.
func portOf(o PortalOptions) (int, error) {
	file := filepath.Join(o.Dir, "port")
	port := o.Port
	if data, err := os.ReadFile(file); err == nil && port == 0 {
		_, _ = fmt.Sscan(string(data), &port)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return 0, fmt.Errorf("port %d is taken by another program; choose another one with PORT=… (%w)", port, err)
	}
	port = l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	return port, os.WriteFile(file, fmt.Appendln(nil, port), 0o600)
}

// spaces is the prefix of the teams' namespaces, own the namespace that the portal would run in.
func (o PortalOptions) spaces() string { return cmp.Or(o.Spaces, "gpu-") }

func (o PortalOptions) own() string {
	if o.Instance == "" {
		return "gpu-portal"
	}
	return "portal-" + o.Instance
}

func (o PortalOptions) kubeconfig() string { return filepath.Join(o.Dir, "kubeconfig") }

// installRights gives the portal a service account with the rights that the chart renders, and writes its kubeconfig.
func (o PortalOptions) installRights(ctx context.Context) (charts.Installed, error) {
	admin, err := clientcmd.BuildConfigFromFlags("", o.Ready.Kubeconfig)
	if err != nil {
		return charts.Installed{}, err
	}
	rights, err := charts.InstallRights(ctx, admin, o.own(), charts.Values{Instance: o.Instance,
		Names: []string{o.spaces() + "*"}, Terminal: true, Snapshots: true})
	if err != nil {
		return rights, fmt.Errorf("give the portal its rights: %w", err)
	}
	text, err := charts.Kubeconfig(rights.Config)
	if err != nil {
		return rights, err
	}
	return rights, os.WriteFile(o.kubeconfig(), text, 0o600)
}

func configuration(o PortalOptions, port int, access kube.Access) map[string]any {
	spaces := o.spaces()
	minLease, database, instance := o.MinLease, o.Database, o.Instance
	if minLease == "" {
		minLease = "1m"
	}
	if database == "" {
		database = "sqlite:" + filepath.Join(o.Dir, "portal.db")
	}
	if instance == "" {
		instance = "default"
	}
	quota := map[string]int{"cpu": 10, "mig-1g.10gb": 7, "mig-3g.40gb": 3, "gpu-shared": 6, "vgpu-12q": 3, "h100": 2}
	c := map[string]any{
		"listen": fmt.Sprintf("127.0.0.1:%d", port), "database": database, "instance": instance,
		"oidc": map[string]any{"issuer": o.Ready.OIDCIssuer, "clientID": o.Ready.OIDCClientID,
			"clientSecret": o.Ready.OIDCClientSecret, "name": "the demo sign-in"},
		"clusters": []any{map[string]any{"name": "main", "kubeconfig": o.kubeconfig(), "prometheus": o.Ready.Prometheus,
			"podAccess": o.Ready.SOCKS5, "access": access, "gatewayNamespace": o.own(),
			"storageClass": "standard", "sharedStorage": []any{map[string]any{"name": "standard", "access": "ReadWriteMany"}},
			"agents": map[string]any{"namespace": "gpu-operator"}}},
		"platform": map[string]any{"approver": []string{"gpu-approvers"}, "admin": []string{"gpu-admins"},
			"auditor": []string{"gpu-auditors"}},
		"tenants": []any{
			map[string]any{"name": "vision", "title": "Vision", "namespace": spaces + "vision", "quota": quota,
				"groups": map[string]any{"developer": []string{"gpu-vision-developers"}, "owner": []string{"gpu-vision-owners"}}},
			map[string]any{"name": "speech", "title": "Speech", "namespace": spaces + "speech", "quota": map[string]int{"cpu": 4,
				"mig-1g.10gb": 2, "gpu-shared": 2},
				"groups": map[string]any{"developer": []string{"gpu-speech-developers"}}},
		},
		"licensePools": []any{map[string]any{"name": "nvidia-vws", "title": "NVIDIA RTX vWS",
			"feature": "NVIDIA RTX Virtual Workstation", "seats": 4},
			map[string]any{"name": "nvidia-vcs", "title": "NVIDIA vCS", "feature": "NVIDIA Virtual Compute Server",
				"server": "devstack"}},
		"licenseServers": []any{map[string]any{"name": "devstack", "url": o.Ready.LicenseServer, "org": "lic-devstack",
			"apiKeyFile": o.licenseKey()}},
		"limits":   map[string]any{"minLease": minLease},
		"terminal": map[string]any{"enabled": true, "files": true},
		// by it nothing is reached that nobody approved
		"externalAppsDomain": "outside.localhost",
		"tunnel":             map[string]any{"enabled": true},
		"teamImages":         []string{"registry.example.org/{team}/*"},
		"tenantNamespaces":   []string{spaces + "*"},
	}
	if o.Change != nil {
		o.Change(c)
	}
	return c
}

// token makes an API token for a person with the portal's own command, or finds the one made before.
func (p *Portal) token(ctx context.Context, r Ready, sub string) (string, error) {
	file := filepath.Join(p.Dir, "token-"+sub)
	if data, err := os.ReadFile(file); err == nil {
		return strings.TrimSpace(string(data)), nil
	}
	u, ok := r.User(sub)
	if !ok {
		return "", fmt.Errorf("the sign-in provider does not know %s", sub)
	}
	cmd := exec.CommandContext(ctx, Bin(p.root, "portal"), "token", "create", "--config", p.config(), "--issuer",
		r.OIDCIssuer, "--subject", u.Sub,
		"--name", u.Name, "--email", u.Email, "--groups", strings.Join(u.Groups, ","), "--label", "demo", "--life", "8760h")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("make a token for %s: %w: %s", sub, err, errs.String())
	}
	return strings.TrimSpace(string(out)), os.WriteFile(file, out, 0o600)
}

// Start starts the portal and waits until it is ready.
func (p *Portal) Start(ctx context.Context) error {
	p.cmd = exec.Command(Bin(p.root, "portal"), "serve", "--config", p.config())
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	p.done = make(chan error, 1)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	cmd, done := p.cmd, p.done
	go func() { done <- cmd.Wait() }()
	return p.WaitReady(ctx, "/readyz")
}

// WaitReady waits until a path of the portal answers 200.
func (p *Portal) WaitReady(ctx context.Context, path string) error {
	for {
		if answer, err := http.Get(p.URL + path); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-p.done:
			p.done <- err
			return fmt.Errorf("the portal ended: %w", orUnknown(err))
		case <-ctx.Done():
			return fmt.Errorf("the portal is not ready: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Done says when the portal has ended by itself.
func (p *Portal) Done() <-chan error { return p.done }

// Signal sends its process a signal: SIGSTOP freezes it as a machine that hangs.
func (p *Portal) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Stop lets it finish its work in hand.
func (p *Portal) Stop() { stop(p.cmd, p.done, 20*time.Second) }

// Kill ends it at once, as a power cut would.
func (p *Portal) Kill() {
	_ = p.cmd.Process.Kill()
	err := <-p.done
	p.done <- err
}
