package kube

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SecretsName is the Kubernetes Secret with the values of a workload's secrets. They lie apart from the workload's own
// token: that is needed as long as the workload is there, these only while it runs. No workload's name has a dot.
func SecretsName(w workload.Workload) string { return w.Name + ".secrets" }

// Unmounted gives the keys of a workload's secrets without values, for a manifest that people read; values are masked
// there anyway.
func Unmounted(w workload.Workload) map[string][]byte {
	data := map[string][]byte{}
	for _, u := range w.Secrets {
		for _, key := range u.Keys() {
			data[key] = nil
		}
	}
	return data
}

// hasSecrets: a workload that stops has none left in the cluster.
func (in Input) hasSecrets() bool {
	return len(held(in.Workload)) > 0 && in.Workload.Desired == workload.WantRunning
}

// held are the secrets in the workload's Kubernetes Secret: all but that which its image is pulled with.
func held(w workload.Workload) []workload.SecretUse {
	return slices.DeleteFunc(slices.Clone(w.Secrets), workload.SecretUse.Pulls)
}

// mounted are the secrets that the programs of a workload have.
func mounted(w workload.Workload) []workload.SecretUse {
	return slices.DeleteFunc(slices.Clone(w.Secrets), workload.SecretUse.Hidden)
}

// PullName is the Kubernetes Secret with which the image of a workload is pulled.
func PullName(w workload.Workload) string { return w.Name + ".pull" }

// pullSecret is nil where the image is pulled without, and where the workload stops.
func (r renderer) pullSecret() *corev1.Secret {
	u, ok := secret.PullUse(r.Workload)
	if !ok || r.Workload.Desired != workload.WantRunning {
		return nil
	}
	value, ok := r.Secrets[u.FileKey(secret.DockerConfig)]
	if !ok {
		return nil
	}
	if value == nil { // of a manifest for people, see Unmounted
		value = []byte("{}")
	}
	meta := r.meta()
	meta.Name = PullName(r.Workload)
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta,
		Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: value}}
}

// imagePullSecrets stay in the pod's template also where the Secret is gone: without it the kubelet pulls as anybody.
func (r renderer) imagePullSecrets() []corev1.LocalObjectReference {
	if _, ok := secret.PullUse(r.Workload); !ok {
		return nil
	}
	return []corev1.LocalObjectReference{{Name: PullName(r.Workload)}}
}

func (r renderer) secrets() *corev1.Secret {
	meta := r.meta()
	meta.Name = SecretsName(r.Workload)
	data := map[string][]byte{}
	for _, u := range held(r.Workload) {
		for _, key := range u.Keys() {
			if value, ok := r.Secrets[key]; ok {
				data[key] = value
			}
		}
	}
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta,
		Type: corev1.SecretTypeOpaque, Data: data}
}

// secretEnv are the variables of the workload's secrets. All are optional, and all files are: what a secret holds may
// change while the pod stays, and one that was deleted must not keep a pod from starting again.
func (r renderer) secretEnv() []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, u := range mounted(r.Workload) {
		for _, variable := range u.Env {
			env = append(env, r.secretVariable(variable, u.EnvKey(variable)))
		}
	}
	return append(env, r.gitEnv()...)
}

// secretVariable is a variable with the value under a key of the workload's Kubernetes Secret.
func (r renderer) secretVariable(name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: SecretsName(r.Workload)}, Key: key, Optional: new(true)}}}
}

// gitHelper answers what git asks, and lets it store nothing: the file is not to be written to.
const gitHelper = `!f() { test "$1" != get || exec git credential-store --file=%s get; }; f`

// gitEnv has git look for credentials in the files of git secrets. It takes git 2.31; an older one does without.
func (r renderer) gitEnv() []corev1.EnvVar {
	var env []corev1.EnvVar
	n := 0
	for _, u := range r.Workload.Secrets {
		if u.Kind != string(secret.Git) {
			continue
		}
		for _, file := range u.Files {
			if file != secret.GitCredentials {
				continue
			}
			i := strconv.Itoa(n)
			env = append(env, corev1.EnvVar{Name: "GIT_CONFIG_KEY_" + i, Value: "credential.helper"},
				corev1.EnvVar{Name: "GIT_CONFIG_VALUE_" + i, Value: fmt.Sprintf(gitHelper, u.Path(file))})
			n++
		}
	}
	if n > 0 {
		env = append(env, corev1.EnvVar{Name: "GIT_CONFIG_COUNT", Value: strconv.Itoa(n)})
	}
	return env
}

