package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// HardwareMark says that an administrator called a node or a card bad.
type HardwareMark struct {
	Cluster string    `json:"cluster"`
	Kind    string    `json:"kind" enum:"node,card"`
	Name    string    `json:"name" doc:"Of the node, or the card's UUID"`
	Node    string    `json:"node" doc:"On which a card was when it was marked"`
	Note    string    `json:"note"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func markView(m health.Mark) HardwareMark {
	return HardwareMark{Cluster: m.Cluster, Kind: string(m.Kind), Name: m.Name, Node: m.Node, Note: m.Note, By: m.ByName, At: m.At.UTC()}
}

type placeInput struct {
	Cluster string `path:"cluster" maxLength:"63"`
	Kind    string `path:"kind" enum:"node,card"`
	Name    string `path:"name" maxLength:"253" doc:"Of the node, or the card's UUID"`
}

func (in placeInput) place() health.Place {
	return health.Place{Cluster: in.Cluster, Kind: health.Kind(in.Kind), Name: in.Name}
}

type markInput struct {
	placeInput
	Body struct {
		Note string `json:"note" maxLength:"500" doc:"What is wrong; those who use it are told"`
	}
}

func (a *API) marks(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[HardwareMark]], error) {
	marks, err := a.deps.Marks.List(ctx, actor)
	views := make([]HardwareMark, len(marks))
	for i, m := range marks {
		views[i] = markView(m)
	}
	return reply(list(views, ""), err)
}

func (a *API) mark(ctx context.Context, actor identity.Actor, in *markInput) (*output[HardwareMark], error) {
	m, err := a.deps.Marks.Mark(ctx, actor, in.place(), in.Body.Note)
	return reply(markView(m), err)
}

func (a *API) unmark(ctx context.Context, actor identity.Actor, in *placeInput) (*output[List[HardwareMark]], error) {
	if err := a.deps.Marks.Unmark(ctx, actor, in.place()); err != nil {
		return nil, err
	}
	return a.marks(ctx, actor, nil)
}

// registerMarks is the part of the surface that is about bad hardware.
func (a *API) registerMarks() {
	const tag = "Fleet"
	add(a, op(http.MethodGet, "/fleet/marks", "list-marks", "Nodes and cards that were marked as bad, also those that are gone; for admins and auditors", tag), identity.ReadMetrics, a.marks)
	add(a, op(http.MethodPut, "/fleet/{cluster}/marks/{kind}/{name}", "mark-hardware", "Mark a node or a card as bad: nothing new starts there where that can be kept from it, what runs goes on, its people are told. The same once more changes nothing", tag), identity.MarkHardware, a.mark)
	add(a, op(http.MethodDelete, "/fleet/{cluster}/marks/{kind}/{name}", "unmark-hardware", "Take a mark back; answers with those that are left. Where there is none there is nothing to do", tag), identity.MarkHardware, a.unmark)
}
