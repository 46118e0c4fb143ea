package stack

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/stages"
)

// WriteFiles writes everything that the programs read.
func (s Settings) WriteFiles() error {
	ca, err := os.ReadFile(s.Keys.CA)
	if err != nil {
		return err
	}
	users, err := json.MarshalIndent(s.Users, "", "  ")
	if err != nil {
		return err
	}
	files := map[string]string{
		s.file("config", "tokens.csv"):         s.tokens(),
		s.file("config", "audit-policy.yaml"):  auditPolicy,
		s.file("config", "scheduler.yaml"):     s.schedulerConfig(),
		s.file("config", "stages.yaml"):        string(stages.YAML),
		s.file("config", "prometheus.yaml"):    s.prometheusConfig(),
		s.file("config", "users.json"):         string(users),
		s.Kubeconfig():                         s.kubeconfig(ca, "admin", s.Secrets.AdminToken),
		s.SimulatorKubeconfig():                s.kubeconfig(ca, "simulators", s.Secrets.SimulatorToken),
		s.component("kube-scheduler"):          s.kubeconfig(ca, "kube-scheduler", s.Secrets.SchedulerToken),
		s.component("kube-controller-manager"): s.kubeconfig(ca, "kube-controller-manager", s.Secrets.ControllerToken),
		s.component("kwok"):                    s.kubeconfig(ca, "kwok", s.Secrets.KwokToken),
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s Settings) component(name string) string { return s.file("config", name+".kubeconfig") }

// tokens is the static token file of the API server: token, user, uid, groups. Every program has a name of its own, so
// that the audit log says who did what.
func (s Settings) tokens() string {
	rows := [][4]string{
		{s.Secrets.AdminToken, "admin", "admin", "system:masters"},
		{s.Secrets.SimulatorToken, "devstack-simulators", "simulators", "system:masters"},
		{s.Secrets.KwokToken, "devstack-kwok", "kwok", "system:masters"},
		{s.Secrets.SchedulerToken, "system:kube-scheduler", "scheduler", ""},
		{s.Secrets.ControllerToken, "system:kube-controller-manager", "controller-manager", ""},
	}
	for _, u := range s.Users { // as if the API server took the provider's tokens (--oidc-username-prefix=oidc:)
		rows = append(rows, [4]string{s.Secrets.UserToken(u), "oidc:" + u.Sub, u.Sub, ""})
	}
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&text, "%s,%s,%s,%q\n", r[0], r[1], r[2], r[3])
	}
	return text.String()
}

func (s Settings) kubeconfig(ca []byte, user, token string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: devstack
contexts:
- name: devstack
  context: {cluster: devstack, user: %[1]s}
clusters:
- name: devstack
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[1]s
  user: {token: %[4]s}
`, user, s.APIServer(), base64.StdEncoding.EncodeToString(ca), token)
}

// auditPolicy keeps who asked for what (no bodies), without the noise of leases, events and the stack's own parts.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: [devstack-kwok, devstack-simulators, "system:apiserver", "system:kube-scheduler", "system:kube-controller-manager"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata # of the portal, whose rights name it
  userGroups: ["system:serviceaccounts"]
  nonResourceURLs: ["/readyz"]
- level: None
  nonResourceURLs: ["/healthz*", "/readyz*", "/livez*", "/version"]
- level: Metadata
`

// schedulerConfig runs one kube-scheduler under the names of the other schedulers too, so that pods of HAMi, Volcano,
// KAI, OrionX and Run:ai are bound as well. HAMi's memory and cores are not on the node: its own scheduler counts them.
func (s Settings) schedulerConfig() string {
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 200, burst: 400}
profiles:
- schedulerName: default-scheduler
- schedulerName: hami-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [nvidia.com/gpumem, nvidia.com/gpumem-percentage, nvidia.com/gpucores, nvidia.com/priority]
`, s.component("kube-scheduler"))
	for _, name := range []string{"volcano", "kai-scheduler", "runai-scheduler", "orion-scheduler"} {
		fmt.Fprintf(&text, "- schedulerName: %s\n", name)
	}
	return text.String()
}

// prometheusConfig scrapes every node's exporter as a ServiceMonitor of the GPU operator does: the target has labels
// namespace, pod and container of its own (honor_labels false), so those of the workload become exported_*. Kubelets
// are scraped as kube-prometheus does, which honours theirs.
func (s Settings) prometheusConfig() string {
	return fmt.Sprintf(`global:
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  evaluation_interval: 30s
scrape_configs:
- job_name: dcgm-exporter
  honor_labels: false
  http_sd_configs:
  - url: %[2]s/exporters
    refresh_interval: 5s
- job_name: kubelet
  honor_labels: true
  http_sd_configs:
  - url: %[2]s/kubelets
    refresh_interval: 5s
`, s.ScrapeInterval, s.Ports.URL("faces"))
}
