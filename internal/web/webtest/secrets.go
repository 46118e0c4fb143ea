package webtest

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func (w *World) newSecrets() *secret.Service {
	key := secret.Key{ID: "k", Seal: func(about, text string) (string, error) {
		return base64.StdEncoding.EncodeToString([]byte(about + "\n" + text)), nil
	}, Open: func(about, sealed string) (string, error) {
		data, err := base64.StdEncoding.DecodeString(sealed)
		text, ok := strings.CutPrefix(string(data), about+"\n")
		if err != nil || !ok {
			return "", errors.New("does not open")
		}
		return text, nil
	}}
	return secret.New(secret.Options{Store: w.Store, Keys: secret.Keyring{key}, Team: w.knowsTeam, Now: w.now,
		NewID: w.newID})
}

var (
	annasHub = secret.Secret{ID: "s-hub", Owner: secret.Owner{Person: Anna.ID}, Name: "hub", Kind: secret.HuggingFace,
		About: map[string]string{"token": "hf_a…"}, Env: []string{"HF_TOKEN"}, Files: []string{"token"}, Sealed: "k.x",
		CreatedBy: Anna.ID, CreatorName: Anna.Name, CreatedAt: Now.Add(-40 * 24 * time.Hour),
		ReplacedAt: Now.Add(-3 * time.Hour), UsedAt: Now.Add(-2 * time.Hour)}
	annasGit = secret.Secret{ID: "s-git", Owner: secret.Owner{Person: Anna.ID}, Name: "github", Kind: secret.Git,
		About: map[string]string{"host": "github.com", "user": "anna"}, Files: []string{"git-credentials", "netrc"},
		Sealed: "k.x", CreatedBy: Anna.ID, CreatorName: Anna.Name, CreatedAt: Now.Add(-9 * 24 * time.Hour)}
	visionStore = secret.Secret{ID: "s-store", Owner: secret.Owner{Tenant: "vision"}, Name: "model-store",
		Kind: secret.S3, About: map[string]string{"accessKey": "AKIA…", "endpoint": "https://s3.example.org"},
		Env: []string{"AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_REGION",
			"AWS_SECRET_ACCESS_KEY"}, Files: []string{"credentials"}, Sealed: "k.x", CreatedBy: Ben.ID,
		CreatorName: Ben.Name, CreatedAt: Now.Add(-20 * 24 * time.Hour), UsedAt: Now.Add(-2 * 24 * time.Hour)}
)

// withSecrets keeps what Anna and team vision have, and mounts some of it in a workload.
func withSecrets(s Scope) *World {
	w := Busy(s)
	for _, item := range []secret.Secret{annasHub, annasGit, visionStore} {
		check(w.CreateSecret(bg, item, secret.Most, audit.Event{At: Now, Kind: audit.SecretCreated}))
	}
	b := w.Workload("fine-tune", Anna, "mig-1g.10gb").Running("gpu-01", time.Hour, 2*time.Hour)
	b.Secrets = []workload.SecretUse{annasHub.Use(), visionStore.Use()}
	b.Git = &workload.Git{URL: "https://github.com/vision/models.git", Ref: "main"}
	w.Add(b)
	w.Site.GitImage = "registry.example.org/git@sha256:00"
	w.pages()
	return w
}

var secretScenes = []Scene{
	{"secrets", "one's own", Anna, withSecrets, "/account/secrets", nil},
	{"secrets", "object storage", Anna, withSecrets, "/account/secrets?kind=s3", nil},
	{"secrets", "none", Carla, withSecrets, "/account/secrets?kind=git", nil},
	{"secrets", "another value", Anna, withSecrets, "/account/secrets?replace=s-git", nil},
	{"secrets", "what is wrong", Anna, withSecrets, "/account/secrets", url.Values{"kind": {"git"}, "name": {"Git Hub"},
		"host": {"https://github.com"}, "token": {"a b"}}},
	{"secrets", "of a team, for its owner", Ben, withSecrets, "/team/vision/secrets", nil},
	{"secrets", "of a team, for a member", Anna, withSecrets, "/team/vision/secrets", nil},
	{"secrets", "ticked at a start", Anna, withSecrets,
		"/start?secrets=hub&secrets=team:model-store&git.url=https://github.com/vision/models.git", nil},
	{"secrets", "in a workload", Anna, withSecrets, "/workloads/w-fine-tune", nil},
	{"secrets", "in a colleague's workload", Ben, withSecrets, "/workloads/w-fine-tune", nil},
}
