package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Quarantine is of a node or a card, by an administrator.
type Quarantine struct {
	Cluster string    `json:"cluster"`
	Kind    string    `json:"kind" enum:"node,card"`
	Name    string    `json:"name" doc:"Of the node, or the card's UUID"`
	Node    string    `json:"node" doc:"On which a card was when it was quarantined"`
	Note    string    `json:"note"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func quarantineView(m health.Quarantine) Quarantine {
	return Quarantine{Cluster: m.Cluster, Kind: string(m.Kind), Name: m.Name, Node: m.Node, Note: m.Note, By: m.ByName,
		At: m.At.UTC()}
}

// PlaceInput names a node or a card. It is exported because huma skips unexported embedded fields.
type PlaceInput struct {
	Cluster string `path:"cluster" maxLength:"63"`
	Kind    string `path:"kind" enum:"node,card"`
	Name    string `path:"name" maxLength:"253" doc:"Of the node, or the card's UUID"`
}

func (in PlaceInput) place() health.Target {
	return health.Target{Cluster: in.Cluster, Kind: health.Kind(in.Kind), Name: in.Name}
}

type quarantineInput struct {
	PlaceInput
	Body struct {
		Note string `json:"note" maxLength:"500" doc:"What is wrong; those who use it are told"`
	}
}

func (a *API) quarantines(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[Quarantine]], error) {
	quarantines, err := a.deps.Quarantine.List(ctx, actor)
	views := make([]Quarantine, len(quarantines))
	for i, m := range quarantines {
		views[i] = quarantineView(m)
	}
	return reply(list(views, ""), err)
}

func (a *API) quarantine(ctx context.Context, actor identity.Actor, in *quarantineInput) (*output[Quarantine], error) {
	m, err := a.deps.Quarantine.Quarantine(ctx, actor, in.place(), in.Body.Note)
	return reply(quarantineView(m), err)
}

func (a *API) release(ctx context.Context, actor identity.Actor, in *PlaceInput) (*output[List[Quarantine]], error) {
	if err := a.deps.Quarantine.Release(ctx, actor, in.place()); err != nil {
		return nil, err
	}
	return a.quarantines(ctx, actor, nil)
}

// ClusterHealth is how the nodes and cards of a cluster are, worst first.
type ClusterHealth struct {
	Cluster string       `json:"cluster"`
	TakenAt *time.Time   `json:"takenAt,omitempty" doc:"When the inventory was confirmed, which has the word of the node agents; absent for never"`
	DCGMAt  *time.Time   `json:"dcgmAt,omitempty" doc:"When DCGM was last heard; absent for never"`
	Nodes   []NodeHealth `json:"nodes"`
}

// NodeHealth is one node with its cards.
type NodeHealth struct {
	Name       string         `json:"name"`
	Model      string         `json:"model,omitempty"`
	State      string         `json:"state" enum:"fine,noticed,unknown,quarantined,warning,danger"`
	Gone       bool           `json:"gone" doc:"It, or a quarantined card that was on it, is not in the inventory any more"`
	Quarantine *Quarantine    `json:"quarantine,omitempty"`
	Holders    []HealthHolder `json:"holders"`
	Cards      []CardHealth   `json:"cards"`
}

// CardHealth is one card. What neither DCGM nor the node's agent says is absent, and never zero.
type CardHealth struct {
	UUID       string           `json:"uuid,omitempty" doc:"Absent for a card that the driver has lost"`
	Model      string           `json:"model,omitempty"`
	State      string           `json:"state" enum:"fine,noticed,unknown,quarantined,warning,danger"`
	Gone       bool             `json:"gone" doc:"Quarantined, and nobody names it any more"`
	Lost       bool             `json:"lost"`
	Quarantine *Quarantine      `json:"quarantine,omitempty"`
	Issues     []MetricsFinding `json:"issues"`
	DCGM       *CardWord        `json:"dcgm,omitempty"`
	Agent      *CardWord        `json:"agent,omitempty"`
	Holders    []HealthHolder   `json:"holders" doc:"As far as it is known who is on this card"`
}

// CardWord is what one source says.
type CardWord struct {
	Corrected   *float64  `json:"eccCorrected,omitempty"`
	Uncorrected *float64  `json:"eccUncorrected,omitempty"`
	NVLink      *float64  `json:"nvlinkErrors,omitempty"`
	XIDs        []int     `json:"xids"`
	Errors      []CardXID `json:"errors" doc:"The same errors with their times"`
	Throttle    []string  `json:"throttledFor" doc:"Empty also where it is not known; see troubles"`
}

// CardXID is an XID error of a card.
type CardXID struct {
	Code   int        `json:"code"`
	Slice  string     `json:"slice,omitempty" doc:"GPU instance id of a MIG slice; absent for the card"`
	Times  *float64   `json:"times,omitempty" doc:"By an agent since it listens, by DCGM in the exporter's window; absent where nobody counts"`
	Since  *time.Time `json:"since,omitempty" doc:"Since when it has been the last one, as far as the samples in Prometheus tell; absent where that is not known"`
	Before bool       `json:"before" doc:"It was there already when the samples begin: it came at since or earlier"`
	Last   *time.Time `json:"last,omitempty" doc:"When an agent heard of it last"`
	Old    bool       `json:"old" doc:"No news any more, and not counted in the state of the card"`
}

// HealthHolder is a workload there.
type HealthHolder struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Owner string `json:"owner"`
	Team  string `json:"team"`
}

func (a *API) fleetHealth(ctx context.Context, actor identity.Actor,
	_ *struct{}) (*output[List[ClusterHealth]], error) {
	var views []ClusterHealth
	for _, name := range a.deps.Site().Clusters {
		r, err := a.deps.Quarantine.Report(ctx, actor, name)
		if err != nil {
			return nil, err
		}
		views = append(views, clusterHealth(i18n.From(ctx), r))
	}
	return reply(list(views, ""), nil)
}

func clusterHealth(l *i18n.Localizer, r health.Report) ClusterHealth {
	v := ClusterHealth{Cluster: r.Cluster, TakenAt: known(r.TakenAt), DCGMAt: known(r.DCGMAt), Nodes: []NodeHealth{}}
	for _, n := range r.Nodes {
		node := NodeHealth{Name: n.Name, Model: n.Model, State: n.Level().String(), Gone: n.Gone,
			Quarantine: quarantineOf(n.Quarantine),
			Holders:    healthHolders(n.Holders), Cards: []CardHealth{}}
		for _, c := range n.Cards {
			card := CardHealth{UUID: c.UUID, Model: c.Model, State: c.Level().String(), Gone: c.Gone, Lost: c.Lost,
				Quarantine: quarantineOf(c.Quarantine), Issues: []MetricsFinding{}, Holders: healthHolders(c.Holders)}
			for _, t := range c.Issues {
				card.Issues = append(card.Issues, MetricsFinding{Severity: t.Severity.String(), What: l.Say(t.What),
					Todo: l.Say(t.Todo)})
			}
			card.DCGM, card.Agent = dcgmWord(c.DCGM), agentWord(c.Agent, r.Old)
			node.Cards = append(node.Cards, card)
		}
		v.Nodes = append(v.Nodes, node)
	}
	return v
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func quarantineOf(m *health.Quarantine) *Quarantine {
	if m == nil {
		return nil
	}
	v := quarantineView(*m)
	return &v
}

func healthHolders(holders []health.Holder) []HealthHolder {
	views := []HealthHolder{}
	for _, h := range holders {
		views = append(views, HealthHolder{ID: string(h.ID), Name: h.Name, Owner: h.OwnerName, Team: h.Tenant})
	}
	return views
}

func dcgmWord(c *gpumetrics.Card) *CardWord {
	if c == nil {
		return nil
	}
	value := func(r gpumetrics.Reading) *float64 {
		if !r.Known() {
			return nil
		}
		return &r.Value
	}
	w := &CardWord{Corrected: value(c.ECCCorrected), Uncorrected: value(c.ECCUncorrected), NVLink: value(c.NVLinkErrors),
		XIDs: []int{}, Errors: []CardXID{}, Throttle: []string{}}
	for _, x := range c.XIDs {
		w.XIDs = append(w.XIDs, x.Code)
		w.Errors = append(w.Errors, CardXID{Code: x.Code, Slice: x.Instance, Times: value(x.Count), Since: known(x.Since),
			Before: x.Before, Old: x.Old})
	}
	for _, r := range c.Reasons {
		w.Throttle = append(w.Throttle, r.Name)
	}
	return w
}

func agentWord(e *inventory.CardErrors, old func(time.Time) bool) *CardWord {
	if e == nil {
		return nil
	}
	value := func(n *uint64) *float64 {
		if n == nil {
			return nil
		}
		v := float64(*n)
		return &v
	}
	w := &CardWord{Corrected: value(e.Corrected), Uncorrected: value(e.Uncorrected), NVLink: value(e.NVLink),
		XIDs: []int{}, Errors: []CardXID{}, Throttle: []string{}}
	for _, x := range e.XIDs {
		times := float64(x.Count)
		w.XIDs = append(w.XIDs, x.Code)
		w.Errors = append(w.Errors, CardXID{Code: x.Code, Times: &times, Last: known(x.Last), Old: old(x.Last)})
	}
	return w
}

// registerQuarantine is the part of the surface that is about quarantined hardware.
func (a *API) registerQuarantine() {
	const tag = "Fleet"
	add(a, op(http.MethodGet, "/fleet/health", "get-fleet-health", "What DCGM, node agents and administrators say of "+
		"every node and card, worst first; for admins and auditors", tag), identity.ReadMetrics, a.fleetHealth)
	add(a, op(http.MethodGet, "/fleet/quarantine", "list-quarantine", "Quarantined nodes and cards, also "+
		"those that "+
		"are gone; for admins and auditors", tag), identity.ReadMetrics, a.quarantines)
	add(a, op(http.MethodPut, "/fleet/{cluster}/quarantine/{kind}/{name}", "quarantine-hardware",
		"Quarantine a node or a card: "+
			"nothing new starts there where that can be kept from it, what runs goes on, its people are told. The same once "+
			"more changes nothing", tag), identity.QuarantineHardware, a.quarantine)
	add(a, op(http.MethodDelete, "/fleet/{cluster}/quarantine/{kind}/{name}", "release-hardware",
		"End a quarantine; answers with those that are left. Where there is none there is nothing to do", tag),
		identity.QuarantineHardware, a.release)
}
