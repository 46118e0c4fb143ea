package page

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Deps are the services that the frame calls.
type Deps struct {
	Site         func() request.Site
	Approvals    Approvals
	Hub          *live.Hub
	Health       func() []Outage                // what does not answer now; nil: everything does
	SessionAlive func(ctx context.Context) bool // whether the session or token of the caller still holds; nil: always
	Licenses     Licenses
	Banners      func(Call) []ui.StripModel // what areas say on every page; nil: nothing
	Limits       *limit.Limiter             // nil: nothing is limited
	MaxStreams   int                        // open pages per person; 64 where 0
	Bundle       *i18n.Bundle
	Now          func() time.Time
	Support      Support
	// Acknowledge keeps a mark of what the reader need not be shown again.
	Acknowledge func(ctx context.Context, a identity.Actor, mark string) error
	Version     string // of the portal
}

// Approvals counts the requests that wait for the reader.
type Approvals interface {
	Decides(identity.Actor) bool
	Waiting(context.Context, identity.Actor) (int, error)
}

// Licenses lists the nodes that have lost their license, by cluster.
type Licenses interface {
	Unlicensed() map[string][]string
}

// Frame draws pages and keeps those that are open up to date.
type Frame struct {
	Deps
	streams *streams
	pages   map[string]Page // those that a stream can be opened for, by name
}

// New makes a frame. Follow hands it the pages.
func New(d Deps) *Frame {
	if d.Health == nil {
		d.Health = func() []Outage { return nil }
	}
	if d.SessionAlive == nil {
		d.SessionAlive = func(context.Context) bool { return true }
	}
	if d.Banners == nil {
		d.Banners = func(Call) []ui.StripModel { return nil }
	}
	if d.MaxStreams == 0 {
		d.MaxStreams = 64
	}
	told := d.Health
	d.Health = func() []Outage { return inOrder(told()) }
	return &Frame{Deps: d, streams: newStreams(d.MaxStreams)}
}

// Follow takes the surface of all areas: it bounds the work of some routes for each person, and opens streams for the
// pages that name topics.
func (w *Frame) Follow(routes []Route) []Route {
	w.pages = livePages(routes)
	return w.Bounded(routes)
}
