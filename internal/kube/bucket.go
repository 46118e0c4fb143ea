package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// copyScript takes everything from its environment. Without the key of the secret rclone would sign in as nobody, which
// some buckets allow. What is not of AWS is asked for with the bucket in the path, for few others have a host name for
// each bucket. A line every half minute says how far it is. To S3 a prefix that no object has is no error.
const copyScript = `set -eu
if [ -z "${RCLONE_S3_ACCESS_KEY_ID:-}" ]; then
  echo "Access Denied: the secret with the key of s3://$BUCKET is not there." >&2
  exit 1
fi
export RCLONE_S3_PROVIDER=AWS
if [ -n "${RCLONE_S3_ENDPOINT:-}" ]; then
  RCLONE_S3_PROVIDER=Other
fi
rclone copy --retries 2 --low-level-retries 3 --stats 30s --stats-one-line --stats-log-level NOTICE \
  ":s3:$BUCKET" "$TARGET"
if [ -z "$(ls -A "$TARGET")" ]; then
  echo "directory not found: s3://$BUCKET has no files." >&2
  exit 1
fi
echo "Copied s3://$BUCKET to $TARGET."
`

// copyContainers copy data sets from object storage to the disk of the node, one after the other.
func (r renderer) copyContainers() []corev1.Container {
	var list []corev1.Container
	for i, m := range r.Workload.Mounts {
		if !m.Copied() {
			continue
		}
		use := workload.SecretUse{ID: m.Bucket.Secret} // whose keys are the same in each secret of the kind
		env := []corev1.EnvVar{{Name: "BUCKET", Value: m.Bucket.Within()}, {Name: "TARGET", Value: m.Path()},
			{Name: "HOME", Value: "/tmp"}, {Name: "RCLONE_CONFIG", Value: "/tmp/rclone.conf"}, // there is none
			r.secretVariable("RCLONE_S3_ACCESS_KEY_ID", use.EnvKey("AWS_ACCESS_KEY_ID")),
			r.secretVariable("RCLONE_S3_SECRET_ACCESS_KEY", use.EnvKey("AWS_SECRET_ACCESS_KEY")),
			r.secretVariable("RCLONE_S3_ENDPOINT", use.EnvKey("AWS_ENDPOINT_URL")),
			r.secretVariable("RCLONE_S3_REGION", use.EnvKey("AWS_REGION")),
			{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"}} // whatever the image says, see env
		mounts := []corev1.VolumeMount{{Name: mountVolume(i, m), MountPath: m.Path()},
			{Name: tempVolume, MountPath: "/tmp"}}
		list = append(list, r.preparing(workload.CopyContainer(i), m.Bucket.Image, copyScript, env, mounts))
	}
	return list
}

// copiedVolume is the place of a copy on the disk of the node. A pod whose copy outgrows it is evicted.
func copiedVolume(i int, m workload.Mount) corev1.Volume {
	v := emptyDir(mountVolume(i, m))
	v.EmptyDir.SizeLimit = resource.NewQuantity(int64(m.GiB)<<30, resource.BinarySI)
	return v
}
