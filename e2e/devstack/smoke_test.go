package devstack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
)

// running is a devstack that the test started.
type running struct {
	cmd    *exec.Cmd
	report map[string]any
	client kubernetes.Interface
}

func (r *running) text(key string) string { s, _ := r.report[key].(string); return s }

// TestSmoke starts the whole world twice on the same data and looks at what everything else leans on.
func TestSmoke(t *testing.T) {
	bin := os.Getenv("DEVSTACK_BIN")
	if bin == "" {
		t.Skip("DEVSTACK_BIN is not set: build with `devstack build --out DIR` and name the folder")
	}
	data := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	world := start(t, bin, data)
	pod := makePod(t, ctx, world.client)
	t.Run("the series of the pod are in Prometheus", func(t *testing.T) { checkSeries(t, world, pod.Name) })
	t.Run("VictoriaMetrics has the same series", func(t *testing.T) { checkVictoria(t, world, pod.Name) })
	t.Run("the notebook answers through the SOCKS port", func(t *testing.T) { checkNotebook(t, world, pod.Status.PodIP) })
	t.Run("a command runs in the pod through the API server", func(t *testing.T) { checkExec(t, ctx, world, pod) })
	t.Run("the API server can be stopped and started", func(t *testing.T) { checkRestartOfPart(t, ctx, world) })
	stop(t, world)

	world = start(t, bin, data)
	defer stop(t, world)
	again, err := world.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil || again.UID != pod.UID || again.Status.Phase != corev1.PodRunning {
		t.Errorf("after a restart: want the same pod running, got %v, %v", again.Status.Phase, err)
	}
	if n := len(query(t, world, fmt.Sprintf("last_over_time(DCGM_FI_DEV_FB_USED{exported_pod=%q}[1h])",
		pod.Name))); n == 0 {
		t.Error("after a restart: want the readings of before, got none")
	}
}

func start(t *testing.T, bin, data string) *running {
	t.Helper()
	ready := filepath.Join(data, "ready.json")
	args := []string{"up", "--bin", bin, "--data", data, "--ready-file", ready, "--victoria-metrics"}
	if program := os.Getenv("DEVSTACK_SIGNIN"); program != "" {
		args = append(args, "--signin", program)
	}
	begin := time.Now()
	cmd := exec.Command(filepath.Join(bin, "devstack"), args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	world := &running{cmd: cmd}
	eventually(t, 2*time.Minute, "the devstack is ready", func() error {
		text, err := os.ReadFile(ready)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &world.report)
	})
	t.Logf("ready after %.1f s", time.Since(begin).Seconds())
	config, err := clientcmd.BuildConfigFromFlags("", world.text("kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if world.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return world
}

func stop(t *testing.T, world *running) {
	t.Helper()
	begin := time.Now()
	_ = world.cmd.Process.Signal(syscall.SIGTERM)
	if err := world.cmd.Wait(); err != nil {
		t.Errorf("want a clean end, got %v", err)
	}
	t.Logf("stopped after %.1f s", time.Since(begin).Seconds())
}

// makePod makes a tenant's namespace and a pod for a MIG slice in it, and waits until it runs.
func makePod(t *testing.T, ctx context.Context, client kubernetes.Interface) *corev1.Pod {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "smoke"}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	slice := corev1.ResourceList{"nvidia.com/mig-1g.10gb": resource.MustParse("1")}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "nb"}, Spec: corev1.PodSpec{
		Tolerations: []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{{Name: "notebook", Image: "example/notebook:1",
			Resources: corev1.ResourceRequirements{Limits: slice},
			Env:       []corev1.EnvVar{{Name: "JUPYTER_TOKEN", Value: "hush"}}}},
	}}
	eventually(t, 30*time.Second, "the namespace takes pods", func() error {
		_, err := client.CoreV1().Pods("smoke").Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	eventually(t, 30*time.Second, "the pod runs", func() error {
		var err error
		if pod, err = client.CoreV1().Pods("smoke").Get(ctx, "nb", metav1.GetOptions{}); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("phase %s", pod.Status.Phase)
		}
		return nil
	})
	return pod
}

