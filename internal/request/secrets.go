package request

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// GitDraft is a repository to clone, as typed.
type GitDraft struct {
	URL    string
	Ref    string
	Secret string `json:",omitempty"` // of kind git; as in Draft.Secrets
}

// maxSecrets is how many secrets one workload can have: all of them share one Kubernetes Secret of at most 1 MiB.
const maxSecrets = 10

// secretNames are the secrets that a draft names, each once.
func (c *checker) secretNames(d Draft) []string {
	var names []string
	asked := slices.Clone(d.Secrets)
	if d.Git != nil {
		asked = append(asked, d.Git.Secret)
	}
	for _, name := range asked {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxSecrets {
		c.problem("secrets", i18n.T("request.secrets_many", "Most", maxSecrets))
		return nil
	}
	return names
}

const maxURL = 500

var refs = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}$`)

// git checks the repository to clone; nil for none.
func (c *checker) git(d Draft) *workload.Git {
	if d.Git == nil || strings.TrimSpace(d.Git.URL)+strings.TrimSpace(d.Git.Ref) == "" {
		if d.Git != nil && strings.TrimSpace(d.Git.Secret) != "" {
			c.problem("git.url", i18n.T("request.git_missing"))
		}
		return nil
	}
	g := workload.Git{URL: strings.TrimSpace(d.Git.URL), Ref: strings.TrimSpace(d.Git.Ref), Image: c.offering.GitImage}
	u, err := url.Parse(g.URL)
	switch {
	case c.offering.GitImage == "":
		c.problem("git.url", i18n.T("request.git_off"))
	case err != nil || len(g.URL) > maxURL || u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" ||
		u.Fragment != "" || strings.Trim(u.Path, "/") == "" || strings.ContainsFunc(g.URL, unprintable):
		c.problem("git.url", i18n.T("request.git_url", "Example", "https://github.com/team/repository.git"))
	case u.User != nil: // it would stand in the workload's manifest
		c.problem("git.url", i18n.T("request.git_user"))
	}
	if g.Ref != "" && (!refs.MatchString(g.Ref) || strings.Contains(g.Ref, "..")) {
		c.problem("git.ref", i18n.T("request.git_ref"))
	}
	return &g
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// withSecrets looks up what a draft names: the asker's own secrets, and those of the team. Then comes what its data
// sets are copied with, unless it is among them.
func withSecrets(ctx context.Context, in Reader, a identity.Actor, p prepared, w *Spec) ([]fault.Field, error) {
	ofTeam, err := in.SecretsOf(ctx, secret.Owner{Tenant: w.Tenant})
	if err != nil {
		return nil, err
	}
	if item, ok := secret.ForImage(ofTeam, w.Image.Reference); ok && w.Image.Name != "" {
		w.Secrets = append(w.Secrets, item.Use())
	}
	defer func() { w.Secrets = append(w.Secrets, copiedWith(*w, ofTeam)...) }()
	if len(p.secrets) == 0 {
		return nil, nil
	}
	all, err := in.SecretsOf(ctx, secret.Owner{Person: a.Person.ID})
	if err != nil {
		return nil, err
	}
	all = append(all, ofTeam...)
	var fields []fault.Field
	problem := func(field string, reason i18n.Text) {
		fields = append(fields, fault.Field{Name: field, Reason: reason})
	}
	for _, name := range p.secrets {
		field := "secrets"
		if p.draft.Git != nil && name == strings.TrimSpace(p.draft.Git.Secret) {
			field = "git.secret"
		}
		item, ok := secret.Find(all, name)
		switch {
		case !ok:
			problem(field, i18n.T("request.secret_unknown", "Secret", clip(name)))
		case field == "git.secret" && item.Kind != secret.Git:
			problem(field, i18n.T("request.secret_not_git", "Secret", item.Name))
		case !w.hasSecret(item.ID):
			w.Secrets = append(w.Secrets, item.Use())
		}
	}
	var env map[string]string
	if w.Job != nil {
		env = w.Job.Env
	}
	for _, reason := range secret.Conflicts(w.Secrets, env) {
		problem("secrets", reason)
	}
	return fields, nil
}

// copiedWith are the secrets of the team with which data sets of the spec are copied.
func copiedWith(w Spec, ofTeam []secret.Secret) (uses []workload.SecretUse) {
	for _, item := range ofTeam {
		for _, m := range w.Mounts {
			if m.Copied() && m.Bucket.Secret == item.ID && !w.hasSecret(item.ID) {
				use := item.Use()
				use.Files, use.Copies = nil, true
				uses = append(uses, use)
				break
			}
		}
	}
	return uses
}

func (w Spec) hasSecret(id string) bool {
	return slices.ContainsFunc(w.Secrets, func(u workload.SecretUse) bool { return u.ID == id })
}

// secretsThere refuses a start with a secret that was deleted since it was asked for: a program that cannot sign in
// would hold a GPU for nothing.
func secretsThere(ctx context.Context, tx Tx, w workload.Workload) error {
	if len(w.Secrets) == 0 {
		return nil
	}
	own, err := tx.SecretsOf(ctx, secret.Owner{Person: w.Owner})
	if err != nil {
		return err
	}
	ofTeam, err := tx.SecretsOf(ctx, secret.Owner{Tenant: w.Tenant})
	if err != nil {
		return err
	}
	for _, u := range w.Secrets {
		if u.Pulls() {
			continue // the image may be public by now
		}
		if !slices.ContainsFunc(append(own, ofTeam...), func(s secret.Secret) bool { return s.ID == u.ID }) {
			return fault.New(fault.Conflict, i18n.T("request.secret_gone", "Secret", u.Name))
		}
	}
	return nil
}
