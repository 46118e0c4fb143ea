package secret

import (
	"encoding/base64"
	"encoding/json"

	"github.com/gpu-portal/gpu-portal/internal/registry"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// DockerConfig is the file of a registry secret: what a kubelet reads of an imagePullSecret. It is not mounted.
const DockerConfig = "config.json"

// dockerHubKey is what kubelets look up Docker Hub's password by.
const dockerHubKey = "https://index.docker.io/v1/"

// dockerConfig is the password of one registry in the form of Docker's config.json.
func dockerConfig(v map[string]string) string {
	host := v["host"]
	if host == registry.DockerHub {
		host = dockerHubKey
	}
	type auth struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Auth     string `json:"auth"`
	}
	text, _ := json.Marshal(map[string]map[string]auth{"auths": {host: {v["user"], v["password"], // texts: never fails
		base64.StdEncoding.EncodeToString([]byte(v["user"] + ":" + v["password"]))}}})
	return string(text)
}

// ForImage is the team's secret with which an image is pulled; false for none, and where the image is not the portal's.
func ForImage(ofTeam []Secret, reference string) (Secret, bool) {
	if reference == "" {
		return Secret{}, false
	}
	host := registry.HostOf(reference)
	for _, s := range ofTeam {
		if s.OfTeam() && s.Kind == Registry && s.About["host"] == host {
			return s, true
		}
	}
	return Secret{}, false
}

// PullUse is the secret with which the image of a workload is pulled; false for none.
func PullUse(w workload.Workload) (workload.SecretUse, bool) {
	for _, u := range w.Secrets {
		if u.Pulls() {
			return u, true
		}
	}
	return workload.SecretUse{}, false
}
