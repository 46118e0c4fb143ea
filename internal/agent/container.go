package agent

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Containers finds the container of a process in the host's /proc.
type Containers struct {
	proc  string
	cache map[int]found
}

// found remembers a process for as long as it is seen: a process does not change its container. start tells a new
// process with a used number.
type found struct {
	start     string
	container Value[Container]
	seen      bool
}

// NewContainers reads below proc, "/proc" where the agent shares the host's process numbers.
func NewContainers(proc string) *Containers {
	return &Containers{proc: proc, cache: map[int]found{}}
}

// Of gives the container of a process. It is unknown for a process that ended, that the agent cannot see, or that runs
// in no container.
func (c *Containers) Of(pid int) Value[Container] {
	start, why := c.start(pid)
	if why != "" {
		delete(c.cache, pid)
		return Unknown[Container](why)
	}
	if f, ok := c.cache[pid]; ok && f.start == start {
		f.seen = true
		c.cache[pid] = f
		return f.container
	}
	text, why := c.read(pid, "cgroup")
	if why != "" {
		return Unknown[Container](why)
	}
	f := found{start, ContainerOf(text), true}
	c.cache[pid] = f
	return f.container
}

// Sweep forgets the processes that were not asked for since the last sweep.
func (c *Containers) Sweep() {
	for pid, f := range c.cache {
		if !f.seen {
			delete(c.cache, pid)
			continue
		}
		f.seen = false
		c.cache[pid] = f
	}
}

// start is when a process began, in the kernel's clock ticks: field 22 of /proc/<pid>/stat (proc(5)). The name before
// it may contain blanks and brackets.
func (c *Containers) start(pid int) (string, Reason) {
	text, why := c.read(pid, "stat")
	if why != "" {
		return "", why
	}
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return "", CallFailed
	}
	return fields[19], ""
}

// read takes at most 64 KiB: control group files have a few lines.
func (c *Containers) read(pid int, name string) (string, Reason) {
	f, err := os.Open(filepath.Join(c.proc, strconv.Itoa(pid), name))
	if err == nil {
		defer f.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(f, 64<<10)); err == nil {
			return string(data), ""
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return "", NoPermission
	}
	return "", NoSuchProcess // ENOENT, or ESRCH while it ends
}

// The container is the first part of a control group's path below the pod's that has a runtime's 64 digits:
// cri-containerd-<id>.scope, crio-<id>.scope, docker-<id>.scope with the systemd driver, the bare id with cgroupfs,
// <slice>:cri-containerd:<id> where systemd is asked for and not there. Nested groups may follow
// (crio-<id>.scope/container). crio-conmon-<id> is the monitor of a container, not the container.
var (
	containerID = regexp.MustCompile(`(?:^|[/:-])([0-9a-f]{64})(?:\.scope)?(?:/|$)`)
	podUID      = regexp.MustCompile(
		`pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?:[/:]|$)`)
)

// ContainerOf reads the text of /proc/<pid>/cgroup, version 1 or 2.
func ContainerOf(cgroup string) Value[Container] {
	best := Unknown[Container](NotInContainer)
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		c, ok := containerIn(parts[2])
		if !ok {
			continue
		}
		best = Known(c)
		if _, ok := c.PodUID.Get(); ok {
			return best
		}
	}
	return best
}

// containerIn looks below the pod first: a node may be a container itself, and a container may run others, but
// Kubernetes knows the one below the pod.
func containerIn(path string) (Container, bool) {
	if strings.Contains(path, "-conmon-") {
		return Container{}, false
	}
	uid, rest := Unknown[string](NotFound), path
	if at := podUID.FindAllStringSubmatchIndex(path, -1); len(at) > 0 {
		last := at[len(at)-1]
		uid, rest = Known(strings.ReplaceAll(path[last[2]:last[3]], "_", "-")), path[last[3]:]
	}
	id := containerID.FindStringSubmatch(rest)
	if id == nil {
		return Container{}, false
	}
	return Container{ID: id[1], PodUID: uid}, true
}
