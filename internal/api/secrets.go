package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func (a *API) registerSecrets() {
	add(a, op(http.MethodGet, "/secrets", "list-secrets", "My secrets, or those of a team to its members; never their "+
		"values. Those of others for admins", "Secrets"), identity.ReadSecrets, a.secrets)
	makes := created(op(http.MethodPost, "/secrets", "create-secret", "Keep a secret of mine, or of a team that I own",
		"Secrets"))
	makes.MaxBodyBytes = maxSecretBody
	add(a, makes, identity.ManageSecrets, a.createSecret)
	replaces := op(http.MethodPut, "/secrets/{id}", "replace-secret", "Replace the values of a secret. Files in "+
		"workloads show the new value within about a minute, variables have it after the next start", "Secrets")
	replaces.MaxBodyBytes = maxSecretBody
	add(a, replaces, identity.ManageSecrets, a.replaceSecret)
	add(a, op(http.MethodDelete, "/secrets/{id}", "delete-secret", "Delete a secret for good, also from the workloads "+
		"that have it", "Secrets"), identity.ManageSecrets, a.deleteSecret)
}

// maxSecretBody holds the largest secret, with every line of it escaped.
const maxSecretBody = 4 * secret.MaxValue

// Secret is what is known of a secret: everything but its values.
type Secret struct {
	ID         string            `json:"id"`
	Name       string            `json:"name" doc:"Unique among mine, or among those of the team; requests name it in secrets"`
	Kind       string            `json:"kind" enum:"variables,file,s3,git,huggingface,ngc,registry"`
	Person     string            `json:"person,omitempty" doc:"Whose own it is"`
	Tenant     string            `json:"tenant,omitempty" doc:"The team that has it"`
	About      map[string]string `json:"about" doc:"Fields that are no secret, and the first characters of those that are"`
	Variables  []string          `json:"variables" doc:"That workloads have of it"`
	Files      []string          `json:"files" doc:"That workloads have of it, in /secrets/<name>"`
	CreatedBy  string            `json:"createdBy"`
	CreatedAt  time.Time         `json:"createdAt"`
	ReplacedAt *time.Time        `json:"replacedAt,omitempty" doc:"When its values were last replaced"`
	UsedAt     *time.Time        `json:"usedAt,omitempty" doc:"When a workload was last started with it"`
	UsedBy     []string          `json:"usedBy" doc:"Ids of the workloads that have it, running or stopped"`
}

func secretView(s secret.Listed) Secret {
	v := Secret{ID: s.ID, Name: s.Name, Kind: string(s.Kind), Person: string(s.Person), Tenant: s.Tenant, About: s.About,
		Variables: orEmpty(s.Env), Files: orEmpty(s.Files), CreatedBy: s.CreatorName, CreatedAt: s.CreatedAt.UTC(),
		UsedBy: []string{}}
	if v.About == nil {
		v.About = map[string]string{}
	}
	if !s.ReplacedAt.IsZero() {
		v.ReplacedAt = new(s.ReplacedAt.UTC())
	}
	if !s.UsedAt.IsZero() {
		v.UsedAt = new(s.UsedAt.UTC())
	}
	for _, w := range s.Users {
		v.UsedBy = append(v.UsedBy, string(w.ID))
	}
	return v
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

type secretsInput struct {
	Tenant string `query:"tenant" maxLength:"63" doc:"Those of a team; absent: my own"`
	Person string `query:"person" maxLength:"64" doc:"Those of somebody else, for admins"`
}

func (a *API) secrets(ctx context.Context, actor identity.Actor, in *secretsInput) (*output[List[Secret]], error) {
	owner := secret.Owner{Tenant: in.Tenant, Person: identity.PersonID(in.Person)}
	if owner == (secret.Owner{}) {
		owner.Person = actor.Person.ID
	}
	all, err := a.deps.Secrets.List(ctx, actor, owner)
	if err != nil {
		return nil, err
	}
	views := make([]Secret, len(all))
	for i, s := range all {
		views[i] = secretView(s)
	}
	return reply(list(views, ""), nil)
}

type createSecretInput struct {
	Body struct {
		Name   string            `json:"name" maxLength:"40" example:"hub"`
		Kind   string            `json:"kind" enum:"variables,file,s3,git,huggingface,ngc,registry"`
		Tenant string            `json:"tenant,omitempty" maxLength:"63" doc:"The team that has it; absent: it is my own"`
		Values map[string]string `json:"values" doc:"By kind. variables: lines (NAME=value, one on each line). file: file, content. s3: accessKey, secretKey, endpoint, region. git: host, user, token. huggingface, ngc: token. registry, of teams alone: host, user, password"`
	}
}

func (a *API) createSecret(ctx context.Context, actor identity.Actor, in *createSecretInput) (*output[Secret], error) {
	owner := secret.Owner{Tenant: in.Body.Tenant}
	if owner.Tenant == "" {
		owner.Person = actor.Person.ID
	}
	s, err := a.deps.Secrets.Create(ctx, actor, owner, secret.Draft{Name: in.Body.Name, Kind: secret.Kind(in.Body.Kind),
		Values: in.Body.Values})
	return reply(secretView(secret.Listed{Secret: s}), err)
}

type replaceSecretInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Values map[string]string `json:"values" doc:"All of them, as when it was made; names of variables and files stay"`
	}
}

func (a *API) replaceSecret(ctx context.Context, actor identity.Actor, in *replaceSecretInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Secrets.Replace(ctx, actor, in.ID, in.Body.Values)
}

type secretInput struct {
	ID string `path:"id" maxLength:"64"`
}

func (a *API) deleteSecret(ctx context.Context, actor identity.Actor, in *secretInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Secrets.Delete(ctx, actor, in.ID)
}

// Git is a repository that is cloned before a workload starts.
type Git struct {
	URL    string `json:"url" maxLength:"500" example:"https://github.com/team/repository.git" doc:"https, without a user"`
	Ref    string `json:"ref,omitempty" maxLength:"200" doc:"Branch, tag or commit; absent: the default branch"`
	Secret string `json:"secret,omitempty" maxLength:"50" doc:"Name of a secret of kind git, as in secrets; absent for a public repository"`
}

func (g *Git) draft() *request.GitDraft {
	if g == nil {
		return nil
	}
	return &request.GitDraft{URL: g.URL, Ref: g.Ref, Secret: g.Secret}
}

func gitView(g *workload.Git) *Git {
	if g == nil {
		return nil
	}
	return &Git{URL: g.URL, Ref: g.Ref}
}

// secretNames are what a request would call the secrets of a workload.
func secretNames(w workload.Workload, a identity.Actor) []string {
	named, _ := w.SecretsFor(a)
	var names []string
	for _, u := range named {
		if u.Hidden() {
			continue
		}
		names = append(names, secret.ReferenceTo(u))
	}
	return names
}
