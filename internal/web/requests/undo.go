package requests

import (
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
)

// inboxNames are what links and forms of the approver's list keep of its address.
var inboxNames = []string{"q", "team", "sort", "cursor"}

// inboxFilter narrows what waits; short lists need none.
func (w *Pages) inboxFilter(k page.Call, waiting int) *requests.FilterModel {
	if waiting < 2 && !filtered(k) {
		return nil
	}
	m := w.filterModel(k, request.Oldest)
	if filtered(k) {
		m.Clear = "/approvals" + keptOf(k, "sort")
	}
	return &m
}

// undoable are the reader's answers that have not taken effect, the newest first.
func (w *Pages) undoable(k page.Call) ([]requests.UndoModel, error) {
	list, err := w.Approvals.Undoable(k.Ctx, k.Actor)
	var models []requests.UndoModel
	for i, r := range list {
		models = append(models, requests.UndoModel{Verb: requests.Verb(r.Decision.Deferred.Verb),
			Size: k.Words.SizeTitle(r.Spec.Size), Asker: r.AskerName, Left: k.Words.Left(r.Decision.Deferred.Until),
			Action: undoPath(k, r), Newest: i == 0})
	}
	return models, err
}

func undoPath(k page.Call, r request.Request) string {
	return page.ApprovalPath(r.ID) + "/undo" + keptOf(k, inboxNames...)
}

// undo takes an answer back and shows its request again.
func (w *Pages) undo(c echo.Context) error {
	k := w.CallOf(c)
	id := request.ID(c.Param("id"))
	if _, err := w.Approvals.Undo(k.Ctx, k.Actor, id); err != nil {
		return err
	}
	return w.Done(c, "undone", page.ApprovalPath(id)+keptOf(k, inboxNames...))
}
