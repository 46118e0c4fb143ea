package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Entitlement is one with every field set.
func Entitlement(id string) license.Entitlement {
	return license.Entitlement{ID: id, Pool: "rtx", Reference: "PO-" + id, Seats: 4, From: later(0), Until: later(3600),
		Origin: license.Manual, Author: "p-ada",
		AuthorName: "Ada Lovelace", At: later(1)}
}

// LicenseAnswer is one with every field set.
func LicenseAnswer(source string, tried int) license.Answer {
	return license.Answer{Source: source, At: later(1), LeasesKnown: true, TriedAt: later(tried),
		Failed: i18n.T("licenses.why_away"), Since: later(2),
		Features: []license.Feature{{Name: "vCS", Product: "NVAIE", Reference: "r", Total: 4, InUse: 2, From: later(0),
			Until: later(9)}},
		Leases: []license.Lease{{ID: "l", Feature: "vCS", Client: "vm-1", Count: 2, Until: later(9)}}}
}

// LicenseDevice is one with every field set.
func LicenseDevice(node, uuid string, state license.State, seen int) license.Device {
	return license.Device{Cluster: "west", Node: node, UUID: uuid, Index: "0", Model: "NVIDIA A40-12Q", State: state,
		Since: later(0), SeenAt: later(seen), Expires: later(99)}
}

func anything([]license.Entitlement) error { return nil }

