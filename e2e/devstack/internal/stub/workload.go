package stub

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const jupyterPort = 8888

// modelPorts are those of vLLM and NIM, of llama.cpp, and of Triton's OpenAI front end.
var modelPorts = []int{8000, 8080, 9000}

// Workload is what the program in a pod would know: its key, the path under which it serves, and what it did so far.
type Workload struct {
	Namespace, Pod, UID, Node string

	Token    string // Jupyter's token; "" for open
	BaseURL  string // begins and ends with a slash
	APIKey   string // the model server's key; "" for open
	Model    string
	jupyter  notebook
	requests counters
}

// Memory keeps the workloads: a program reads its environment once, at its start.
type Memory struct {
	mu  sync.Mutex
	all map[string]*Workload // by pod UID
}

// NewMemory is empty.
func NewMemory() *Memory { return &Memory{all: map[string]*Workload{}} }

func (m *Memory) workload(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod,
	port int) (*Workload, error) {
	m.mu.Lock()
	w := m.all[string(pod.UID)]
	m.mu.Unlock()
	if w != nil {
		return w, nil
	}
	w, err := readWorkload(ctx, client, pod, port)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if there := m.all[w.UID]; there != nil {
		return there, nil
	}
	m.all[w.UID] = w
	return w, nil
}

// Forget drops what is known of a pod that is gone.
func (m *Memory) Forget(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, uid)
}

func readWorkload(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, port int) (*Workload, error) {
	c := containerFor(pod, port)
	env, err := environment(ctx, client, pod, c)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(env["NOTEBOOK_ARGS"])
	for _, word := range append(append(words, c.Command...), c.Args...) {
		words = append(words, expand(word, env))
	}
	w := &Workload{
		Namespace: pod.Namespace, Pod: pod.Name, UID: string(pod.UID), Node: pod.Spec.NodeName,
		Token:   first(flag(words, "--IdentityProvider.token", "--ServerApp.token"), env["JUPYTER_TOKEN"]),
		BaseURL: first(flag(words, "--ServerApp.base_url"), env["NB_PREFIX"], "/"),
		APIKey:  first(flag(words, "--api-key"), env["VLLM_API_KEY"]),
		Model:   first(flag(words, "--served-model-name", "--model"), env["MODEL_NAME"], "demo-model"),
	}
	w.BaseURL = strings.TrimSuffix(w.BaseURL, "/") + "/"
	started := time.Now()
	if pod.Status.StartTime != nil {
		started = pod.Status.StartTime.Time
	}
	w.jupyter.begin(started)
	return w, nil
}

// containerFor is the container that declares the port, or the first.
func containerFor(pod *corev1.Pod, port int) corev1.Container {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if int(p.ContainerPort) == port {
				return c
			}
		}
	}
	return pod.Spec.Containers[0]
}

// environment is what the kubelet would give the container, as far as it comes from values, Secrets and ConfigMaps.
func environment(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod,
	c corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		values, err := source(ctx, client, pod.Namespace, from.SecretRef != nil, nameOf(from))
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			env[from.Prefix+key] = value
		}
	}
	for _, e := range c.Env {
		switch {
		case e.ValueFrom == nil:
			env[e.Name] = expand(e.Value, env)
		case e.ValueFrom.SecretKeyRef != nil:
			ref := e.ValueFrom.SecretKeyRef
			values, err := source(ctx, client, pod.Namespace, true, ref.Name)
			value, there := values[ref.Key]
			switch {
			case err == nil && there:
				env[e.Name] = value
			case ref.Optional != nil && *ref.Optional && (err == nil || apierrors.IsNotFound(err)):
			case err != nil:
				return nil, err
			}
		case e.ValueFrom.ConfigMapKeyRef != nil:
			ref := e.ValueFrom.ConfigMapKeyRef
			values, err := source(ctx, client, pod.Namespace, false, ref.Name)
			if err != nil {
				return nil, err
			}
			env[e.Name] = values[ref.Key]
		}
	}
	return env, nil
}

func nameOf(from corev1.EnvFromSource) string {
	if from.SecretRef != nil {
		return from.SecretRef.Name
	}
	return from.ConfigMapRef.Name
}

func source(ctx context.Context, client kubernetes.Interface, namespace string, secret bool,
	name string) (map[string]string, error) {
	if !secret {
		m, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("environment: %w", err)
		}
		return m.Data, nil
	}
	s, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("environment: %w", err)
	}
	values := map[string]string{}
	for key, value := range s.Data {
		values[key] = string(value)
	}
	return values, nil
}

// expand replaces $(NAME) as the kubelet does.
func expand(text string, env map[string]string) string {
	for name, value := range env {
		text = strings.ReplaceAll(text, "$("+name+")", value)
	}
	return text
}

// flag finds --name=value or --name value among words.
func flag(words []string, names ...string) string {
	for i, word := range words {
		for _, name := range names {
			if value, ok := strings.CutPrefix(word, name+"="); ok {
				return value
			}
			if word == name && i+1 < len(words) {
				return words[i+1]
			}
		}
	}
	return ""
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
