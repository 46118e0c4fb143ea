package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/store"
)

// Delivery is one with every field set.
func Delivery(id string, event int64) notify.Delivery {
	return notify.Delivery{ID: id, Event: event, Kind: notify.Decided, Recipient: "p-ada", Person: "p-ada", Name: "Ada",
		Address: "na-1", Channel: notify.Webhook,
		Notice: notify.Notice{Kind: notify.Decided, Language: "ko", Title: "제목", Body: "<b>", Link: "https://gpu.example.org",
			Open: "o", Footer: "f", Tenant: "vision", Request: "r-1", Workload: "w-1"},
		State: notify.Due, Attempts: 2, NextAt: later(5), Problem: i18n.T("notify.failed.status", "Code", "418"),
		Error: "none", CreatedAt: later(1), UpdatedAt: later(2)}
}

var notifyCases = cases{
	"deliveries are queued with the cursor, or not at all": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.Append(ctx, Event(1), Event(2)))
		equal(t, int64(0), got(s.NotifyCursor(ctx))(t))
		events := got(s.EventsAfter(ctx, 1, 10))(t)
		equal(t, int64(2), events[0].Seq)
		filled(t, Delivery("n-1", 1))
		equal(t, true, got(s.QueueDeliveries(ctx, 0, 2, []notify.Delivery{Delivery("n-1", 1)}))(t))
		equal(t, false, got(s.QueueDeliveries(ctx, 0, 2, []notify.Delivery{Delivery("n-2", 2)}))(t))
		list, next, err := s.Deliveries(ctx, "", "", 10)
		must(t, err)
		equal(t, []notify.Delivery{Delivery("n-1", 1)}, list)
		equal(t, "", next)
		twice := Delivery("n-3", 1) // the same event, recipient and channel
		if _, err := s.QueueDeliveries(ctx, 2, 3, []notify.Delivery{Delivery("n-4", 3), twice}); err == nil {
			t.Error("want one message for an event, recipient and channel")
		}
		equal(t, int64(2), got(s.NotifyCursor(ctx))(t))
		must(t, s.SaveDelivery(ctx, Delivery("n-5", 0)))
		must(t, s.SaveDelivery(ctx, Delivery("n-6", 0))) // tests are of no event
	},
	"of many who claim a delivery one gets it, and the latest attempt counts": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SaveDelivery(ctx, Delivery("n-1", 0)))
		equal(t, 0, len(got(s.DueDeliveries(ctx, later(4), 10))(t)))
		d := got(s.DueDeliveries(ctx, later(5), 10))(t)[0]
		var mine atomic.Int32
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if got(s.ClaimDelivery(ctx, d, later(100)))(t) {
					mine.Add(1)
				}
			})
		}
		group.Wait()
		equal(t, int32(1), mine.Load())
		equal(t, 0, len(got(s.DueDeliveries(ctx, later(99), 10))(t)))
		lost := got(s.DueDeliveries(ctx, later(100), 10))(t)[0] // whoever claimed it has gone
		equal(t, notify.Sending, lost.State)
		equal(t, true, got(s.ClaimDelivery(ctx, lost, later(200)))(t))
		late := d
		late.Attempts, late.State = 3, notify.GaveUp // the one who was away comes back
		must(t, s.MarkDelivery(ctx, late))
		done := lost
		done.Attempts, done.State, done.Error = 4, notify.Sent, ""
		must(t, s.MarkDelivery(ctx, done))
		list, _, err := s.Deliveries(ctx, notify.Sent, "", 10)
		must(t, err)
		equal(t, 1, len(list))
		equal(t, 4, list[0].Attempts)
		must(t, s.PurgeOld(ctx, later(0).Add(29*24*time.Hour)))
		list, _, err = s.Deliveries(ctx, "", "", 10)
		must(t, err)
		equal(t, 1, len(list))
		must(t, s.PurgeOld(ctx, later(0).Add(32*24*time.Hour)))
		list, _, err = s.Deliveries(ctx, "", "", 10)
		must(t, err)
		equal(t, 0, len(list))
	},
	"a failed message is made due once more, once, and that is on record": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		failed, sent, test := Delivery("n-1", 1), Delivery("n-2", 2), Delivery("n-3", 0)
		failed.State, sent.State, test.State = notify.GaveUp, notify.Sent, notify.GaveUp
		for _, d := range []notify.Delivery{failed, sent, test} {
			must(t, s.SaveDelivery(ctx, d))
		}
		must(t, s.RetryDelivery(ctx, "n-1", later(50), Event(1)))
		for _, id := range []string{"n-1", "n-2", "n-3", "n-4", "\x00"} {
			fails(t, fault.NotFound, s.RetryDelivery(ctx, id, later(50), Event(2)))
		}
		due := got(s.DueDeliveries(ctx, later(50), 10))(t)
		failed.State, failed.NextAt, failed.UpdatedAt = notify.Due, later(50), later(50)
		equal(t, []notify.Delivery{failed}, due)
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 1, len(events))
	},
	"deliveries of one event, the oldest first": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		first, second, other, test := Delivery("n-2", 7), Delivery("n-1", 7), Delivery("n-3", 8), Delivery("n-4", 0)
		second.Channel, second.CreatedAt = notify.Mail, later(3)
		for _, d := range []notify.Delivery{second, first, other, test} {
			must(t, s.SaveDelivery(ctx, d))
		}
		equal(t, []notify.Delivery{first, second}, got(s.DeliveriesOf(ctx, 7))(t))
		equal(t, 0, len(got(s.DeliveriesOf(ctx, 9))(t)))
		equal(t, 0, len(got(s.DeliveriesOf(ctx, 0))(t))) // tests are of no event
	},
	"deliveries are read in pages, newest first": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		for i := range 25 {
			d := Delivery(fmt.Sprintf("n-%02d", i), 0)
			d.CreatedAt = later(i / 3)
			must(t, s.SaveDelivery(ctx, d))
		}
		seen := map[string]bool{}
		for cursor := ""; ; {
			list, next, err := s.Deliveries(ctx, notify.Due, cursor, 7)
			must(t, err)
			for _, d := range list {
				seen[d.ID] = true
			}
			if cursor = next; next == "" {
				break
			}
		}
		equal(t, 25, len(seen))
		_, _, err := s.Deliveries(ctx, "", "nonsense", 7)
		fails(t, fault.Invalid, err)
	},
	"preferences and addresses come back, and each change of an address is on record": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SavePerson(ctx, Person("p-ada")))
		must(t, s.SavePerson(ctx, Person("p-eve")))
		must(t, s.Disable(ctx, "p-eve", "", audit.Event{At: later(0), Kind: audit.PersonDisabled}))
		everybody := got(s.Everybody(ctx))(t)
		equal(t, 1, len(everybody))
		equal(t, notify.Preferences{}, got(s.PreferencesOf(ctx, "p-ada"))(t))
		for _, language := range []string{"zh", "ko"} {
			preferences := notify.Preferences{Language: language,
				Channels: map[notify.Kind][]notify.Channel{notify.Lease: {notify.Mail, notify.Chat}}}
			must(t, s.SavePreferences(ctx, "p-ada", preferences))
			equal(t, preferences, got(s.PreferencesOf(ctx, "p-ada"))(t))
			equal(t, map[identity.PersonID]notify.Preferences{"p-ada": preferences}, got(s.Preferences(ctx))(t))
		}
		a := notify.Address{ID: "na-1", Channel: notify.Chat, Person: "p-ada", Tenant: "vision", Host: "chat.example.org",
			Sealed: "x", Kinds: []notify.Kind{notify.Lease}, CreatedAt: later(1)}
		filled(t, a)
		must(t, s.SaveAddress(ctx, a, Event(1)))
		a.Host = "other.example.org"
		must(t, s.SaveAddress(ctx, a, Event(2)))
		equal(t, []notify.Address{a}, got(s.Addresses(ctx))(t))
		must(t, s.DeleteAddress(ctx, "na-1", Event(3)))
		fails(t, fault.NotFound, s.DeleteAddress(ctx, "na-1", Event(4)))
		equal(t, 0, len(got(s.Addresses(ctx))(t)))
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 4, len(events))
	},
}
