package forecast

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Rationale says what an estimate is based on, or why there is none; zero where nothing is awaited.
func (e Estimate) Rationale() i18n.Text {
	switch {
	case e.Missing == FewStarts || e.Missing == FewDecisions:
		return i18n.T("forecast."+string(e.Missing), "Count", e.Count, "Need", MinSamples)
	case e.Missing == Overdue:
		return i18n.T("forecast.overdue", "Most", length(e.P90))
	case e.Missing != "":
		return i18n.T("forecast." + string(e.Missing))
	case !e.Known():
		return i18n.Text{}
	case e.Basis == Leases || e.Basis == Seats:
		id := "forecast.basis_" + string(e.Basis)
		if e.EarlyRelease >= time.Minute {
			return i18n.T(id+"_early", "Count", e.Count, "Least", length(e.EarlyRelease))
		}
		return i18n.T(id, "Count", e.Count)
	}
	return i18n.T("forecast.basis_"+string(e.Basis), "Count", e.Count, "Least", length(e.Median), "Most", length(e.P90))
}

// length is a length of time as Texts carry it: whole seconds, and none for nothing.
func length(d time.Duration) string {
	return catalog.Duration(max(time.Second, d.Round(time.Second))).String()
}

// Length is how long half of the starts took at most, to the second.
func (e Estimate) Length() time.Duration { return max(time.Second, e.Median.Round(time.Second)) }
