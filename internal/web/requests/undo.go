package requests

import (
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/requests"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// inboxNames are what links and forms of the approver's list keep of its address.
var inboxNames = []string{"q", "team", "sort", "cursor"}

// inboxFilter narrows what waits; short lists need none.
func (w *Pages) inboxFilter(k page.Call, waiting int) *ui.FilterBarModel {
	if waiting < 2 && !filtered(k) {
		return nil
	}
	m := ui.FilterBarModel{Action: "/approvals", Label: k.Words.S("requests.filter"), Search: searchField(k, "inbox-q"),
		Fields: append(w.teamField(k, "inbox-team"), sortField(k, "inbox-sort", request.Oldest))}
	if filtered(k) {
		m.ClearURL = "/approvals" + keptOf(k, "sort")
	}
	return &m
}

// undoable are the reader's answers that have not taken effect, the newest first.
func (w *Pages) undoable(k page.Call) ([]requests.UndoModel, error) {
	list, err := w.Approvals.Undoable(k.Ctx, k.Actor)
	var models []requests.UndoModel
	for i, r := range list {
		m := requests.UndoModel{Title: k.Words.S("requests.undo_"+string(r.Decision.Deferred.Verb), "What",
			k.Words.SizeTitle(r.Spec.Size), "Name", r.AskerName),
			Left: k.Words.Left(r.Decision.Deferred.Until), Button: undoButton(k, r), Newest: i == 0}
		if m.Newest {
			m.Button.Button.Shortcut = "u"
		}
		models = append(models, m)
	}
	return models, err
}

func undoButton(k page.Call, r request.Request) ui.PostButtonModel {
	return ui.PostButtonModel{Action: approvalPath(r.ID) + "/undo" + keptOf(k, inboxNames...), Button: ui.ButtonModel{
		Label: k.Words.S("requests.undo"), Kind: ui.Secondary, Icon: "undo", Small: true, Test: "undo"}}
}

// undo takes an answer back and shows its request again.
func (w *Pages) undo(c echo.Context) error {
	k := w.CallOf(c)
	id := request.ID(c.Param("id"))
	if _, err := w.Approvals.Undo(k.Ctx, k.Actor, id); err != nil {
		return err
	}
	return w.Done(c, "undone", approvalPath(id)+keptOf(k, inboxNames...))
}
