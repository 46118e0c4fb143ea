package reconciletest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Devstack is a running world with a real API server.
type Devstack struct {
	Config  *rest.Config
	Client  kubernetes.Interface
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
	var ready struct{ Kubeconfig, Control string }
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
	return Devstack{Config: config, Client: client, control: ready.Control}
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

// Namespace is a name that no other test uses; what is made under it goes at the end.
func (d Devstack) Namespace(t testing.TB) string {
	name := fmt.Sprintf("gpu-test-%s", time.Now().Format("150405.000000"))
	name = name[:len(name)-7] + "-" + name[len(name)-6:]
	t.Cleanup(func() {
		_ = d.Client.CoreV1().Namespaces().Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	return name
}
