package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// MetricsHealth is how well the metrics of each cluster are.
type MetricsHealth struct {
	Clusters []ClusterMetrics `json:"clusters"`
}

// ClusterMetrics is one cluster's.
type ClusterMetrics struct {
	Cluster  string           `json:"cluster"`
	OK       bool             `json:"ok" doc:"Whether Prometheus answers now"`
	Since    *time.Time       `json:"since,omitempty" doc:"When it last answered; absent for never"`
	Problem  string           `json:"problem,omitempty"`
	Skew     float64          `json:"clockSkewSeconds" doc:"By how much its clock is ahead of the portal's"`
	Cards    int              `json:"cards"`
	Slices   int              `json:"slices"`
	Pods     int              `json:"pods"`
	Stale    int              `json:"staleDevices"`
	Series   []MetricsSeries  `json:"series"`
	Views    []AffectedView   `json:"views"`
	Findings []MetricsFinding `json:"findings"`
	Troubled []TroubledCard   `json:"troubledCards"`
}

// MetricsSeries is one kind of series.
type MetricsSeries struct {
	Name     string   `json:"name"`
	Metrics  []string `json:"metrics" doc:"The names it may go by"`
	Found    []string `json:"found"`
	Devices  int      `json:"devices" doc:"Devices with a usable value"`
	Expected int      `json:"expected" doc:"Devices that could have one"`
	Unusable int      `json:"unusable" doc:"Values that are blank or cannot be"`
}

// AffectedView is one view of the portal.
type AffectedView struct {
	Name    string   `json:"name"`
	State   string   `json:"state" enum:"whole,partly,nothing,idle"`
	Missing []string `json:"missing"`
}

// MetricsFinding is something peculiar about series or a card.
type MetricsFinding struct {
	ID       string `json:"id,omitempty"`
	Severity string `json:"severity" enum:"info,warning,danger"`
	What     string `json:"what"`
	Todo     string `json:"todo,omitempty"`
}

// TroubledCard is a card with something the matter.
type TroubledCard struct {
	UUID   string           `json:"uuid"`
	Model  string           `json:"model"`
	Node   string           `json:"node"`
	At     time.Time        `json:"at"`
	Issues []MetricsFinding `json:"issues"`
}

func (a *API) metricsHealth(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[MetricsHealth], error) {
	if !identity.Can(actor, identity.ReadMetrics, identity.Resource{}) {
		return nil, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	v := MetricsHealth{Clusters: []ClusterMetrics{}}
	for _, name := range a.deps.Site().Clusters {
		if a.deps.Reports == nil {
			break
		}
		if r, ok := a.deps.Reports(name); ok {
			v.Clusters = append(v.Clusters, clusterMetrics(i18n.From(ctx), name, r))
		}
	}
	return reply(v, nil)
}

func clusterMetrics(l *i18n.Localizer, name string, r gpumetrics.Report) ClusterMetrics {
	v := ClusterMetrics{Cluster: name, OK: r.Status.OK, Skew: r.Skew.Seconds(), Cards: r.Cards, Slices: r.Slices,
		Pods: r.Pods, Stale: r.Stale,
		Series: []MetricsSeries{}, Views: []AffectedView{}, Findings: []MetricsFinding{}, Troubled: []TroubledCard{}}
	if !r.Status.Since.IsZero() {
		v.Since = &r.Status.Since
	}
	if r.Status.Err != nil {
		v.Problem = r.Status.Err.Error()
	}
	for _, s := range r.Series {
		v.Series = append(v.Series, MetricsSeries{s.Name, some(s.Metrics), some(s.Found), s.Devices, s.Expected, s.Invalid})
	}
	for _, x := range r.Views {
		v.Views = append(v.Views, AffectedView{x.Name, string(x.State), some(x.Missing)})
	}
	for _, f := range r.Findings {
		v.Findings = append(v.Findings, MetricsFinding{f.ID, f.Severity.String(), l.Say(f.What), l.Say(f.Todo)})
	}
	for _, c := range r.Health {
		if len(c.Issues) == 0 {
			continue
		}
		card := TroubledCard{UUID: c.UUID, Model: c.Model, Node: c.Node, At: c.At}
		for _, t := range c.Issues {
			card.Issues = append(card.Issues, MetricsFinding{Severity: t.Severity.String(), What: l.Say(t.What),
				Todo: l.Say(t.Todo)})
		}
		v.Troubled = append(v.Troubled, card)
	}
	return v
}

// some is a list that is never null.
func some(list []string) []string { return append([]string{}, list...) }
