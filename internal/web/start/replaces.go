package start

import (
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/start"
)

// startReplaces says on the start page what becomes of the old one; nil where nothing is to be replaced.
func (w *Pages) startReplaces(k page.Call, form blocks.StartForm) *start.ReplacesModel {
	if form.Replaces == "" {
		return nil
	}
	old, err := w.Workloads.Get(k.Ctx, k.Actor, workload.ID(form.Replaces))
	if err != nil {
		return nil // sending says what is wrong
	}
	return &start.ReplacesModel{Name: old.Name, Volume: old.Volume}
}