// checkVictoria: what one server knows of the pod's device the other one knows by the same labels.
func checkVictoria(t *testing.T, world *running, pod string) {
	expression := fmt.Sprintf(
		`count by (__name__, UUID, GPU_I_ID, exported_namespace, exported_pod, namespace, instance) `+
			`({__name__=~"DCGM_.+", exported_pod=%q})`, pod)
	eventually(t, time.Minute, "both servers know the same series", func() error {
		one := labelsOf(query(t, world, expression))
		other := labelsOf(ask(t, world.text("victoria_metrics"), expression))
		if len(one) == 0 || !slices.Equal(one, other) {
			return fmt.Errorf("Prometheus has %v, VictoriaMetrics %v", one, other)
		}
		return nil
	})
}

// labelsOf are the labels of the rows of an answer, in a steady order.
func labelsOf(rows []any) []string {
	var all []string
	for _, row := range rows {
		text, _ := json.Marshal(row.(map[string]any)["metric"])
		all = append(all, string(text))
	}
	slices.Sort(all)
	return all
}

func checkSeries(t *testing.T, world *running, pod string) {
	expression := fmt.Sprintf(
		`DCGM_FI_PROF_GR_ENGINE_ACTIVE{job="dcgm-exporter",exported_namespace="smoke",exported_pod=%q,GPU_I_PROFILE="1g.10gb",namespace="gpu-operator"}`, pod)
	eventually(t, 30*time.Second, "the series is there", func() error {
		if n := len(query(t, world, expression)); n != 1 {
			return fmt.Errorf("%d series", n)
		}
		return nil
	})
	for _, name := range []string{"container_cpu_usage_seconds_total", "container_network_receive_bytes_total",
		"container_network_transmit_bytes_total"} {
		expression := fmt.Sprintf(`count(%s{job="kubelet",namespace="smoke",pod=%q}) by (pod)`, name, pod)
		eventually(t, 30*time.Second, name+" is there", func() error {
			if n := len(query(t, world, expression)); n != 1 {
				return fmt.Errorf("%d pods", n)
			}
			return nil
		})
	}
}

func query(t *testing.T, world *running, expression string) []any {
	t.Helper()
	return ask(t, world.text("prometheus"), expression)
}

func ask(t *testing.T, server, expression string) []any {
	t.Helper()
	// VictoriaMetrics hides its newest half minute unless it is told otherwise.
	resp, err := http.Get(server + "/api/v1/query?latency_offset=1ms&query=" + url.QueryEscape(expression))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct {
			Result []any `json:"result"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data.Result
}

func checkNotebook(t *testing.T, world *running, ip string) {
	proxy, err := url.Parse(world.text("socks5"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
	for token, want := range map[string]int{"hush": http.StatusOK, "wrong": http.StatusForbidden} {
		req, err := http.NewRequest(http.MethodGet, "http://"+ip+":8888/api/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "token "+token)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("token %s: want %d, got %d", token, want, resp.StatusCode)
		}
	}
}

// checkExec asks as kubectl does, in both ways that the API server takes; it translates the first for the kubelet.
func checkExec(t *testing.T, ctx context.Context, world *running, pod *corev1.Pod) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", world.text("kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	at := world.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).
		SubResource("exec").VersionedParams(&corev1.PodExecOptions{Container: "notebook", Stdout: true,
		Command: []string{"sh", "-c", "env"}}, scheme.ParameterCodec).URL()
	sockets, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, at.String())
	if err != nil {
		t.Fatal(err)
	}
	spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, at)
	if err != nil {
		t.Fatal(err)
	}
	for name, executor := range map[string]remotecommand.Executor{"WebSocket": sockets, "SPDY": spdy} {
		var out bytes.Buffer
		if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out}); err != nil ||
			out.String() != "HOSTNAME=nb\nJUPYTER_TOKEN=hush\n" {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}

func checkRestartOfPart(t *testing.T, ctx context.Context, world *running) {
	tell := func(action string) {
		resp, err := http.Post(world.text("control")+action, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", action, body)
		}
	}
	tell("/stop/apiserver")
	if _, err := world.client.Discovery().ServerVersion(); err == nil {
		t.Error("want the API server gone")
	}
	tell("/start/apiserver")
	if _, err := world.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil {
		t.Errorf("want the API server back, got %v", err)
	}
}

func eventually(t *testing.T, patience time.Duration, what string, f func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %s until %s: %v", patience, what, err)
		}
	}
}
