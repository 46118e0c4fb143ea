package blocks

import (
	"maps"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// JobFacts is what a job runs, none for other kinds. The values of its variables are not shown: they may be secrets.
func JobFacts(say page.Words, job *workload.Job) []ui.DefModel {
	if job == nil {
		return nil
	}
	var items []ui.DefModel
	add := func(term, value, test string) {
		if value != "" {
			items = append(items, ui.DefModel{Term: say.S(term), Value: value, Test: test})
		}
	}
	add("start.command", page.OrElse(request.CommandLine(*job), say.S("workload.command_own")), "command")
	add("start.env", strings.Join(slices.Sorted(maps.Keys(job.Env)), ", "), "env")
	add("start.retries", say.Number(float64(job.Retries)), "retries")
	if job.TimeLimit > 0 {
		add("start.time_limit", say.Duration(job.TimeLimit.Std()), "time-limit")
	}
	return items
}
