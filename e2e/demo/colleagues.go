package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

// colleague is a workload that somebody else has, so that map, overview and queue of a new demo show GPUs in use.
type colleague struct {
	who  string
	body apiclient.RequestBody
	idle bool // its GPU does nothing
}

// colleagues are few enough that each team has room in its quota and budget for whoever tries the demo.
var colleagues = []colleague{
	{who: "devi", body: notebook("vision", "detector-training", "mig-3g.40gb", "2d")},
	{who: "devi", body: notebook("vision", "label-cleaning", "mig-1g.10gb", "12h"), idle: true},
	{who: "devi", body: notebook("vision", "vit-pretraining", "h100", "1d")},
	{who: "otto", body: notebook("vision", "paper-figures", "vgpu-12q", "1d")},
	{who: "nora", body: notebook("speech", "diarization", "l40s-shared", "8h")},
	{who: "nora", body: endpoint("speech", "transcripts", "mig-1g.10gb", "2d")},
	{who: "lena", body: notebook("lab", "kernel-tuning", "mig-1g.10gb", "4h")},
}

func notebook(team, name, size, lease string) apiclient.RequestBody {
	image, storage, reason := "jupyterlab", "10Gi", "Example: a run of a colleague"
	return apiclient.RequestBody{Kind: apiclient.RequestBodyKindNotebook, Tenant: team, Name: &name, Size: size,
		Image: &image, Lease: &lease, Storage: &storage, Reason: &reason}
}

func endpoint(team, name, size, lease string) apiclient.RequestBody {
	b := notebook(team, name, size, lease)
	image := "vllm"
	b.Kind, b.Image, b.Storage = apiclient.RequestBodyKindEndpoint, &image, nil
	return b
}

// arrive starts the colleagues' workloads over the API, as they would; the approver approves what a rule leaves to her.
// Those that cannot start are left out and named in the error.
func arrive(ctx context.Context, p *stack.Portal, r stack.Ready) error {
	var failed []error
	for _, c := range colleagues {
		if err := c.start(ctx, p, r); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", *c.body.Name, err))
		}
	}
	return errors.Join(failed...)
}

func (c colleague) start(ctx context.Context, p *stack.Portal, r stack.Ready) error {
	var asked apiclient.Request
	if err := as(ctx, p, c.who, http.MethodPost, "/requests", c.body, &asked); err != nil {
		return err
	}
	if asked.State == apiclient.RequestStatePending {
		err := as(ctx, p, "ada", http.MethodPost, "/requests/"+asked.Id+"/approve",
			apiclient.ApproveInputBody{Seen: asked.Version}, nil)
		if err != nil {
			return err
		}
	}
	if !c.idle {
		return nil
	}
	pod := "gpu-" + c.body.Tenant + "/" + *c.body.Name + "-0"
	return send(ctx, http.MethodPut, r.Control+"/load?value=0&pod="+pod, "", nil, nil)
}

// as calls the API in somebody's name.
func as(ctx context.Context, p *stack.Portal, who, method, path string, body, answer any) error {
	return send(ctx, method, p.URL+"/api/v1"+path, p.Tokens[who], body, answer)
}

func send(ctx context.Context, method, url, token string, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(content))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		var problem struct {
			Detail string `json:"detail"`
		}
		_ = json.NewDecoder(resp.Body).Decode(&problem)
		return fmt.Errorf("%s %s", resp.Status, problem.Detail)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}
