package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func (a *API) registerKeys() {
	add(a, op(http.MethodGet, "/workloads/{id}/keys", "list-keys", "Keys of a model endpoint, newest first; never their "+
		"secrets", "Workloads"), identity.ChangeWorkload, a.endpointKeys)
	add(a, created(op(http.MethodPost, "/workloads/{id}/keys", "create-key", "Make a key with which a program calls the "+
		"endpoint; the answer is the only one that has it", "Workloads")), identity.ChangeWorkload, a.createKey)
	add(a, op(http.MethodPost, "/workloads/{id}/keys/{key}/rotate", "rotate-key", "Give a key another secret; the one "+
		"of before opens for a while", "Workloads"), identity.ChangeWorkload, a.rotateKey)
	add(a, op(http.MethodDelete, "/workloads/{id}/keys/{key}", "revoke-key", "End a key for good; within five seconds "+
		"it opens nothing", "Workloads"), identity.ChangeWorkload, a.revokeKey)
	add(a, op(http.MethodGet, "/workloads/{id}/traffic", "get-traffic", "What went through a model endpoint: over time, "+
		"by key or person, and by revision", "Workloads"), identity.ReadWorkload, a.traffic)
}

// KeyLimits bound what is taken with a key.
type KeyLimits struct {
	RequestsPerMinute int `json:"requestsPerMinute,omitempty" minimum:"0" maximum:"1000000000" doc:"0: no limit"`
	TokensPerMinute   int `json:"tokensPerMinute,omitempty" minimum:"0" maximum:"1000000000" doc:"Prompt and completion together, counted when an answer ends; 0: no limit"`
	Concurrency       int `json:"concurrency,omitempty" minimum:"0" maximum:"1000000000" doc:"Requests at once; 0: 2000"`
}

// Key is a key of an endpoint. Key holds the secret in the answers that make one.
type Key struct {
	ID          string     `json:"id"`
	Key         string     `json:"key,omitempty" doc:"The whole key; only where it was just made"`
	Name        string     `json:"name"`
	Prefix      string     `json:"prefix" doc:"What the key begins with"`
	CreatedBy   string     `json:"createdBy"`
	CreatedAt   time.Time  `json:"createdAt"`
	RotatedAt   *time.Time `json:"rotatedAt,omitempty"`
	FormerUntil *time.Time `json:"formerUntil,omitempty" doc:"Until when the secret of before the rotation opens"`
	ExpiresAt   time.Time  `json:"expiresAt"`
	LastUsedAt  *time.Time `json:"lastUsedAt,omitempty" doc:"To about ten seconds"`
	Limits      KeyLimits  `json:"limits"`
	Endpoints   []string   `json:"endpoints" doc:"Ids of the workloads that the key opens, first the one that it was made at"`
	BaseURL     string     `json:"baseURL" doc:"Where all models of the key answer, \"model\" of a call choosing: the base URL of OpenAI's clients"`
}

func (a *API) keyView(k endpointkey.Key, text string) Key {
	endpoints := make([]string, 0, 1+len(k.Also))
	for _, id := range k.Endpoints() {
		endpoints = append(endpoints, string(id))
	}
	return Key{ID: k.ID, Key: text, Endpoints: endpoints, BaseURL: a.deps.AppURL(workload.ModelsHost) + "/v1",
		Name: k.Name, Prefix: k.Shown(), CreatedBy: k.CreatorName, CreatedAt: k.CreatedAt,
		RotatedAt: moment(k.RotatedAt), FormerUntil: moment(k.FormerUntil), ExpiresAt: k.ExpiresAt,
		LastUsedAt: moment(k.LastUsedAt), Limits: KeyLimits(k.Limits)}
}

func (a *API) endpointKeys(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[Key]], error) {
	keys, err := a.deps.Keys.List(ctx, actor, workload.ID(in.ID))
	views := make([]Key, len(keys))
	for i, k := range keys {
		views[i] = a.keyView(k, "")
	}
	return reply(list(views, ""), err)
}

type createKeyInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Name    string    `json:"name" maxLength:"200" example:"nightly summaries"`
		Expires string    `json:"expires,omitempty" maxLength:"40" example:"30d" doc:"A time (RFC 3339) or how long it lasts; absent: as long as may be"`
		Limits  KeyLimits `json:"limits,omitempty"`
		Also    []string  `json:"endpoints,omitempty" maxItems:"50" doc:"Ids of further endpoints of the team that the key opens"`
	}
}

func (a *API) createKey(ctx context.Context, actor identity.Actor, in *createKeyInput) (*output[Key], error) {
	draft := endpointkey.Draft{Name: in.Body.Name, Limits: endpointkey.Limits(in.Body.Limits)}
	for _, id := range in.Body.Also {
		draft.Also = append(draft.Also, workload.ID(id))
	}
	if in.Body.Expires != "" {
		var err error
		if draft.Expires, err = time.Parse(time.RFC3339, in.Body.Expires); err != nil {
			lasts, err := catalog.ParseDuration(in.Body.Expires)
			if err != nil {
				lasts = 0 // the service says what is wrong with that
			}
			draft.Expires = a.deps.Now().Add(lasts.Std())
		}
	}
	k, text, err := a.deps.Keys.Create(ctx, actor, workload.ID(in.ID), draft)
	return reply(a.keyView(k, text), err)
}

type keyInput struct {
	ID  string `path:"id" maxLength:"64"`
	Key string `path:"key" maxLength:"64" doc:"Its id or its prefix"`
}

type rotateKeyInput struct {
	ID   string `path:"id" maxLength:"64"`
	Key  string `path:"key" maxLength:"64" doc:"Its id or its prefix"`
	Body *struct {
		Overlap string `json:"overlap,omitempty" maxLength:"32" example:"24h" doc:"How long the secret of before still opens; absent: 24h"`
	}
}

func (a *API) rotateKey(ctx context.Context, actor identity.Actor, in *rotateKeyInput) (*output[Key], error) {
	overlap := endpointkey.DefaultOverlap
	if in.Body != nil && in.Body.Overlap != "" {
		given, err := catalog.ParseDuration(in.Body.Overlap)
		if err != nil {
			given = -1 // the service says what is wrong with that
		}
		overlap = given.Std()
	}
	k, text, err := a.deps.Keys.Rotate(ctx, actor, workload.ID(in.ID), in.Key, overlap)
	return reply(a.keyView(k, text), err)
}

func (a *API) revokeKey(ctx context.Context, actor identity.Actor, in *keyInput) (*struct{}, error) {
	return &struct{}{}, a.deps.Keys.Revoke(ctx, actor, workload.ID(in.ID), in.Key)
}
