package workloads

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// jobActions lead to the form of a job that is filled after the pattern of this workload.
func (w *Pages) jobActions(k page.Call, s seen) []ui.ActionModel {
	href := "/start?like=" + string(s.ID)
	switch {
	case len(w.Startable(k)) == 0 || s.Desired == workload.WantDeleted || s.State == workload.Ended:
		return nil
	case s.CanRepeat():
		return []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: k.Words.S("workload.run_again"), Icon: "play",
			Kind: ui.Primary, Href: href, Test: "run-again"}}}
	case s.Kind == catalog.Notebook:
		return []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: k.Words.S("workload.run_as_job"), Icon: "job", Href: href,
			Test: "run-as-job"}}}
	}
	return nil
}

// result is how a job ended.
func result(say page.Words, item workload.Workload) workloadview.StartModel {
	m := workloadview.StartModel{ID: "workload-start", Title: say.S("workload.result"), Detail: item.Observed.Detail}
	var parts []string
	if code := item.Result.ExitCode; code != nil {
		parts = append(parts, say.S("workload.exit_code", "Code", int(*code)))
	}
	if ran := item.Result.Duration(); ran > 0 {
		parts = append(parts, say.S("workload.ran", "Duration", say.Duration(ran)))
	}
	if n := item.Result.Attempts; n > 1 {
		parts = append(parts, say.S("workload.attempts", "Count", n))
	}
	m.Lead = strings.Join(parts, " · ")
	return m
}