var licenseCases = cases{
	"entitlements come back as they were entered, without bounds too, and can be taken out once": func(t *testing.T,
		s *store.Store) {
		ctx := context.Background()
		endless := license.Entitlement{ID: "e-2", Pool: "rtx", Seats: 1, Origin: license.Imported, At: later(2)}
		filled(t, Entitlement("e-1"))
		must(t, s.SaveEntitlements(ctx, []license.Entitlement{Entitlement("e-1"), endless}, anything, Event(1)))
		equal(t, []license.Entitlement{Entitlement("e-1"), endless}, got(s.Entitlements(ctx))(t))
		equal(t, []live.Change{{Seq: 1, Topic: live.TopicLicense}}, got(s.ChangesAfter(ctx, 0, 10))(t))
		must(t, s.DeleteEntitlement(ctx, "e-1", Event(2)))
		fails(t, fault.NotFound, s.DeleteEntitlement(ctx, "e-1"))
		fails(t, fault.NotFound, s.DeleteEntitlement(ctx, "\x00"))
		equal(t, []license.Entitlement{endless}, got(s.Entitlements(ctx))(t))
	},
	"who waits for seats stands in the order in which they came to the line, and leaves it with the decision": func(
		t *testing.T, s *store.Store) {
		ctx := context.Background()
		waits := func(id string, since int) request.Request {
			return request.Request{ID: request.ID(id), State: request.Pending, CreatedAt: later(0),
				Decision: request.Decision{Seat: &request.SeatWait{Pool: "rtx", Title: "RTX", Since: later(since)}}}
		}
		saveRequest(t, s, waits("r-1", 9), waits("r-3", 5), waits("r-2", 5),
			request.Request{ID: "r-4", State: request.Pending, CreatedAt: later(0)})
		equal(t, []request.Waiting{{ID: "r-2", Pool: "rtx"}, {ID: "r-3", Pool: "rtx"}, {ID: "r-1", Pool: "rtx"}},
			got(s.SeatLine(ctx))(t))
		list, _, err := s.Requests(ctx, request.Filter{Seat: true, Limit: 10})
		must(t, err)
		equal(t, "r-3 r-2 r-1", idsOf(list, func(r request.Request) string { return string(r.ID) }))
		first := got(s.Request(ctx, "r-2"))(t)
		equal(t, later(5), first.Decision.Seat.Since.UTC())
		first.State, first.Decision.Seat = request.Approved, nil
		saveRequest(t, s, first)
		equal(t, []request.Waiting{{ID: "r-3", Pool: "rtx"}, {ID: "r-1", Pool: "rtx"}}, got(s.SeatLine(ctx))(t))
		again := waits("r-5", 7)
		again.Kind, again.Workload = request.ResumeKind, "w-1"
		saveRequest(t, s, again)
		equal(t, request.Waiting{ID: "r-5", Pool: "rtx", Workload: "w-1"}, got(s.SeatLine(ctx))(t)[1])
	},
	"what was resumed counts as no start of the past": func(t *testing.T, s *store.Store) {
		again := request.Request{ID: "r-1", Kind: request.ResumeKind, Asker: "p-ada", State: request.Approved,
			CreatedAt: later(0)}
		saveRequest(t, s, again)
		equal(t, request.AskerHistory{}, got(s.AskerHistory(context.Background(), "p-ada", later(0)))(t))
	},
	"an entitlement that is saved again takes its own place": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		must(t, s.SaveEntitlements(ctx, []license.Entitlement{Entitlement("e-1"), Entitlement("e-2")}, anything))
		more := Entitlement("e-1")
		more.Seats++
		must(t, s.SaveEntitlements(ctx, []license.Entitlement{more}, anything))
		kept := got(s.Entitlements(ctx))(t)
		if i := slices.IndexFunc(kept, func(e license.Entitlement) bool { return e.ID == "e-1" }); len(kept) != 2 || i < 0 ||
			kept[i].Seats != more.Seats {
			t.Errorf("want two, one of them with a seat more, got %+v", kept)
		}
	},
	"of what was decided about a pool the newest counts": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		choice := license.PoolSetting{Pool: "rtx", OnExhaustion: license.QueueStarts, Author: "p-ada",
			AuthorName: "Ada Lovelace",
			At:         later(1)}
		must(t, s.SaveLicensePoolSetting(ctx, choice, Event(1)))
		equal(t, []license.PoolSetting{choice}, got(s.LicensePoolSettings(ctx))(t))
		choice.OnExhaustion, choice.At = license.RefuseStarts, later(2)
		must(t, s.SaveLicensePoolSetting(ctx, choice))
		equal(t, []license.PoolSetting{choice}, got(s.LicensePoolSettings(ctx))(t))
		if s.SaveLicensePoolSetting(ctx, license.PoolSetting{Pool: "rtx", OnExhaustion: "other"}) == nil {
			t.Error("a choice that there is not was kept")
		}
	},
	"a list of entitlements is kept as a whole or not at all": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		bad := Entitlement("e-2")
		bad.Seats = 0
		if s.SaveEntitlements(ctx, []license.Entitlement{Entitlement("e-1"), bad}, anything) == nil {
			t.Error("no seats at all were taken")
		}
		no := errors.New("no")
		if err := s.SaveEntitlements(ctx, []license.Entitlement{Entitlement("e-1")},
			func([]license.Entitlement) error { return no }); !errors.Is(err, no) {
			t.Errorf("want the check's own word, got %v", err)
		}
		equal(t, 0, len(got(s.Entitlements(ctx))(t)))
	},
	"of many who enter the same purchase one comes in": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		var group sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			group.Go(func() {
				e := Entitlement("e-" + string(rune('a'+i)))
				e.Reference = "PO-1"
				errs[i] = s.SaveEntitlements(ctx, []license.Entitlement{e}, func(there []license.Entitlement) error {
					return fault.InvalidFields(license.Check(e, there))
				})
			})
		}
		group.Wait()
		in := 0
		for _, err := range errs {
			if err == nil {
				in++
			} else {
				fails(t, fault.Invalid, err)
			}
		}
		equal(t, 1, in)
	},
	"a later word of a server stands, an earlier one does not": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		filled(t, LicenseAnswer("dls", 5))
		for _, tried := range []int{5, 9, 7} {
			must(t, s.SaveLicenseAnswer(ctx, LicenseAnswer("dls", tried)))
		}
		must(t, s.SaveLicenseAnswer(ctx, LicenseAnswer("cls", 1)))
		equal(t, []license.Answer{LicenseAnswer("cls", 1), LicenseAnswer("dls", 9)}, got(s.LicenseAnswers(ctx))(t))
	},
	"devices are followed, forgotten in time, and tell of a change": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		filled(t, LicenseDevice("vm-1", "a", license.Licensed, 1))
		must(t, s.SaveLicenseDevices(ctx, []license.Device{LicenseDevice("vm-1", "a", license.Licensed, 1),
			LicenseDevice("vm-0", "b", license.Unlicensed, 5)}, later(0), false))
		equal(t, 0, len(got(s.ChangesAfter(ctx, 0, 10))(t)))
		// overtaken
		must(t, s.SaveLicenseDevices(ctx, []license.Device{LicenseDevice("vm-0", "b", license.Licensed, 3)}, later(0), true))
		equal(t, 1, len(got(s.ChangesAfter(ctx, 0, 10))(t)))
		equal(t, []license.Device{LicenseDevice("vm-0", "b", license.Unlicensed, 5),
			LicenseDevice("vm-1", "a", license.Licensed, 1)}, got(s.LicenseDevices(ctx))(t))
		must(t, s.SaveLicenseDevices(ctx, nil, later(2), false, audit.Event{At: later(3), Kind: audit.LicenseLost,
			Detail: i18n.Literal("vm-0")}))
		told, _, err := s.Events(ctx, audit.Filter{Kinds: []audit.Kind{audit.LicenseLost}})
		must(t, err)
		equal(t, 1, len(told))
		equal(t, []license.Device{LicenseDevice("vm-0", "b", license.Unlicensed, 5)}, got(s.LicenseDevices(ctx))(t))
	},
	"checkouts are the workloads that hold seats, with their node": func(t *testing.T, s *store.Store) {
		waiting, none, over := named("w-2", "b", workload.Queued), named("w-3", "c", workload.Running),
			named("w-4", "d", workload.Stopped)
		waiting.Observed, waiting.CreatedAt, none.Size.LicensePool = workload.Observation{}, later(5), ""
		waiting.Owner, waiting.Size.Technology = "p-9", catalog.TimeSlicing
		waiting.Size.Accelerator.Profile = "A40-12Q"
		saveWorkload(t, s, named("w-1", "a", workload.Running), waiting, none, over)
		checkout := func(id, name, node string, at int) license.Checkout {
			l := license.Checkout{Pool: "rtx", Workload: id, Name: name, Tenant: "vision", Cluster: "west", Node: node, Seats: 2,
				Since: later(at), Owner: string(waiting.Owner), Device: license.SharedVGPU, VGPU: "A40-12Q"}
			if id == "w-1" {
				l.Owner, l.Device, l.VGPU = string(named(id, name, workload.Running).Owner), license.PartOfCard, ""
			}
			return l
		}
		equal(t, []license.Checkout{checkout("w-1", "a", "node-1", 0), checkout("w-2", "b", "", 5)},
			got(s.Checkouts(context.Background()))(t))
	},
	"spans are the metered past of seats, cut off where one asks from": func(t *testing.T, s *store.Store) {
		ctx, w, none := context.Background(), named("w-1", "a", workload.Running), named("w-2", "b", workload.Running)
		none.Size.LicensePool = ""
		open := func(w workload.Workload) *usage.Interval {
			return &usage.Interval{Workload: string(w.ID), Tenant: "vision", Size: w.Size.Name, PerHour: w.Size.PricePerHour,
				Seats: usage.Seats{Pool: "rtx", Count: 2, Group: "vm-1", Most: 1}, From: later(10)}
		}
		must(t, s.SaveObserved(ctx, w, nil, open(w)))
		must(t, s.SaveObserved(ctx, none, nil, open(none)))
		want := license.Span{Workload: "w-1", Name: "a", Tenant: "vision", Seats: 2, Group: "vm-1", Most: 1,
			From: later(10)}
		equal(t, map[string][]license.Span{"rtx": {want}}, got(s.Spans(ctx, later(0)))(t))
		want.From = later(20)
		equal(t, map[string][]license.Span{"rtx": {want}}, got(s.Spans(ctx, later(20)))(t))
		ended := *open(w)
		ended.Until, w.Version, want.Until = later(30), 1, later(30)
		must(t, s.SaveObserved(ctx, w, nil, &ended))
		equal(t, map[string][]license.Span{"rtx": {want}}, got(s.Spans(ctx, later(20)))(t))
		equal(t, map[string][]license.Span{}, got(s.Spans(ctx, later(30)))(t))
	},
}
