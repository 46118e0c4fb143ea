package charts_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// helm is Helm itself, on the devstack.
type helm struct {
	t         *testing.T
	d         reconciletest.Devstack
	namespace string
	actions   *action.Configuration
}

func newHelm(t *testing.T) helm {
	t.Helper()
	h := helm{t: t, d: reconciletest.NeedDevstack(t), actions: new(action.Configuration)}
	h.namespace = h.d.Namespace(t)
	flags := genericclioptions.NewConfigFlags(false)
	flags.APIServer, flags.Namespace = &h.d.Config.Host, &h.namespace
	flags.WrapConfigFn = func(*rest.Config) *rest.Config { return rest.CopyConfig(h.d.Config) }
	if err := h.actions.Init(flags, h.namespace, "secret", func(string, ...any) {}); err != nil {
		t.Fatal(err)
	}
	return h
}

// values are those of a small site; more are merged over them.
func (h helm) values(more string) map[string]any {
	h.t.Helper()
	given, err := chartutil.ReadValues(fmt.Appendf(nil, `
config:
  url: https://gpu.example.org
  appsDomain: apps.example.net
  instance: %[1]s
  oidc: {issuer: "http://127.0.0.1:9"}
  clusters: [{name: main}]
  tenantNamespaces: ["%[1]s-*"]
  tenants: [{name: vision, namespace: %[1]s-vision, groups: {developer: [vision]}}]
`, h.namespace))
	if err != nil {
		h.t.Fatal(err)
	}
	over, err := chartutil.ReadValues([]byte(more))
	if err != nil {
		h.t.Fatal(err)
	}
	return chartutil.CoalesceTables(over, given)
}

// served is the settings file that the release has in the cluster, and whether its volume is there.
func (h helm) served() (settings string, volume bool) {
	h.t.Helper()
	m, err := h.d.Client.CoreV1().ConfigMaps(h.namespace).Get(h.t.Context(), charts.Release, metav1.GetOptions{})
	if err == nil {
		settings = m.Data["portal.yaml"]
	} else if !apierrors.IsNotFound(err) {
		h.t.Fatal(err)
	}
	_, err = h.d.Client.CoreV1().PersistentVolumeClaims(h.namespace).Get(h.t.Context(), charts.Release,
		metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		h.t.Fatal(err)
	}
	return settings, err == nil
}

// prepare builds the portal and writes the settings of the release for a process with the release's account; only
// addresses and files of a pod become those of this machine.
func (h helm) prepare() (program, file, address string) {
	h.t.Helper()
	dir := h.t.TempDir()
	program = filepath.Join(dir, "portal")
	if said, err := exec.Command("go", "build", "-o", program, "../cmd/portal").CombinedOutput(); err != nil {
		h.t.Fatalf("%v\n%s", err, said)
	}
	text, _ := h.served()
	var settings map[string]any
	if err := yaml.Unmarshal([]byte(text), &settings); err != nil {
		h.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	address = l.Addr().String()
	_ = l.Close()
	settings["listen"], settings["metricsListen"] = address, ""
	settings["database"] = "sqlite:" + filepath.Join(dir, "portal.db")
	provider := settings["oidc"].(map[string]any)
	provider["issuer"] = "http://127.0.0.1:9"
	delete(provider, "clientSecretFile")
	cluster := settings["clusters"].([]any)[0].(map[string]any)
	cluster["kubeconfig"] = h.kubeconfig(dir)
	delete(cluster, "prometheus")
	file = filepath.Join(dir, "portal.yaml")
	if text, err := yaml.Marshal(settings); err != nil || os.WriteFile(file, text, 0o600) != nil {
		h.t.Fatal(err)
	}
	return program, file, address
}

// runs starts the portal as a process with the settings and the service account of the release.
func (h helm) runs() {
	h.t.Helper()
	program, file, address := h.prepare()
	var said strings.Builder
	run := exec.Command(program, "serve", "--config", file)
	run.Stdout, run.Stderr = &said, &said
	asSomebody(h.t, run, filepath.Dir(file))
	if err := run.Start(); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	h.t.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil || h.t.Failed() {
			h.t.Errorf("the portal: %v\n%s", err, &said)
		}
	})
	waittest.Until(h.t, "the portal", func() error {
		answer, err := http.Get("http://" + address + "/readyz?verbose")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		parts, err := io.ReadAll(answer.Body)
		if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(parts), "[+]cluster/main ok")) {
			err = fmt.Errorf("%s: %s", answer.Status, parts)
		}
		return err
	})
}

// asSomebody lets root start a program as OpenShift would, as a user that no file names with the group root, who owns
// its volumes. Whoever else runs the tests is somebody already.
func asSomebody(t *testing.T, run *exec.Cmd, volumes string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const user = 1000680000
	run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: 0}}
	if err := os.Chmod(filepath.Dir(volumes), 0o755); err != nil { // the folder of the test's folders
		t.Fatal(err)
	}
	if err := filepath.WalkDir(volumes, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, user, 0)
	}); err != nil {
		t.Fatal(err)
	}
}

