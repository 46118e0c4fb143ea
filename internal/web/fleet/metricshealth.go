package fleet

import (
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	metricsview "github.com/gpu-portal/gpu-portal/views/metrics"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// metricsHealth answers: which series are there, which views suffer, which cards need a look. For those who may not
// read it the page does not exist.
func (w *Pages) metricsHealth(k page.Call) (page.View, error) {
	if !identity.Can(k.Actor, identity.ReadMetrics, identity.Resource{}) {
		return page.View{}, fault.New(fault.NotFound, i18n.T("web.no_page"))
	}
	m := metricsview.PageModel{Header: ui.HeaderModel{Title: k.Words.S("metrics.title"), Lead: k.Words.S("metrics.lead")}}
	v := page.View{Title: m.Header.Title, Nav: page.MetricsPath, Wide: true}
	for _, name := range w.Site().Clusters {
		report, ok := w.Reports(name)
		if !ok {
			continue
		}
		c := metricsCluster(k.Words, name, report)
		m.Clusters = append(m.Clusters, c)
		v.Parts = append(v.Parts, page.Part{ID: c.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
			if fresh, ok := w.Reports(name); ok {
				return metricsview.Cluster(metricsCluster(say, name, fresh))
			}
			return metricsview.Cluster(c)
		}})
	}
	v.Body = metricsview.Page(m)
	return v, nil
}

func metricsCluster(say page.Words, name string, r gpumetrics.Report) metricsview.ClusterModel {
	m := metricsview.ClusterModel{ID: "metrics-" + page.Slug(name), Name: name}
	if since := r.Status.Since; !since.IsZero() {
		age := say.Age("Prometheus", since, page.ReadingEvery)
		m.Age = &age
	}
	if !r.Status.OK {
		m.Away = awayModel(r.Status)
	}
	if len(r.Views) == 0 { // it has never answered
		return m
	}
	m.Last = &metricsview.PollModel{Cards: r.Cards, Slices: r.Slices, Pods: r.Pods, Rows: r.Rows,
		MiB: say.Number(float64(r.Bytes >> 20)), Milliseconds: r.Took.Milliseconds()}
	for _, v := range r.Views {
		m.Views = append(m.Views, metricsview.ViewModel{Title: say.Text(v.Title), Coverage: metricsview.Coverage(v.State),
			Missing: strings.Join(seriesNames(say, v.Missing), ", ")})
	}
	for _, f := range r.Findings {
		one := metricsview.FindingModel{State: severityState(say, f.Severity), What: say.Text(f.What),
			Todo: say.S("metrics.as_it_should")}
		if !f.Todo.IsZero() {
			one.Todo = say.Text(f.Todo)
		}
		m.Findings = append(m.Findings, one)
	}
	for _, s := range r.Series {
		m.Series = append(m.Series, seriesModel(say, s))
	}
	troubledCards(say, r, &m)
	return m
}

func awayModel(s gpumetrics.Status) *metricsview.AwayModel {
	m := &metricsview.AwayModel{}
	if !s.Since.IsZero() {
		m.Since = ui.Clock(s.Since, time.UTC) + " UTC"
	}
	if s.Err != nil {
		m.Says = s.Err.Error()
	}
	return m
}

func seriesNames(say page.Words, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = say.S("gpumetrics.series." + n)
	}
	return out
}

func severityState(say page.Words, s gpumetrics.Severity) ui.StateModel {
	kinds := map[gpumetrics.Severity]ui.Kind{gpumetrics.Info: ui.Info, gpumetrics.Warning: ui.Warning,
		gpumetrics.Danger: ui.Danger}
	return ui.StateModel{Kind: kinds[s], Word: say.S("metrics.severity." + s.String())}
}

func seriesModel(say page.Words, s gpumetrics.SeriesReport) metricsview.SeriesModel {
	m := metricsview.SeriesModel{Title: say.Text(s.Title), Found: s.Found, Devices: say.S("metrics.devices_of", "Devices",
		s.Devices, "Expected", s.Expected)}
	if len(s.Found) == 0 {
		m.None = say.S("metrics.not_found")
	}
	if s.Invalid > 0 {
		m.Invalid = strconv.Itoa(s.Invalid)
	}
	return m
}

// mostCards keeps a site with a bad day from filling the page.
const mostCards = 50

// troubledCards lists the cards for which something is to be done; that of which nothing is known is said to be
// unknown, not well.
func troubledCards(say page.Words, r gpumetrics.Report, m *metricsview.ClusterModel) {
	more := 0
	for _, c := range r.Health {
		if worst, ok := c.Worst(); !ok || worst < gpumetrics.Warning {
			continue
		}
		if len(m.Cards) == mostCards {
			more++
			continue
		}
		card := metricsview.CardModel{Name: ui.StackModel{Title: c.Model, Detail: c.Node + " · " + c.UUID}}
		for _, t := range c.Issues {
			card.Troubles = append(card.Troubles, metricsview.FindingModel{State: severityState(say, t.Severity),
				What: say.Text(t.What), Todo: say.Text(t.Todo)})
		}
		m.Cards = append(m.Cards, card)
	}
	if more > 0 {
		m.More = say.S("metrics.cards_more", "Count", more)
	}
	if len(m.Cards) == 0 {
		m.NoCards = say.S("metrics.no_cards")
		for _, v := range r.Views {
			if v.Name == "errors" && v.State != gpumetrics.Whole {
				m.NoCards = say.S("metrics.cards_unknown")
			}
		}
	}
}
