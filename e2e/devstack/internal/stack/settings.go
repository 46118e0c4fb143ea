package stack

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/pki"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/ports"
)

// Settings say what to start and where.
type Settings struct {
	Bin    string // folder with controlplane, kwok, prometheus, victoria-metrics
	Data   string // folder of this world; absolute
	SignIn string // program of the OIDC provider; "" for none
	// Victoria starts VictoriaMetrics beside Prometheus, with the same scrape configuration.
	Victoria bool
	// ScrapeInterval of Prometheus for the readings of the GPUs.
	ScrapeInterval time.Duration

	Ports   ports.Book
	Keys    pki.Files
	Secrets Secrets
	Users   []User
}

// PortNames are all that need a port.
var PortNames = []string{"etcd", "etcd-peer", "kube-apiserver", "prometheus", "victoria-metrics", "signin", "socks",
	"control", "faces", "kubelet"}

// Secrets are random and stay the same for the life of a data folder.
type Secrets struct {
	AdminToken, SchedulerToken, ControllerToken, KwokToken, SimulatorToken string
	ClientSecret, ControlPath                                              string
}

// UserToken is somebody's token of the API server.
func (s Secrets) UserToken(u User) string {
	sum := sha256.Sum256([]byte(s.AdminToken + "\x00" + u.Sub))
	return hex.EncodeToString(sum[:])
}

// LoadSecrets reads or makes the secrets of a data folder.
func LoadSecrets(path string) (Secrets, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		var s Secrets
		return s, json.Unmarshal(text, &s)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Secrets{}, err
	}
	s := Secrets{
		AdminToken: rand.Text(), SchedulerToken: rand.Text(), ControllerToken: rand.Text(),
		KwokToken: rand.Text(), SimulatorToken: rand.Text(), ClientSecret: rand.Text(), ControlPath: rand.Text(),
	}
	if text, err = json.MarshalIndent(s, "", "  "); err != nil {
		return s, err
	}
	return s, os.WriteFile(path, text, 0o600)
}

func (s Settings) file(parts ...string) string {
	return filepath.Join(append([]string{s.Data}, parts...)...)
}

// APIServer is the address of the API server.
func (s Settings) APIServer() string { return "https://" + s.Ports.Addr("kube-apiserver") }

// Kubeconfig is the path of the administrator's kubeconfig; the other identities have files beside it.
func (s Settings) Kubeconfig() string { return s.file("kubeconfig") }

// SimulatorKubeconfig is the path of the kubeconfig of our simulators.
func (s Settings) SimulatorKubeconfig() string { return s.file("config", "simulators.kubeconfig") }

// AuditLog is the file to which the API server writes who asked for what.
func (s Settings) AuditLog() string { return s.file("audit.log") }