// kubeconfig is that of the release's service account.
func (h helm) kubeconfig(dir string) string {
	h.t.Helper()
	config, err := charts.AccountConfig(h.t.Context(), h.d.Config, h.namespace)
	if err != nil {
		h.t.Fatal(err)
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{CurrentContext: "c",
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData,
			CertificateAuthority: config.CAFile}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"c": {Token: config.BearerToken}},
		Contexts:  map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "c"}}}, file); err != nil {
		h.t.Fatal(err)
	}
	return file
}

// makes is what the portal does first for a team, with the account of the release: its namespace, and its own rights
// there.
func (h helm) makes(team string) {
	h.t.Helper()
	config, err := charts.AccountConfig(h.t.Context(), h.d.Config, h.namespace)
	if err != nil {
		h.t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		h.t.Fatal(err)
	}
	text, _ := h.served()
	var settings struct {
		Clusters []struct{ Access kube.Access }
	}
	if err := yaml.Unmarshal([]byte(text), &settings); err != nil || len(settings.Clusters) != 1 {
		h.t.Fatalf("%v\n%s", err, text)
	}
	objects, err := kube.TenantAccess(tenant.Tenant{Name: "vision", Namespace: team}, kube.Site{Instance: h.namespace,
		Access: settings.Clusters[0].Access})
	if err != nil {
		h.t.Fatal(err)
	}
	waittest.Until(h.t, "the team's namespace", func() error {
		_, err := client.CoreV1().Namespaces().Create(h.t.Context(), objects[0].(*corev1.Namespace), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	if _, err := client.RbacV1().RoleBindings(team).Create(h.t.Context(), objects[1].(*rbacv1.RoleBinding),
		metav1.CreateOptions{}); err != nil {
		h.t.Fatal(err)
	}
}

// TestDevstackHelmLifecycle: Helm's own library installs the chart, upgrades it, rolls it back and takes it away. The
// portal runs with what was installed and reaches the cluster, and the account of the release makes a team's namespace.
// Nothing of a team, and no database, goes with the release.
func TestDevstackHelmLifecycle(t *testing.T) {
	h := newHelm(t)
	before, err := charts.Load()
	if err != nil {
		t.Fatal(err)
	}
	before.Metadata.Version = "0.0.9" // as if it were the one of before
	install := action.NewInstall(h.actions)
	install.ReleaseName, install.Namespace, install.CreateNamespace = charts.Release, h.namespace, true
	first, err := install.RunWithContext(t.Context(), before, h.values(""))
	if err != nil {
		t.Fatal(err)
	}
	if first.Info.Status != release.StatusDeployed || !strings.Contains(first.Info.Notes, "https://gpu.example.org") {
		t.Errorf("%s: %s", first.Info.Status, first.Info.Notes)
	}
	h.runs()
	team := h.namespace + "-vision"
	h.makes(team)
	t.Cleanup(func() {
		_ = h.d.Client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), team, metav1.DeleteOptions{})
	})
	if _, err := h.d.Client.CoreV1().ConfigMaps(team).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "work"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	installed, volume := h.served()
	if !volume {
		t.Error("no volume for the database")
	}

	now, err := charts.Load()
	if err != nil {
		t.Fatal(err)
	}
	upgrade := action.NewUpgrade(h.actions)
	upgrade.Namespace = h.namespace
	second, err := upgrade.RunWithContext(t.Context(), charts.Release, now, h.values("config: {organization: Example}"))
	if err != nil {
		t.Fatal(err)
	}
	upgraded, volume := h.served()
	if second.Version != 2 || !strings.Contains(upgraded, "organization: Example") || !volume {
		t.Errorf("revision %d, volume %v:\n%s", second.Version, volume, upgraded)
	}

	back := action.NewRollback(h.actions)
	back.Version = 1
	if err := back.Run(charts.Release); err != nil {
		t.Fatal(err)
	}
	if rolled, volume := h.served(); rolled != installed || !volume {
		t.Errorf("rolled back, volume %v:\n%s", volume, rolled)
	}

	if _, err := action.NewUninstall(h.actions).Run(charts.Release); err != nil {
		t.Fatal(err)
	}
	if settings, volume := h.served(); settings != "" || !volume {
		t.Errorf("after it was uninstalled: settings %q, volume %v", settings, volume)
	}
	if _, err := h.d.Client.CoreV1().ConfigMaps(team).Get(t.Context(), "work", metav1.GetOptions{}); err != nil {
		t.Errorf("the team's own: %v", err)
	}
	roles, err := h.d.Client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/instance=" + charts.Release})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range roles.Items {
		if strings.HasPrefix(r.Name, h.namespace) {
			t.Errorf("a role is left: %s", r.Name)
		}
	}
}
