package webtest

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Versioned is a world with an endpoint whose third version is on its way, and one whose second never got ready.
func Versioned(s Scope) *World {
	w := Busy(s)
	rolling := w.Workload("search", Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", 50*time.Hour, 7*time.Hour).
		Between(1, 2, 1, 1)
	version := func(number int, model string, state workload.RevisionState, ago time.Duration) workload.Revision {
		return workload.Revision{Number: number, Image: rolling.Image, Model: &catalog.Model{Source: catalog.FromHub,
			Name: model}, By: Anna.Name, At: Now.Add(-ago), State: state, Changed: Now.Add(-ago)}
	}
	pulling := i18n.T("explain.image_missing", "Image", i18n.Literal("vLLM"))
	rolling.Revisions = workload.Revisions{Serving: 2, List: []workload.Revision{
		version(1, "Qwen/Qwen2.5-7B-Instruct", workload.RevisionFormer, 50*time.Hour),
		version(2, "Qwen/Qwen2.5-14B-Instruct", workload.RevisionServing, 20*time.Hour),
		version(3, "Qwen/Qwen3-14B", workload.RevisionStarting, 4*time.Minute)},
		Rollout: &workload.Rollout{From: 2, To: 3, Deadline: Now.Add(26 * time.Minute)}}
	rolling.Model, rolling.Replicas.Surge = &catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen3-14B"}, 1
	rolling.Observed.Rollout = &workload.RolloutObservation{Revision: 3, Reason: i18n.T("explain.pulling", "Image",
		i18n.Literal("vLLM"))}
	failed := w.Workload("rerank", Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", 30*time.Hour, 7*time.Hour).
		Between(1, 2, 1, 1)
	broken := version(3, "Qwen/Qwen3-Reranker-0.6B", workload.RevisionFailed, 8*time.Minute)
	broken.Reason = pulling
	again := version(2, "BAAI/bge-reranker-v2-m3", workload.RevisionServing, 2*time.Hour)
	failed.Revisions = workload.Revisions{Serving: 2, List: []workload.Revision{
		version(1, "BAAI/bge-reranker-base", workload.RevisionFormer, 30*time.Hour), again, broken}}
	failed.Model = again.Model
	tried := w.Workload("summary", Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", 30*time.Hour, 7*time.Hour).
		Between(1, 2, 1, 1)
	canary := version(2, "Qwen/Qwen3-8B", workload.RevisionStarting, 3*time.Hour)
	tried.Revisions = workload.Revisions{Serving: 1, List: []workload.Revision{
		version(1, "Qwen/Qwen2.5-7B-Instruct", workload.RevisionServing, 30*time.Hour), canary},
		Rollout: &workload.Rollout{From: 1, To: 2, Canary: &workload.Canary{Percent: 10, Ready: true}}}
	tried.Model, tried.Replicas.Surge = canary.Model, 1
	w.Add(tried)
	w.Add(rolling)
	w.Add(failed)
	return w
}
