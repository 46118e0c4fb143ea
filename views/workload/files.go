package workload

import (
	"context"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// filesLead says what becomes of what lies there.
func filesLead(ctx context.Context, m FilesModel) string {
	if m.Home == "" {
		return ui.L(ctx).S("files.lead_gone")
	}
	return ui.L(ctx).S("files.lead", "Home", m.Home)
}

// filesActions are for a directory that could be read.
func filesActions(ctx context.Context, m FilesModel) []ui.ActionModel {
	if !m.Listed || len(m.Files) == 0 {
		return nil
	}
	return []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: ui.L(ctx).S("files.archive"), Icon: "download",
		Small: true, Href: m.Archive, Test: "files-archive"}}}
}

// notRunning says what there is not yet, and why.
func notRunning(ctx context.Context, m TerminalStateModel) string {
	if m.Files {
		return ui.L(ctx).S("files.not_running", "State", m.State)
	}
	return ui.L(ctx).S("terminal.not_running", "State", m.State)
}

// fileMark shows a directory as ls -p does.
func fileMark(m FileModel) string {
	if m.Kind == "directory" {
		return "/"
	}
	return ""
}
