package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestARealJupyterServer opens the real notebook server of Debian's jupyter-notebook package, started as the rendered
// pod says (command, arguments and environment, only the port is another), behind the pod's address: sign in, open, run
// a cell over the WebSocket, see the kernel in the activity.
func TestARealJupyterServer(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"image": "jupyter-notebook", "name": "real-jupyter"})
	port := startJupyter(t, podOf(t, w))
	route := fmt.Sprintf("/routes?pod=%s/%s&port=8888", w["namespace"], w["pod"])
	control(t, http.MethodPut, fmt.Sprintf("%s&to=127.0.0.1:%d", route, port))
	t.Cleanup(func() { control(t, http.MethodDelete, route) })

	p := signIn(t, "dana", look{})
	// What Jupyter's own pages put on the console is theirs.
	p.expecting("real-jupyter.localhost")
	p.expecting("console:")
	p.expecting("script:")
	p.open("/workloads/" + str(w["id"]))
	p.reads("[data-test=workload-head] [data-test=state]", "Running")
	notebook := p.popup(func() error { return p.at("[data-test=open]").First().Click() })
	notebook.OnConsole(func(m playwright.ConsoleMessage) { t.Logf("notebook's console: %s: %s", m.Type(), m.Text()) })
	notebook.OnRequestFailed(func(r playwright.Request) { t.Logf("failed: %s %s %v", r.Method(), r.URL(), r.Failure()) })
	notebook.OnResponse(func(r playwright.Response) {
		if r.Status() >= 400 {
			t.Logf("%d %s %v", r.Status(), r.URL(), r.Request().Headers())
		}
	})
	p.do(p.assert.Locator(notebook.Locator("#notebook_list")).ToContainText("hello.ipynb"))
	if _, err := notebook.Goto(str(w["url"]) + "/notebooks/hello.ipynb"); err != nil {
		t.Fatal(err)
	}
	p.do(p.assert.Locator(notebook.Locator("#kernel_indicator")).ToContainText("Python 3"))
	p.do(p.assert.Locator(notebook.Locator("#notification_kernel .fa-unlink, .kernel_idle_icon").First()).ToBeVisible())
	p.do(notebook.Locator(".code_cell").First().Click())
	p.do(notebook.Keyboard().Press("Control+Enter"))
	p.do(p.assert.Locator(notebook.Locator(".output_area").First()).ToContainText("hello from a cell: 42"))
	_, _ = notebook.Screenshot()

	dana.until("/workloads/"+str(w["id"]), "showing the kernel", 3*time.Minute, func(w map[string]any) bool {
		activity, _ := w["activity"].(map[string]any)
		kernels, _ := activity["kernels"].([]any)
		return len(kernels) == 1 && kernels[0].(map[string]any)["name"] == "python3"
	})
	p.reads("[data-test=workload-activity]", "python3")
}

// startJupyter runs what the pod would run, on this machine, and waits until it answers with the pod's own secret.
func startJupyter(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	c := pod.Spec.Containers[0]
	command := append(append([]string{}, c.Command...), c.Args...)
	if len(command) == 0 || filepath.Base(command[0]) != "jupyter-notebook" {
		t.Fatalf("want the pod to start jupyter-notebook, got %q", command)
	}
	home, port := t.TempDir(), freePort()
	writeNotebook(t, home)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8"}
	token := ""
	for _, e := range c.Env {
		value := e.Value
		switch {
		case e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil:
			ref := e.ValueFrom.SecretKeyRef
			secret, err := kube(t).CoreV1().Secrets(pod.Namespace).Get(context.Background(), ref.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			value = string(secret.Data[ref.Key])
			token = value
		case e.Name == "JUPYTER_PORT":
			value = fmt.Sprint(port)
		}
		cmd.Env = append(cmd.Env, e.Name+"="+value)
	}
	if os.Getuid() == 0 { // Jupyter refuses to run as root; the pod would not be root either
		if err := os.Chmod(filepath.Dir(home), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := filepath.Walk(home, func(path string, _ os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			return os.Chown(path, 65534, 65534)
		}); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Setpgid: true,
			Pdeathsig: syscall.SIGKILL}
	} else {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "jupyter.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("jupyter: %s", text)
		}
	})
	eventually(t, "the notebook server answers", 3*time.Minute, func() bool {
		r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/api/status", port), nil)
		if err != nil {
			return false
		}
		r.Header.Set("Authorization", "token "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return port
}

func writeNotebook(t *testing.T, home string) {
	t.Helper()
	notebook := map[string]any{"nbformat": 4, "nbformat_minor": 4,
		"metadata": map[string]any{"kernelspec": map[string]any{"name": "python3", "display_name": "Python 3",
			"language": "python"}},
		"cells": []any{map[string]any{"cell_type": "code", "execution_count": nil, "metadata": map[string]any{},
			"outputs": []any{},
			"source":  []string{"print('hello from a cell:', 6 * 7)"}}}}
	text, err := json.Marshal(notebook)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "hello.ipynb"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// freePort is one that nobody listened on a moment ago, and that neither an outgoing connection nor devstack is given
// before its program begins: below the ports of both.
func freePort() int {
	for {
		port := 12_000 + rand.IntN(8_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
}
