package start

import (
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// startReplaces says on the start page what becomes of the old one; nil where nothing is to be replaced.
func (w *Pages) startReplaces(k page.Call, form blocks.StartForm) *ui.NoticeModel {
	if form.Replaces == "" {
		return nil
	}
	old, err := w.Workloads.Get(k.Ctx, k.Actor, workload.ID(form.Replaces))
	if err != nil {
		return nil // sending says what is wrong
	}
	say := k.Words
	n := &ui.NoticeModel{Kind: ui.Info, Title: say.S("advice.start_title", "Name", old.Name),
		Body: say.S("advice.start_body", "Name", old.Name), Test: "start-replaces"}
	if old.Volume != "" {
		n.Items = []string{say.S("advice.start_storage", "Volume", old.Volume)}
	}
	return n
}
