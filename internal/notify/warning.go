package notify

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Kept is for how long it is known what became of a message.
const Kept = 30 * 24 * time.Hour

// DeliveryStatus is what became of a message, over all channels that it takes.
type DeliveryStatus string

// The statuses of a message.
const (
	Queued      DeliveryStatus = "queued"       // it is on its way, or nobody has looked yet whom to tell
	Delivered   DeliveryStatus = "delivered"    // one channel at least took it
	GivenUp     DeliveryStatus = "failed"       // every channel was given up
	NoRecipient DeliveryStatus = "no_recipient" // nobody wants to hear of it, or there is no way to them
)

// Warning is a warning that was written down, and what became of the message that follows from it.
type Warning struct {
	About   Kind
	At      time.Time // of the warning
	Status  DeliveryStatus
	To      string    // whom it went to, for people; "" for nobody
	Channel Channel   // of what was delivered, or failed last; "" else
	Done    time.Time // when that was; zero else
	Problem i18n.Text // why it failed, or why it is still being tried
	Said    string    // what the other side said then
}

// warnings are the events before something is taken from somebody.
var warnings = []struct {
	kind  audit.Kind
	about Kind
}{{audit.LeaseWarned, Lease}, {audit.WorkloadIdle, Idle}}

// Warnings say what became of the latest warning of each kind about a workload; none that is so old that nobody knows.
// Faults: NotFound for what the actor may not read.
func (s *Service) Warnings(ctx context.Context, a identity.Actor, id workload.ID) ([]Warning, error) {
	w, err := s.o.Store.Workload(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := workload.Permit(a, identity.ReadWorkload, w); err != nil {
		return nil, err
	}
	looked, err := s.o.Store.NotifyCursor(ctx) // before the messages: what was looked at then has its messages written
	if err != nil {
		return nil, err
	}
	var list []Warning
	for _, of := range warnings {
		events, _, err := s.o.Store.Events(ctx, audit.Filter{Kinds: []audit.Kind{of.kind}, Workload: string(id),
			From: s.o.Now().Add(-Kept), Limit: 1})
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			sent, err := s.o.Store.DeliveriesOf(ctx, e.Seq)
			if err != nil {
				return nil, err
			}
			one := statusOf(sent, w.Owner, e.Seq <= looked)
			one.About, one.At = of.about, e.At
			list = append(list, one)
		}
	}
	return list, nil
}

// statusOf is what became of the messages about one event. Those to the owner count; those to their team only where
// there are no others.
func statusOf(sent []Delivery, owner identity.PersonID, looked bool) Warning {
	if slices.ContainsFunc(sent, func(d Delivery) bool { return d.Person == owner }) {
		sent = slices.DeleteFunc(slices.Clone(sent), func(d Delivery) bool { return d.Person != owner })
	}
	of := func(states ...State) (Delivery, bool) {
		i := slices.IndexFunc(sent, func(d Delivery) bool { return slices.Contains(states, d.State) })
		if i < 0 {
			return Delivery{}, false
		}
		return sent[i], true
	}
	if d, some := of(Sent); some {
		return Warning{Status: Delivered, To: d.Name, Channel: d.Channel, Done: d.UpdatedAt}
	}
	if d, some := of(Due, Sending); some {
		return Warning{Status: Queued, To: d.Name, Problem: d.Problem, Said: d.Error}
	}
	if d, some := of(GaveUp); some {
		return Warning{Status: GivenUp, To: d.Name, Channel: d.Channel, Done: d.UpdatedAt, Problem: d.Problem, Said: d.Error}
	}
	if looked {
		return Warning{Status: NoRecipient}
	}
	return Warning{Status: Queued}
}
