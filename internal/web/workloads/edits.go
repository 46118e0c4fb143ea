package workloads

import (
	"cmp"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// editsModel is what others set on the objects of a workload and the portal took back, or could not; nil for nothing.
func editsModel(say page.Words, item workload.Workload) *workloadview.EditsModel {
	edits := slices.DeleteFunc(slices.Clone(item.Observed.Edits), func(e workload.ForeignEdit) bool { return !e.News() })
	if len(edits) == 0 {
		return nil
	}
	return &workloadview.EditsModel{Items: editItems(say, edits),
		Refused: slices.ContainsFunc(edits, func(e workload.ForeignEdit) bool { return e.Outcome == workload.EditRefused })}
}

// additions are what others added that may stay: labels, annotations, finalizers, containers for debugging.
func additions(say page.Words, item workload.Workload) []string {
	return editItems(say, slices.DeleteFunc(slices.Clone(item.Observed.Edits), workload.ForeignEdit.News))
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