// secretFiles is the volume with the files of the workload's secrets; nil for none. It is mounted as a whole: a file
// that is mounted alone would never show a new value.
func (r renderer) secretFiles() *corev1.Volume {
	var items []corev1.KeyToPath
	for _, u := range mounted(r.Workload) {
		for _, file := range u.Files {
			items = append(items, corev1.KeyToPath{Key: u.FileKey(file), Path: path.Join(u.Name, file)})
		}
	}
	if len(items) == 0 {
		return nil
	}
	return &corev1.Volume{Name: secretsVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: SecretsName(r.Workload), Items: items, DefaultMode: new(int32(0o444)), Optional: new(true)}}}
}

// cloneScript takes everything from its environment. What is there already is left as it is: it may hold somebody's
// work. A clone that was broken off leaves a directory of another name, which goes with the next try.
const cloneScript = `set -eu
if [ -e "$TARGET" ]; then
  echo "$TARGET is there already and is left as it is."
  exit 0
fi
rm -rf "$TARGET.partial"
git clone --quiet -- "$REPOSITORY" "$TARGET.partial"
if [ -n "$REF" ]; then
  git -C "$TARGET.partial" checkout --quiet "$REF" --
fi
mv "$TARGET.partial" "$TARGET"
echo "Cloned $REPOSITORY into $TARGET."
`

// toolUser clones and copies where the image of the workload names no user.
const toolUser int64 = 1000

// gitTarget is where the repository is cloned to: below the image's home, which may be kept storage, else in a
// directory that goes with the pod.
func (r renderer) gitTarget() string {
	if home := r.Workload.Image.Home; home != "" {
		return path.Join(home, r.Workload.Git.Dir())
	}
	return path.Join("/tmp", r.Workload.Git.Dir())
}

// initContainers clone the repository of the workload, and copy its data sets.
func (r renderer) initContainers() []corev1.Container {
	return append(r.gitContainer(), r.copyContainers()...)
}

// gitContainer clones the repository of the workload; none where it has none. The last lines of a clone that failed
// become the container's termination message, from which the page says why.
func (r renderer) gitContainer() []corev1.Container {
	g := r.Workload.Git
	if g == nil {
		return nil
	}
	env := []corev1.EnvVar{{Name: "REPOSITORY", Value: g.URL}, {Name: "REF", Value: g.Ref},
		{Name: "TARGET", Value: r.gitTarget()}, {Name: "HOME", Value: "/tmp"}, {Name: "GIT_TERMINAL_PROMPT", Value: "0"},
		{Name: "GIT_HTTP_LOW_SPEED_LIMIT", Value: "1000"}, {Name: "GIT_HTTP_LOW_SPEED_TIME", Value: "60"},
		{Name: "GIT_ALLOW_PROTOCOL", Value: "https"},
		{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"}} // whatever the image says, see env
	return []corev1.Container{r.preparing(workload.GitContainer, g.Image, cloneScript, append(env, r.gitEnv()...),
		r.mounts())}
}

// preparing is a container that runs a script before the program of the workload begins.
func (r renderer) preparing(name, image, script string, env []corev1.EnvVar,
	mounts []corev1.VolumeMount) corev1.Container {
	security := &corev1.SecurityContext{AllowPrivilegeEscalation: new(bool),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	if !r.Site.OpenShift && r.Workload.Image.RunAsUser == nil {
		security.RunAsUser = new(toolUser) // images with tools usually run as root, which the pod may not
	}
	return corev1.Container{
		Name: name, Image: r.Site.Mirror.Of(image), ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"sh", "-c", script}, Env: env,
		Resources: corev1.ResourceRequirements{Requests: r.small(), Limits: r.small()}, VolumeMounts: mounts,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          security,
	}
}

// small is CPU and memory of the size: a pod asks for the larger of its containers, so that this costs nothing more.
func (r renderer) small() corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		list[name] = r.resources[name]
	}
	return list
}
