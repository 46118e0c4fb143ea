package stub

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/socks"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

// pod is one that runs on node n1 in namespace red.
func pod(name, ip string, change func(*corev1.Pod)) *corev1.Pod {
	started := metav1.Now()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: name, UID: types.UID("uid-" + name),
			Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, StartTime: &started,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

func tokenFrom(secret bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		env := corev1.EnvVar{Name: "JUPYTER_TOKEN", Value: "hush"}
		if secret {
			env = corev1.EnvVar{Name: "JUPYTER_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "nb"}, Key: "token"}}}
		}
		p.Spec.Containers[0].Env = []corev1.EnvVar{env}
	}
}

// TestASecretThatIsNotThereMayBeOptional: as with the kubelet, the container starts without the variable; one that is
// needed keeps it from answering.
func TestASecretThatIsNotThereMayBeOptional(t *testing.T) {
	needs := func(optional *bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HF_TOKEN", ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "none-such"},
					Key: "token", Optional: optional}}}}
		}
	}
	may := true
	s := start(t, pod("may", "10.64.0.31", needs(&may)), pod("must", "10.64.0.32", needs(nil)))
	for ip, want := range map[string]int{"10.64.0.31": http.StatusOK, "10.64.0.32": 0} {
		if code, _ := s.get(t, "http://"+ip+":8000/health", nil); code != want {
			t.Errorf("%s: want %d, got %d", ip, want, code)
		}
	}
}

// site is a pod network and a client that reaches it through the SOCKS port.
type site struct {
	network *Network
	client  *http.Client
	proxy   *url.URL
}

func start(t *testing.T, objects ...runtime.Object) site {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "lost", Annotations: map[string]string{nodes.FailedAnnotation: "true"}},
	})
	cluster, err := world.New(fake.NewClientset(objects...))
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(ctx); err != nil {
		t.Fatal(err)
	}
	port := &socks.Port{Addr: freeAddr(t), Network: NewNetwork(ctx, cluster, NewMemory())}
	if err := port.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(port.Stop)
	proxy := &url.URL{Scheme: "socks5", Host: port.Addr}
	return site{port.Network.(*Network), &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}, proxy}
}

func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// get answers the status and the body; 0 when the connection is refused.
func (s site) get(t *testing.T, address string, header http.Header) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

var authorized = http.Header{"Authorization": {"token hush"}}

func TestWhoIsLetIn(t *testing.T) {
	s := start(t,
		pod("direct", "10.64.0.1", tokenFrom(false)),
		pod("secret", "10.64.0.2", tokenFrom(true)),
		pod("open", "10.64.0.3", nil),
		pod("pending", "10.64.0.4", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
		pod("crashing", "10.64.0.5", func(p *corev1.Pod) { p.Status.Conditions = nil }),
		pod("on-lost-node", "10.64.0.6", func(p *corev1.Pod) { p.Spec.NodeName = "lost" }),
		pod("model", "10.64.0.7", func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8000}}
		}),
		pod("prefixed", "10.64.0.8", func(p *corev1.Pod) {
			p.Spec.Containers[0].Args = []string{"--ServerApp.base_url=/nb/x/"}
		}),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "nb"},
			Data: map[string][]byte{"token": []byte("hush")}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "svc"}, Spec: corev1.ServiceSpec{
			ClusterIP: "10.96.0.9", Selector: map[string]string{"app": "open"},
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8888)}}}},
	)
	cases := map[string]struct {
		url    string
		header http.Header
		want   int
	}{
		"with the token from the environment": {"http://10.64.0.1:8888/api/status", authorized, 200},
		"with the token from a Secret":        {"http://10.64.0.2:8888/api/status", authorized, 200},
		"without the token":                   {"http://10.64.0.2:8888/api/status", nil, 403},
		"with a wrong token": {"http://10.64.0.2:8888/lab", http.Header{"Authorization": {"token x"}},
			403},
		"the version needs none":                {"http://10.64.0.2:8888/api", nil, 200},
		"a server without a token is open":      {"http://10.64.0.3:8888/lab", nil, 200},
		"through a Service's address":           {"http://10.96.0.9/api/status", nil, 200},
		"through a Service's name":              {"http://svc.red.svc.cluster.local/api/status", nil, 200},
		"a Service has no other port":           {"http://10.96.0.9:81/api", nil, 0},
		"a pod that does not run":               {"http://10.64.0.4:8888/api", nil, 0},
		"a pod whose container crashes":         {"http://10.64.0.5:8888/api", nil, 0},
		"a pod on a lost node":                  {"http://10.64.0.6:8888/api", nil, 0},
		"an address that nobody has":            {"http://10.64.9.9:8888/api", nil, 0},
		"a model server":                        {"http://10.64.0.7:8000/v1/models", nil, 200},
		"a model server is no notebook":         {"http://10.64.0.7:8888/api", nil, 0},
		"a port on which nothing listens":       {"http://10.64.0.3:22/", nil, 0},
		"a notebook under a prefix":             {"http://10.64.0.8:8888/nb/x/api/status", nil, 200},
		"a notebook under a prefix, without it": {"http://10.64.0.8:8888/api/status", nil, 404},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, body := s.get(t, c.url, c.header); got != c.want {
				t.Errorf("want %d, got %d: %s", c.want, got, body)
			}
		})
	}
}

