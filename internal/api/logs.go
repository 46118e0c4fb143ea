package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func (a *API) registerLogs() {
	const path = "/workloads/{id}/logs"
	add(a, op(http.MethodGet, path, "get-workload-logs", "What a container of it has written, as plain text; with follow "+
		"until one goes away", "Workloads"), identity.ReadLogs, a.logs)
	a.huma.OpenAPI().Paths["/api/v1"+path].Get.Responses["200"] = &huma.Response{Description: "OK",
		Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}
	add(a, op(http.MethodGet, "/workloads/{id}/events", "get-workload-events", "What the cluster said of its pod, its "+
		"storage and what makes its pods, newest first", "Workloads"), identity.ReadWorkload, a.events)
}

type logsInput struct {
	ID         string `path:"id" maxLength:"64"`
	Pod        string `query:"pod" maxLength:"63" doc:"One of several; where absent one that answers, else one that says why not"`
	Container  string `query:"container" maxLength:"63" doc:"The workload's own where absent"`
	Tail       int    `query:"tail" minimum:"1" maximum:"5000" default:"500" doc:"The newest lines"`
	Since      string `query:"since" maxLength:"20" example:"15m" doc:"Only what was written since then"`
	Previous   bool   `query:"previous" doc:"Of the container before its last restart"`
	Follow     bool   `query:"follow" doc:"Go on with what is written from now on"`
	Timestamps bool   `query:"timestamps" doc:"Begin each line with its time, RFC 3339"`
}

// logs sends lines as they come. Once the first byte is sent nothing can be refused any more: what cuts a log short is
// said in its last line.
func (a *API) logs(ctx context.Context, actor identity.Actor, in *logsInput) (*huma.StreamResponse, error) {
	since, err := podlogs.ParseSince(in.Since)
	if err != nil {
		return nil, err
	}
	q := podlogs.Query{Pod: in.Pod, Container: in.Container, Tail: in.Tail, Since: since, Previous: in.Previous,
		Follow: in.Follow}
	log, err := a.deps.Logs.Open(ctx, actor, workload.ID(in.ID), q)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		defer func() { _ = log.Close() }()
		_, w := humago.Unwrap(hctx)
		_ = podlogs.Send(w, log, i18n.From(ctx).Say, podlogs.Form{Follow: in.Follow, Timestamps: in.Timestamps})
	}}, nil
}

// KubernetesEvent is what a part of the cluster said of an object.
type KubernetesEvent struct {
	Object   string    `json:"object" example:"Pod/nb-a-0"`
	Type     string    `json:"type" enum:"Normal,Warning"`
	Sentence string    `json:"sentence,omitempty" doc:"What it means, in the language of the call; absent for an unknown reason"`
	Reason   string    `json:"reason"`
	Message  string    `json:"message"`
	Count    int32     `json:"count"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
}

func (a *API) events(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[KubernetesEvent]], error) {
	events, err := a.deps.Logs.Events(ctx, actor, workload.ID(in.ID))
	l, views := i18n.From(ctx), make([]KubernetesEvent, len(events))
	for i, e := range events {
		views[i] = KubernetesEvent{Object: e.Kind + "/" + e.Name, Type: "Normal", Sentence: l.Say(e.Words), Reason: e.Reason,
			Message: e.Message, Count: e.Count, First: e.First, Last: e.Last}
		if e.Warning {
			views[i].Type = "Warning"
		}
	}
	return reply(list(views, ""), err)
}
