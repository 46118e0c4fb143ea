package blocks

import (
	"maps"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// JobModel is the program of a job; nil for other kinds. The values of its variables are not shown: they may be
// secrets. The number of pods is said of several.
func JobModel(say page.Words, job *workload.Job, pods int) *workloadview.JobModel {
	if job == nil {
		return nil
	}
	m := &workloadview.JobModel{Command: request.CommandLine(*job),
		Env: strings.Join(slices.Sorted(maps.Keys(job.Env)), ", "), Retries: say.Number(float64(job.Retries))}
	if pods > 1 {
		m.Nodes = say.Number(float64(pods))
	}
	if job.TimeLimit > 0 {
		m.TimeLimit = say.Duration(job.TimeLimit.Std())
	}
	return m
}