func TestKernelsAndTheirChannels(t *testing.T) {
	s := start(t, pod("nb", "10.64.0.1", tokenFrom(false)))
	req, _ := http.NewRequest(http.MethodPost, "http://10.64.0.1:8888/api/kernels",
		strings.NewReader(`{"name":"python3"}`))
	req.Header = authorized.Clone()
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var k kernel
	if err := json.NewDecoder(resp.Body).Decode(&k); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("want a kernel, got %s, %v", resp.Status, err)
	}
	dialer := websocket.Dialer{Proxy: http.ProxyURL(s.proxy)}
	conn, _, err := dialer.Dial("ws://10.64.0.1:8888/api/kernels/"+k.ID+"/channels", authorized)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.ReadMessage(); err != nil || string(got) != "hello" {
		t.Fatalf("want the echo, got %q, %v", got, err)
	}
	foreign := authorized.Clone()
	foreign.Set("Origin", "http://elsewhere.example")
	if _, _, err := dialer.Dial("ws://10.64.0.1:8888/api/kernels/"+k.ID+"/channels", foreign); err == nil {
		t.Error("want a foreign Origin refused")
	}
	if _, body := s.get(t, "http://10.64.0.1:8888/api/status", authorized); !strings.Contains(body, `"kernels":1`) ||
		!strings.Contains(body, `"connections":1`) {
		t.Errorf("want one kernel and one connection, got %s", body)
	}
}

func TestPretend(t *testing.T) {
	nb := pod("nb", "10.64.0.1", nil)
	s := start(t, nb)
	last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := s.network.Pretend(context.Background(), nb, last, 2, "busy"); err != nil {
		t.Fatal(err)
	}
	if _, body := s.get(t, "http://10.64.0.1:8888/api/kernels?no_track_activity=1", nil); strings.Count(body,
		`"busy"`) != 2 {
		t.Errorf("want two busy kernels, got %s", body)
	}
	if _, body := s.get(t, "http://10.64.0.1:8888/api/status", nil); !strings.Contains(body,
		`"last_activity":"2026-01-02T03:04:05Z"`) {
		t.Errorf("want the pretended time, got %s", body)
	}
	s.get(t, "http://10.64.0.1:8888/api/kernels", nil)
	if _, body := s.get(t, "http://10.64.0.1:8888/api/status", nil); strings.Contains(body,
		`"last_activity":"2026-01-02T03:04:05Z"`) {
		t.Errorf("listing kernels counts as activity, got %s", body)
	}
}

func TestRoute(t *testing.T) {
	s := start(t, pod("nb", "10.64.0.1", nil))
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "real "+r.Host)
	}))
	defer real.Close()
	target := Target{Namespace: "red", Pod: "nb", Port: 8888}
	s.network.Route(target, real.Listener.Addr().String())
	if code, body := s.get(t, "http://10.64.0.1:8888/", nil); code != 200 || body != "real 10.64.0.1:8888" {
		t.Errorf("want the real server, got %d %s", code, body)
	}
	s.network.Route(target, "")
	s.client.CloseIdleConnections()
	if _, body := s.get(t, "http://10.64.0.1:8888/lab", nil); !strings.Contains(body, `data-test="pod">nb<`) {
		t.Errorf("want the stub again, got %s", body)
	}
	s.network.Route(target, real.Listener.Addr().String()) // the client still has its connection
	if _, body := s.get(t, "http://10.64.0.1:8888/lab", nil); body != "real 10.64.0.1:8888" {
		t.Errorf("want connections from before to end with a new route, got %s", body)
	}
}

func TestChat(t *testing.T) {
	s := start(t, pod("m", "10.64.0.1", func(p *corev1.Pod) {
		p.Spec.Containers[0].Args = []string{"--model", "acme/chat",
			"--api-key=k"}
	}))
	ask := func(key, body string) (int, string) {
		req, _ := http.NewRequest(http.MethodPost, "http://10.64.0.1:8000/v1/chat/completions", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := s.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	const hello = `"messages":[{"role":"user","content":"hello there"}]`
	if code, text := ask("k", `{"model":"acme/chat",`+hello+`}`); code != 200 ||
		!strings.Contains(text, "You said: hello there") {
		t.Errorf("want an answer, got %d %s", code, text)
	}
	if _, text := ask("k", `{"stream":true,`+hello+`}`); strings.Count(text, "data: ") != 5 ||
		!strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("want four words and the end, got %s", text)
	}
	if _, text := ask("k", `{"stream":true,"stream_options":{"include_usage":true},`+hello+`}`); strings.Count(text,
		"data: ") != 6 || !strings.Contains(text, `"choices":[]`) || !strings.Contains(text, `"prompt_tokens":2`) {
		t.Errorf("want the usage before the end, got %s", text)
	}
	if code, _ := ask("k", `{"model":"other",`+hello+`}`); code != 404 {
		t.Errorf("want an unknown model not found, got %d", code)
	}
	if code, _ := ask("wrong", `{`+hello+`}`); code != 401 {
		t.Errorf("want a wrong key refused, got %d", code)
	}
	if _, text := s.get(t, "http://10.64.0.1:8000/metrics", nil); !strings.Contains(text,
		`vllm:request_success_total{engine="0",model_name="acme/chat",finished_reason="stop"} 3`) {
		t.Errorf("want three successes, got %s", text)
	}
}
