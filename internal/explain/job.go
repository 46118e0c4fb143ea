package explain

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// signals are the ends of a program that something else brought about: exit codes above 128, by the signal.
var signals = map[int32]string{134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV",
	143: "SIGTERM"}

// jobEnded is why a job has failed; no finding for one that succeeded. Kubernetes knows only that the retries are used
// up: why stands in the last pod.
func jobEnded(f Facts) finding {
	end := f.JobEnd
	if end.Type == batchv1.JobComplete {
		return finding{}
	}
	said := strings.TrimSpace(end.Reason + ": " + end.Message)
	if end.Reason == batchv1.JobReasonDeadlineExceeded {
		return newFinding(said, "explain.job_deadline", "Limit", limitOf(f))
	}
	if f.Pod != nil {
		for _, c := range f.Pod.Status.InitContainerStatuses {
			if found := fetching(f, c); found.found() {
				found.detail, found.failed = found.detail+"\n"+said, false
				return found
			}
		}
		for _, c := range f.Pod.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil {
				found := attemptEnded(f, t)
				found.detail += "\n" + said
				return found
			}
		}
		if f.Pod.Status.Reason == "Evicted" {
			return evicted(f.Pod.Status.Message)
		}
	}
	return newFinding(said, "explain.job_failed")
}

func limitOf(f Facts) string {
	if f.Workload.Job == nil {
		return ""
	}
	return f.Workload.Job.TimeLimit.String()
}

// attemptEnded is why the program of a job ended.
func attemptEnded(f Facts, t *corev1.ContainerStateTerminated) finding {
	found := ended(f, t)
	found.failed = false
	switch {
	case t.Reason == "OOMKilled":
		return found
	case t.Reason == "ContainerCannotRun", t.Reason == "StartError", t.ExitCode == 126, t.ExitCode == 127:
		return newFinding(found.detail, "explain.job_command", "Image", f.Workload.Image.Called())
	case signals[t.ExitCode] != "":
		return newFinding(found.detail, "explain.job_signal", "Code", int(t.ExitCode), "Signal", signals[t.ExitCode])
	}
	return newFinding(found.detail, "explain.job_code", "Code", int(t.ExitCode))
}
