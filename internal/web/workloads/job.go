package workloads

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// jobActions lead to the form of a job that is filled after the pattern of this workload: the same job again, or a
// notebook as a job.
func (w *Pages) jobActions(k page.Call, s details) (again, asJob string) {
	href := "/start?like=" + string(s.ID)
	switch {
	case len(w.Startable(k)) == 0 || s.Desired == workload.WantDeleted || s.State == workload.Ended:
	case s.CanRepeat():
		return href, ""
	case s.Kind == catalog.Notebook:
		return "", href
	}
	return "", ""
}

// result is how a job ended, how long it ran, and what that cost.
func result(say page.Words, item workload.Workload, lease workloadview.LeaseCardModel) workloadview.StartModel {
	m := workloadview.StartModel{ID: "workload-start", Ended: true, Detail: item.Observed.Detail}
	if ran := item.Result.Duration(); ran > 0 {
		m.Sums = append(m.Sums, ui.TileModel{Label: say.S("workload.ran"), Value: say.Duration(ran), Test: "ran"})
	}
	m.Sums = append(m.Sums, ui.TileModel{Label: say.S("workload.cost_total"), Value: lease.Cost, Detail: lease.Price,
		Test: "cost"})
	if code := item.Result.ExitCode; code != nil {
		exit := ui.TileModel{Label: say.S("workload.exit_code"), Value: strconv.Itoa(int(*code)), Test: "exit-code"}
		if *code == 0 {
			m.Sums = append(m.Sums, exit)
		} else { // what one came to see
			m.Sums = slices.Insert(m.Sums, 0, exit)
		}
	}
	var parts []string
	if at := item.Result.At; !at.IsZero() {
		parts = append(parts, say.S("workload.finished", "Time", say.At(at).Exact))
	}
	if n := item.Result.Attempts; n > 1 {
		parts = append(parts, say.S("workload.attempts", "Count", n))
	}
	m.Lead, m.Volume = strings.Join(parts, " · "), volumeWords(say, item)
	return m
}
