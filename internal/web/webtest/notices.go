package webtest

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Notices keeps what people chose to hear of, and what was sent.
type Notices struct {
	notify.Store // the part that composes and sends is not for pages
	Chosen       map[identity.PersonID]notify.Preferences
	Entered      []notify.Address
	Sent         []notify.Delivery
	Looked       int64 // number of the last event that was looked at
	world        *World
}

// PreferencesOf are one person's.
func (n *Notices) PreferencesOf(_ context.Context, p identity.PersonID) (notify.Preferences, error) {
	return n.Chosen[p], nil
}

// SavePreferences keeps them.
func (n *Notices) SavePreferences(_ context.Context, p identity.PersonID, requests notify.Preferences) error {
	n.Chosen[p] = requests
	return nil
}

// Addresses are all there are.
func (n *Notices) Addresses(context.Context) ([]notify.Address, error) { return n.Entered, nil }

// SaveAddress keeps one.
func (n *Notices) SaveAddress(ctx context.Context, a notify.Address, event audit.Event) error {
	n.Entered = append(slices.DeleteFunc(n.Entered, func(old notify.Address) bool { return old.ID == a.ID }), a)
	return n.world.Append(ctx, event)
}

// DeleteAddress takes one out.
func (n *Notices) DeleteAddress(ctx context.Context, id string, event audit.Event) error {
	n.Entered = slices.DeleteFunc(n.Entered, func(old notify.Address) bool { return old.ID == id })
	return n.world.Append(ctx, event)
}

// SaveDelivery keeps one.
func (n *Notices) SaveDelivery(_ context.Context, d notify.Delivery) error {
	n.Sent = append(n.Sent, d)
	return nil
}

// RetryDelivery makes a failed one due.
func (n *Notices) RetryDelivery(ctx context.Context, id string, _ time.Time, event audit.Event) error {
	i := slices.IndexFunc(n.Sent, func(d notify.Delivery) bool {
		return d.ID == id && d.State == notify.GaveUp &&
			d.Kind != notify.Test
	})
	if i < 0 {
		return fault.New(fault.NotFound, i18n.T("notify.not_failed"))
	}
	n.Sent[i].State = notify.Due
	return n.world.Append(ctx, event)
}

// Deliveries are those in a state, newest first.
func (n *Notices) Deliveries(_ context.Context, state notify.State, _ string,
	_ int) ([]notify.Delivery, string, error) {
	var list []notify.Delivery
	for _, d := range slices.Backward(n.Sent) {
		if state == "" || d.State == state {
			list = append(list, d)
		}
	}
	return list, "", nil
}

// DeliveriesOf are those of one event.
func (n *Notices) DeliveriesOf(_ context.Context, event int64) ([]notify.Delivery, error) {
	return slices.DeleteFunc(slices.Clone(n.Sent), func(d notify.Delivery) bool { return d.Event != event }), nil
}

// NotifyCursor is the number of the last event that was looked at.
func (n *Notices) NotifyCursor(context.Context) (int64, error) { return n.Looked, nil }

// Events reads the record.
func (n *Notices) Events(ctx context.Context, f audit.Filter) ([]audit.Event, string, error) {
	return n.world.Store.Events(ctx, f)
}

// Workload finds one.
func (n *Notices) Workload(ctx context.Context, id workload.ID) (workload.Workload, error) {
	return n.world.Store.Workload(ctx, id)
}

// Warned is a warning about a workload in the record, with the messages that followed from it.
func (w *World) Warned(id workload.ID, kind audit.Kind, at time.Time, sent ...notify.Delivery) {
	e := audit.By(identity.System(), kind, at)
	e.Workload = string(id)
	if err := w.Append(context.Background(), e); err != nil {
		panic(err)
	}
	w.Notices.Looked = int64(len(w.Record))
	for _, d := range sent {
		d.Event = w.Notices.Looked
		w.Notices.Sent = append(w.Notices.Sent, d)
	}
}

// newNotices is a site without a mail server.
func newNotices(w *World, now func() time.Time) (*Notices, *notify.Service) {
	words, err := notify.LoadWords(w.bundle)
	if err != nil {
		panic(err)
	}
	n := &Notices{Chosen: map[identity.PersonID]notify.Preferences{}, world: w}
	same := func(_, text string) (string, error) { return text, nil }
	return n, notify.New(notify.Options{Store: n, Actor: w.Site.Directory.Actor, Words: words,
		URL: "http://localhost:8080", Language: "en", Now: now, NewID: w.newID, Seal: same, Open: same})
}

// noticed is a world where somebody chose, a team hears too, and a message did not get through.
func noticed() *World {
	w := Busy()
	w.Notices.Chosen[Anna.ID] = notify.Preferences{Language: "ko",
		Channels: map[notify.Kind][]notify.Channel{notify.Ready: {notify.Mail, notify.Webhook}}}
	w.Notices.Entered = []notify.Address{{ID: "na-1", Channel: notify.Webhook, Person: Dora.ID, Host: "hooks.example.org",
		CreatedAt: Now},
		{ID: "na-2", Channel: notify.Chat, Person: Anna.ID, Tenant: "vision", Host: "mattermost: chat.example.org",
			Kinds: []notify.Kind{notify.Waiting, notify.Failed}, CreatedAt: Now}}
	w.Notices.Sent = []notify.Delivery{{ID: "n-1", Kind: notify.Decided, Name: Anna.Name, Channel: notify.Mail,
		State: notify.Sent, Attempts: 1, CreatedAt: Now.Add(-time.Hour)},
		{ID: "n-2", Kind: notify.Lease, Name: Anna.Name, Channel: notify.Webhook, State: notify.Due, Attempts: 2,
			Problem: i18n.T("notify.failed.status_ill", "Code", 503), CreatedAt: Now.Add(-2 * time.Minute)},
		{ID: "n-3", Kind: notify.Waiting, Name: Dora.Name, Channel: notify.Mail, State: notify.GaveUp, Attempts: 8,
			Problem: i18n.T("notify.failed.mailbox"), Error: "550 5.1.1 no such user here", CreatedAt: Now.Add(-time.Minute)}}
	return w
}
