package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the model of e2e/llama says to everything, and what chat.mjs and this story send, in tokens of the model.
const (
	tinyAnswer           = "GPUs without tickets."
	tinyPrompt, tinySays = 24, 4
)

// TestARealModelServer: llama.cpp runs a real model behind the address of an endpoint, with what the rendered pod says
// (arguments, key, served name; only the port is another). The openai client, unchanged, gets its answers whole and
// streamed with a key of the portal, and the tokens that llama.cpp counted are those of the key.
func TestARealModelServer(t *testing.T) {
	dana := as(t, "dana")
	const model = "Qwen/Qwen2.5-0.5B-Instruct-GGUF"
	w := dana.running("mig-1g.10gb", map[string]any{"kind": "endpoint", "image": "llama-cpp", "name": "real-llama",
		"storage": "", "model": map[string]any{"source": "hub", "name": model, "contextLength": 512}})
	port := startLlama(t, podOf(t, w))
	route := fmt.Sprintf("/routes?pod=%s/%s&port=8080", w["namespace"], w["pod"])
	control(t, http.MethodPut, fmt.Sprintf("%s&to=127.0.0.1:%d", route, port))
	t.Cleanup(func() { control(t, http.MethodDelete, route) })

	id := str(w["id"])
	made := dana.ok(http.StatusCreated, http.MethodPost, "/workloads/"+id+"/keys", map[string]any{"name": "programs"})
	c := exec.Command("node", "chat.mjs", str(w["url"])+"/v1")
	c.Dir, c.Env = filepath.Join(root, "e2e", "openai"), append(os.Environ(), "ENDPOINT_KEY="+str(made["key"]))
	out, err := c.Output()
	if err != nil {
		t.Fatalf("the client failed: %v %s", err, stderrOf(err))
	}
	var got struct {
		Models  []string
		Answers map[string]struct {
			Whole, Model, Streamed string
			Tokens                 int
		}
		Refused struct {
			Status int
			Code   string
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if a := got.Answers[model]; !slices.Equal(got.Models, []string{model}) || a.Whole != tinyAnswer ||
		a.Streamed != tinyAnswer || a.Model != model || a.Tokens != tinyPrompt+tinySays {
		t.Errorf("%s", out)
	}
	if got.Refused.Status != http.StatusNotFound || got.Refused.Code != "model_not_found" {
		t.Errorf("want llama.cpp's own refusal, got %+v", got.Refused)
	}

	text, err := stream(str(w["url"]), str(made["key"]), `{"messages":[{"role":"user","content":"hello there"}],`+
		`"stream":true,"stream_options":{"include_usage":true}}`)
	if err != nil || !strings.HasSuffix(strings.TrimSpace(text), "[DONE]") {
		t.Errorf("want a whole stream, got %v %s", err, text)
	}
	dana.until("/workloads/"+id+"/traffic", "counting as llama.cpp does", time.Minute, func(f map[string]any) bool {
		total, _ := f["total"].(map[string]any)
		return total["promptTokens"] == 2.0*tinyPrompt && total["completionTokens"] == 2.0*tinySays &&
			total["withoutUsage"] == 1.0 // the stream that did not ask for it
	})
	if status, _, _ := chat(t, fmt.Sprintf("http://127.0.0.1:%d", port), str(made["key"]), `{}`); status !=
		http.StatusUnauthorized {
		t.Errorf("the server takes the caller's key: %d", status)
	}
}

// startLlama runs what the pod would run, on this machine, and waits until it answers.
func startLlama(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	dir, port := filepath.Join(root, "e2e", "llama"), freePort()
	file := filepath.Join(t.TempDir(), "tiny.gguf")
	write := exec.Command("node", "model.mjs", file)
	write.Dir = dir
	if said, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, said)
	}
	c := pod.Spec.Containers[0]
	args := append([]string{"server.mjs", file}, c.Args...)
	at := slices.Index(args, "--port")
	if at < 0 || !slices.Contains(args, "--alias") {
		t.Fatalf("want the pod to start llama-server, got %q", c.Args)
	}
	args[at+1] = fmt.Sprint(port)
	server := exec.Command("node", args...)
	server.Dir, server.Env = dir, append(os.Environ(), "LLAMA_API_KEY="+secretEnv(t, pod, "LLAMA_API_KEY"))
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("llama.cpp: %s", said.String())
		}
	})
	eventually(t, "llama.cpp answers", 2*time.Minute, func() bool {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/health", port))
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return port
}

// secretEnv is a variable of a pod's first container that a Secret gives.
func secretEnv(t *testing.T, pod *corev1.Pod, name string) string {
	t.Helper()
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name != name || e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
			continue
		}
		ref := e.ValueFrom.SecretKeyRef
		secret, err := kube(t).CoreV1().Secrets(pod.Namespace).Get(context.Background(), ref.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(secret.Data[ref.Key])
	}
	t.Fatalf("the pod has no %s of a Secret", name)
	return ""
}
