package workloads

import (
	"cmp"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// editsNotice says what others set on the objects of a workload and the portal took back, or could not; nil for
// nothing.
func editsNotice(say page.Words, item workload.Workload) *ui.NoticeModel {
	edits := slices.DeleteFunc(slices.Clone(item.Observed.Edits), func(e workload.ForeignEdit) bool { return !e.News() })
	if len(edits) == 0 {
		return nil
	}
	n := &ui.NoticeModel{Kind: ui.Warning, Title: say.S("workload.edits"), Body: say.S("workload.edits_body"),
		Items: editItems(say, edits), Test: "edits"}
	if slices.ContainsFunc(edits, func(e workload.ForeignEdit) bool { return e.Outcome == workload.EditRefused }) {
		n.Kind, n.Body = ui.Danger, say.S("workload.edits_refused_body")
	}
	return n
}

// additionsNotice is what others added that may stay: labels, annotations, finalizers, containers for debugging.
func additionsNotice(say page.Words, item workload.Workload) *ui.NoticeModel {
	edits := slices.DeleteFunc(slices.Clone(item.Observed.Edits), workload.ForeignEdit.News)
	if len(edits) == 0 {
		return nil
	}
	return &ui.NoticeModel{Kind: ui.Info, Title: say.S("workload.additions"), Body: say.S("workload.additions_body"),
		Items: editItems(say, edits), Test: "additions"}
}

func editItems(say page.Words, edits []workload.ForeignEdit) []string {
	var items []string
	for _, e := range edits {
		by := cmp.Or(e.By, say.S("workload.edit_unknown"))
		if e.At.IsZero() {
			items = append(items, say.S("workload.edit", "Object", e.Object, "Path", e.Path, "By", by))
			continue
		}
		items = append(items, say.S("workload.edit_at", "Object", e.Object, "Path", e.Path, "By", by, "At",
			say.At(e.At).Exact))
	}
	return items
}
