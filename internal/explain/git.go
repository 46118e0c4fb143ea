package explain

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// clones are the texts of git behind a repository that cannot be cloned.
var clones = []row{
	{[]string{"could not read Username", "could not read Password", "Authentication failed", "403", "401",
		"terminal prompts disabled", "Repository not found", "repository not found"}, "explain.git_sign_in", true},
	{[]string{"did not match any file", "pathspec", "unknown revision", "invalid reference"}, "explain.git_ref", true},
	{[]string{"Could not resolve host", "Connection refused", "Connection timed out", "Failed to connect",
		"Operation too slow", "No route to host", "503"}, "explain.git_away", false},
}

// cloning looks at the container that clones the repository of a workload; c is its status.
func cloning(f Facts, c corev1.ContainerStatus) finding {
	g := f.Workload.Git
	if g == nil || c.Name != workload.GitContainer {
		return finding{}
	}
	return preparing(c, clones, "explain.git_cloning", "explain.git_failed", "Repository", g.URL, "Ref", g.Ref)
}

// preparing looks at an init container that gets something for the workload: at it, or why it could not. Rows know the
// texts of its program.
func preparing(c corev1.ContainerStatus, rows []row, atIt, otherwise string, pairs ...any) finding {
	ended := c.State.Terminated
	if ended == nil || ended.ExitCode == 0 {
		ended = c.LastTerminationState.Terminated
	}
	switch {
	case c.State.Running != nil:
		return newFinding("", atIt, pairs...)
	case ended == nil || ended.ExitCode == 0 || c.State.Terminated != nil && c.State.Terminated.ExitCode == 0:
		return finding{}
	}
	detail := ended.Message + " (exit code " + strconv.Itoa(int(ended.ExitCode)) + ")"
	r, ok := match(rows, ended.Message)
	if !ok {
		r = row{id: otherwise, failed: true}
	}
	found := newFinding(detail, r.id, pairs...)
	found.failed = r.failed
	return found
}
