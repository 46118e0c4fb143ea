package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	id1 = "3f1c8e0d5a7b49261e8f00aa11bb22cc33dd44ee55ff66778899aabbccddeeff"
	id2 = "00000000000000000000000000000000000000000000000000000000000000aa"
	uid = "8f6b2c1e-7d54-4a3b-9c20-1122334455ff"
)

func TestContainerOf(t *testing.T) {
	under := strings.ReplaceAll(uid, "-", "_")
	in := Known(Container{ID: id1, PodUID: Known(uid)})
	outside := Unknown[Container](NotInContainer)
	cases := map[string]struct {
		text string
		want Value[Container]
	}{
		"containerd, systemd, v2": {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under +
			".slice/cri-containerd-" + id1 + ".scope\n", in},
		"containerd, guaranteed": {"0::/kubepods.slice/kubepods-pod" + under + ".slice/cri-containerd-" + id1 +
			".scope\n", in},
		"containerd, cgroupfs, v2": {"0::/kubepods/besteffort/pod" + uid + "/" + id1 + "\n", in},
		"containerd, v1": {"12:pids:/kubepods/burstable/pod" + uid + "/" + id1 +
			"\n11:memory:/kubepods/burstable/pod" + uid + "/" + id1 + "\n1:name=systemd:/x\n", in},
		"containerd, systemd missing": {"0::/system.slice/containerd.service/kubepods-besteffort-pod" + under +
			".slice:cri-containerd:" + id1 + "\n", in},
		"cri-o, v2": {"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + under +
			".slice/crio-" + id1 + ".scope\n", in},
		"cri-o, nested group": {"0::/kubepods.slice/kubepods-pod" + under + ".slice/crio-" + id1 +
			".scope/container\n", in},
		"cri-o, v1": {"4:devices:/kubepods.slice/kubepods-pod" + under + ".slice/crio-" + id1 + ".scope\n",
			in},
		"seen from another namespace": {"0::/../../kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id1 +
			".scope\n", in},
		"the monitor of a container": {"0::/kubepods.slice/kubepods-pod" + under + ".slice/crio-conmon-" + id1 + ".scope\n",
			outside},
		"a node that is a container": {"0::/docker/" + id2 + "/kubelet.slice/kubelet-kubepods-pod" + under +
			".slice/cri-containerd-" + id1 + ".scope\n", in},
		"a container inside": {"0::/kubepods/pod" + uid + "/" + id1 + "/docker/" + id2 + "\n", in},
		"a static pod": {"0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" + id1 + "\n",
			Known(Container{ID: id1, PodUID: Known("0123456789abcdef0123456789abcdef")})},
		"docker without Kubernetes": {"0::/system.slice/docker-" + id1 + ".scope\n",
			Known(Container{ID: id1, PodUID: Unknown[string](NotFound)})},
		"the line with a pod wins": {"2:cpu:/docker/" + id2 + "\n1:memory:/kubepods/pod" + uid + "/" + id1 + "\n", in},
		"a service":                {"0::/system.slice/nvidia-persistenced.service\n", outside},
		"the same namespace":       {"0::/\n", outside},
		"too short an id":          {"0::/kubepods/pod" + uid + "/" + id1[:63] + "\n", outside},
		"too long an id":           {"0::/kubepods/pod" + uid + "/" + id1 + "f\n", outside},
		"nothing":                  {"", outside},
		"not a cgroup file":        {"rubbish\n::\n", outside},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ContainerOf(c.text)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// fakeProc writes a process as /proc shows it.
func fakeProc(t testing.TB, proc string, pid, start int, cgroup string) {
	t.Helper()
	dir := filepath.Join(proc, fmt.Sprint(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	stat := fmt.Sprintf("%d (a) name)) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", pid, start)
	for name, text := range map[string]string{"stat": stat, "cgroup": cgroup} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContainersOfProcesses(t *testing.T) {
	proc := t.TempDir()
	c := NewContainers(proc)
	group := func(id string) string { return "0::/kubepods/pod" + uid + "/" + id + "\n" }
	fakeProc(t, proc, 100, 5000, group(id1))
	want := func(id string) Value[Container] { return Known(Container{ID: id, PodUID: Known(uid)}) }
	check := func(pid int, want Value[Container]) {
		t.Helper()
		if diff := cmp.Diff(want, c.Of(pid)); diff != "" {
			t.Errorf("process %d (-want +got)\n%s", pid, diff)
		}
	}
	check(100, want(id1))
	check(101, Unknown[Container](NoSuchProcess))

	fakeProc(t, proc, 100, 5000, group(id2))
	check(100, want(id1)) // remembered: the same process stays where it is
	fakeProc(t, proc, 100, 9000, group(id2))
	check(100, want(id2)) // a new process under a used number
	if err := os.RemoveAll(filepath.Join(proc, "100")); err != nil {
		t.Fatal(err)
	}
	check(100, Unknown[Container](NoSuchProcess))

	fakeProc(t, proc, 200, 1, group(id1))
	c.Of(200)
	c.Sweep()
	c.Sweep()
	if len(c.cache) != 0 {
		t.Errorf("%d processes are remembered that nobody asked for", len(c.cache))
	}
}
