package reconciletest

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/gpu-portal/gpu-portal/charts"
)

// Devstack is a running world with a real API server.
type Devstack struct {
	Config  *rest.Config
	Client  kubernetes.Interface
	Audit   string // the API server's audit log
	control string
}

// NeedDevstack gives the running devstack, or skips the test where none runs.
func NeedDevstack(t testing.TB) Devstack {
	t.Helper()
	path := os.Getenv("DEVSTACK_READY")
	if path == "" {
		t.Skip("no devstack runs here: start one (make demo, or devstack up --ready-file FILE) and set DEVSTACK_READY to " +
			"its ready file")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var ready struct {
		Kubeconfig, Control string
		AuditLog            string `json:"audit_log"`
	}
	if err := json.Unmarshal(data, &ready); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 500, 1000
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return Devstack{Config: config, Client: client, Audit: ready.AuditLog, control: ready.Control}
}

// Part does something to a part of the world: "stop", "start", "freeze", "thaw".
func (d Devstack) Part(t testing.TB, verb, part string) {
	t.Helper()
	answer, err := http.Post(d.control+"/"+verb+"/"+part, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("devstack %s %s: %s", verb, part, answer.Status)
	}
}

// Compact has etcd forget its history up to now, so that a watch from an earlier resourceVersion cannot be answered
// from it. The address of etcd is read from its command line: the devstack keeps it to itself.
func (d Devstack) Compact(t testing.TB) {
	t.Helper()
	url := d.etcd(t)
	var now struct{ Header struct{ Revision string } }
	post(t, url+"/v3/kv/range", map[string]any{"key": "AA=="}, &now)
	post(t, url+"/v3/kv/compaction", map[string]any{"revision": now.Header.Revision, "physical": true}, nil)
}

func (d Devstack) etcd(t testing.TB) string {
	t.Helper()
	answer, err := http.Get(d.control + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var status struct {
		Parts []struct {
			Name string
			PID  int
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	for _, p := range status.Parts {
		if p.Name != "etcd" {
			continue
		}
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range strings.Split(string(args), "\x00") {
			if url, found := strings.CutPrefix(arg, "--listen-client-url="); found {
				return url
			}
		}
	}
	t.Fatal("the devstack has no etcd")
	return ""
}

func post(t testing.TB, url string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(url, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", url, answer.Status, said, err)
	}
	if into != nil {
		if err := json.Unmarshal(said, into); err != nil {
			t.Fatal(err)
		}
	}
}

// Refuse puts an admission webhook before StatefulSets of a namespace; while on says so it refuses them with these
// words.
func (d Devstack) Refuse(t testing.TB, namespace, words string, on *atomic.Bool) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Request    struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response := map[string]any{"uid": review.Request.UID, "allowed": !on.Load()}
		if on.Load() {
			response["status"] = map[string]any{"code": http.StatusForbidden, "message": words}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind,
			"response": response})
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	none, fail := admissionv1.SideEffectClassNone, admissionv1.Fail
	hook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "refuse-" + namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{Name: "refuse.example.org", SideEffects: &none, FailurePolicy: &fail,
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig:            admissionv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule: admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"},
					Resources: []string{"statefulsets"}}}}}}}
	hooks := d.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := hooks.Create(t.Context(), hook, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hooks.Delete(context.Background(), hook.Name, metav1.DeleteOptions{}) })
}

// Rights installs the rights that the chart renders, for a portal in a namespace of its own, and gives a configuration
// that has them and no others.
func (d Devstack) Rights(t testing.TB, v charts.Values) charts.Installed {
	t.Helper()
	own := d.Namespace(t)
	in, err := charts.InstallRights(t.Context(), d.Config, own, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := charts.Remove(context.Background(), d.Config, in.Objects); err != nil {
			t.Error(err)
		}
	})
	in.Config.QPS, in.Config.Burst = 500, 1000
	return in
}

// Namespace is a name that no other test uses; what is made under it goes at the end.
func (d Devstack) Namespace(t testing.TB) string {
	name := fmt.Sprintf("gpu-test-%s", time.Now().Format("150405.000000"))
	name = name[:len(name)-7] + "-" + name[len(name)-6:]
	t.Cleanup(func() {
		_ = d.Client.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return name
}
