package explain

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// copies are the texts of rclone behind a data set that cannot be copied from object storage.
var copies = []row{
	{[]string{"AccessDenied", "Access Denied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "Forbidden", "403",
		"Unauthorized"}, "explain.bucket_sign_in", true},
	{[]string{"directory not found", "NoSuchBucket", "NoSuchKey", "404"}, "explain.bucket_missing", true},
	{[]string{"no such host", "connection refused", "i/o timeout", "deadline exceeded", "no route to host",
		"503"}, "explain.bucket_away", false},
	{[]string{"no space left"}, "explain.node_disk_full", false},
}

// fetching looks at a container that gets something before the program of the workload begins; c is its status.
func fetching(f Facts, c corev1.ContainerStatus) finding {
	if found := cloning(f, c); found.found() {
		return found
	}
	return copying(f, c)
}

// copying looks at the container that copies a data set of a workload; c is its status.
func copying(f Facts, c corev1.ContainerStatus) finding {
	for i, m := range f.Workload.Mounts {
		if m.Copied() && c.Name == workload.CopyContainer(i) {
			return preparing(c, copies, "explain.bucket_copying", "explain.bucket_failed", "Dataset", m.Dataset, "Bucket",
				m.Bucket.URL)
		}
	}
	return finding{}
}
