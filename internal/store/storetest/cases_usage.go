package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// meter writes intervals through the front door: one after the other is opened and closed.
func meter(t *testing.T, s *store.Store, w workload.Workload, intervals []usage.Interval) {
	t.Helper()
	for _, i := range intervals {
		open := i
		open.Until, open.UnknownUntil = time.Time{}, time.Time{}
		must(t, s.SaveObserved(context.Background(), w, nil, &open))
		w.Version++
		if !i.Until.IsZero() {
			must(t, s.SaveObserved(context.Background(), w, nil, &i))
			w.Version++
		}
	}
}

// metered draws the meter of a workload: stretches of minutes, sometimes at another price, sometimes lost from sight;
// the last one may be open.
func metered(r *rand.Rand, w workload.Workload) []usage.Interval {
	var list []usage.Interval
	at := later(r.IntN(3600))
	for n := range 8 {
		i := usage.Interval{Workload: string(w.ID), Tenant: w.Tenant, Size: w.Size.Name,
			PerHour: usage.Money{Minor: int64(70 + r.IntN(2)), Currency: "EUR"}, Parts: []int64{0, 120, usage.Parts}[r.IntN(3)],
			From: at, Replicas: []int64{0, 2, 3}[r.IntN(3)]}
		at = at.Add(time.Duration(1+r.IntN(1e9)) * time.Microsecond)
		if n < 7 || r.IntN(2) == 0 {
			i.Until = at
		}
		at = at.Add(time.Duration(1+r.IntN(1e9)) * time.Microsecond)
		if !i.Until.IsZero() && r.IntN(3) == 0 {
			i.UnknownUntil = at
		}
		list = append(list, i)
	}
	return list
}

func uses(s usage.Statement) []usage.Use {
	list := make([]usage.Use, 0, len(s.Lines))
	for _, l := range s.Lines {
		list = append(list, l.Use)
	}
	return list
}

var usageCases = cases{
	"a statement is what the meter says, cut to any span": func(t *testing.T, s *store.Store) {
		r := rand.New(rand.NewPCG(5, 8))
		var all []usage.Interval
		for n := range 4 {
			w := Workload(fmt.Sprint("w-", n))
			list := metered(r, w)
			meter(t, s, w, list)
			all = append(all, list...)
		}
		for range 60 {
			from := later(r.IntN(20_000) - 2000)
			span := usage.Span{From: from, Until: from.Add(time.Duration(1+r.IntN(10_000)) * time.Second)}
			equal(t, usage.Uses(all, span), uses(got(s.Statement(context.Background(), usage.Filter{Span: span}))(t)))
		}
	},
	"a statement is the same whatever rollups there are, however late the meter changes": func(t *testing.T,
		s *store.Store) {
		ctx, r := context.Background(), rand.New(rand.NewPCG(13, 8))
		all := map[string][]usage.Interval{}
		borders := []time.Time{later(-3000), later(4000), later(9000), later(14_000)}
		check := func() {
			t.Helper()
			var list []usage.Interval
			for _, intervals := range all {
				list = append(list, intervals...)
			}
			for range 6 {
				from := borders[r.IntN(3)]
				span := usage.Span{From: from, Until: from.Add(time.Duration(1+r.IntN(8000)) * time.Second)}
				if r.IntN(2) == 0 {
					span.Until = borders[3]
				}
				equal(t, usage.Uses(list, span), uses(got(s.Statement(ctx, usage.Filter{Span: span}))(t)))
			}
		}
		for n := range 10 {
			w := Workload(fmt.Sprint("w-", n))
			if n%3 == 0 {
				w.State = workload.Ended
			}
			for _, i := range metered(r, w) {
				open := i
				open.Until, open.UnknownUntil = time.Time{}, time.Time{}
				must(t, s.SaveObserved(ctx, w, nil, &open))
				all[string(w.ID)] = append(all[string(w.ID)], open)
				w.Version++
				if r.IntN(2) == 0 { // the rollup includes what is open, which then turns out to have ended earlier
					k := r.IntN(3)
					span := usage.Span{From: borders[k], Until: borders[k+1]}
					span.Until = span.From.Add(time.Duration(1+r.Int64N(int64(span.Length()))).Truncate(time.Microsecond) +
						time.Microsecond)
					if r.IntN(2) == 0 {
						span.Until = borders[k+1]
					}
					must(t, s.SaveRollup(ctx, span))
					check()
				}
				if !i.Until.IsZero() {
					must(t, s.SaveObserved(ctx, w, nil, &i))
					all[string(w.ID)][len(all[string(w.ID)])-1] = i
					w.Version++
				}
			}
			check()
		}
		for k := range 3 {
			span := usage.Span{From: borders[k], Until: borders[k+1]}
			must(t, s.SaveRollup(ctx, span))
			must(t, s.SaveRollup(ctx, span))
		}
		check()
		equal(t, later(0).Before(got(s.Metered(ctx))(t)), true)
	},
	"rollups are written while the meter runs, and nothing is lost": func(t *testing.T, s *store.Store) {
		ctx, all := context.Background(), []usage.Interval{}
		var group errgroup.Group
		for n := range 8 {
			w, i := Workload(fmt.Sprint("w-", n)), *interval(10, 1000+n)
			i.Workload = string(w.ID)
			all = append(all, i)
			group.Go(func() error {
				open := i
				open.Until = time.Time{}
				if err := s.SaveObserved(ctx, w, nil, &open); err != nil {
					return err
				}
				w.Version++
				return s.SaveObserved(ctx, w, nil, &i)
			})
			group.Go(func() error { return s.SaveRollup(ctx, usage.Span{From: later(0), Until: later(500 + 200*n)}) })
		}
		must(t, group.Wait())
		span := usage.Span{From: later(0), Until: later(2000)}
		equal(t, usage.Uses(all, span), uses(got(s.Statement(ctx, usage.Filter{Span: span}))(t)))
	},
	"a statement knows whose it is and what was held": func(t *testing.T, s *store.Store) {
		ctx, w, i := context.Background(), Workload("w-1"), *interval(0, 3600)
		i.UnknownUntil = later(4000)
		meter(t, s, w, []usage.Interval{i})
		span := usage.Span{From: later(1800), Until: later(5000)}
		line := usage.Line{Use: usage.Use{Workload: "w-1", Tenant: "vision", Size: "mig-10gb", PerHour: i.PerHour,
			Before: 30 * time.Minute, Held: 30 * time.Minute, Unknown: 400 * time.Second},
			Name: "name-of-w-1", Owner: "p-ada", OwnerName: "Ada Lovelace", SizeTitle: "MIG slice 10 GB", Devices: 1,
			Cards: 1.0 / 7,
			Kind:  usage.Kind{Technology: "mig", Model: "H100 80GB", Profile: "1g.10gb", Known: true}}
		equal(t, usage.Statement{Span: span, Lines: []usage.Line{line}}, got(s.Statement(ctx, usage.Filter{Span: span}))(t))
		equal(t, 0, len(got(s.Statement(ctx, usage.Filter{Span: usage.Span{From: span.Until, Until: span.Until}}))(t).Lines))

		resized := got(s.Workload(ctx, "w-1"))(t)
		resized.Size = Size("whole")
		must(t, s.SaveObserved(ctx, resized, nil, nil))
		line.SizeTitle, line.Kind, line.Cards = "mig-10gb", usage.Kind{}, 0
		equal(t, []usage.Line{line}, got(s.Statement(ctx, usage.Filter{Span: span}))(t).Lines)
	},
	"storage is metered from when it is written down until it is gone, and anew when it grows": func(t *testing.T,
		s *store.Store) {
		ctx, before := context.Background(), time.Now().Add(-time.Hour).UTC()
		kept := func(f usage.Filter) []usage.StorageInterval {
			f.Span = usage.Span{From: before, Until: time.Now().Add(time.Hour)}
			return got(s.StorageIntervals(ctx, f))(t)
		}
		v := Volume("home")
		v.Version = 0
		saveVolume(t, s, v)
		v.Version++
		v.UnusedFrom = later(99) // changes nothing of what it costs
		saveVolume(t, s, v)
		v.Version++
		list := kept(usage.Filter{})
		equal(t, 1, len(list))
		first := list[0]
		equal(t, usage.StorageInterval{Volume: "home", Tenant: "vision", Owner: "p-ada", OwnerName: "Ada Lovelace", GiB: 10,
			From: first.From}, first)
		v.GiB = 25
		saveVolume(t, s, v)
		v.Version++
		v.Deleted = true
		saveVolume(t, s, v)
		list = kept(usage.Filter{})
		equal(t, 2, len(list))
		equal(t, list[0].Until, list[1].From)
		// it is deleted, and its claim is not gone yet
		equal(t, []any{int64(10), int64(25), true}, []any{list[0].GiB, list[1].GiB, list[1].Until.IsZero()})
		must(t, s.PurgeVolume(ctx, "home"))
		list = kept(usage.Filter{})
		equal(t, false, list[1].Until.IsZero())
		must(t, s.PurgeVolume(ctx, "home"))
		equal(t, list, kept(usage.Filter{}))
		v = Volume("home")
		v.Version, v.Owner, v.Tenant = 0, "p-bob", "speech"
		saveVolume(t, s, v)
		equal(t, 3, len(kept(usage.Filter{})))
		equal(t, 1, len(kept(usage.Filter{Owner: "p-bob"})))
		equal(t, 2, len(kept(usage.Filter{Tenants: []string{"vision"}})))
		equal(t, 0, len(kept(usage.Filter{Tenants: []string{}})))
		equal(t, 0, len(got(s.StorageIntervals(ctx,
			usage.Filter{Span: usage.Span{From: before.Add(-time.Hour), Until: before}}))(t)))
	},
	"the stretches of a span are those of its statement": func(t *testing.T, s *store.Store) {
		r := rand.New(rand.NewPCG(21, 8))
		for n := range 4 {
			w := Workload(fmt.Sprint("w-", n))
			meter(t, s, w, metered(r, w))
		}
		everything := usage.Span{From: later(-1_000_000), Until: later(1_000_000)}
		all := got(s.MeteredIntervals(context.Background(), usage.Filter{Span: everything}))(t)
		for range 40 {
			from := later(r.IntN(20_000) - 2000)
			span := usage.Span{From: from, Until: from.Add(time.Duration(1+r.IntN(10_000)) * time.Second)}
			want := slices.DeleteFunc(slices.Clone(all), func(i usage.Interval) bool {
				return !i.From.Before(span.Until) || !i.Until.IsZero() && !i.Until.After(span.From)
			})
			equal(t, intervalKeys(want), intervalKeys(got(s.MeteredIntervals(context.Background(),
				usage.Filter{Span: span}))(t)))
		}
	},
	"a statement is of some teams, or of one person": func(t *testing.T, s *store.Store) {
		for n, tenant := range []string{"vision", "vision", "speech"} {
			w := Workload(fmt.Sprint("w-", n))
			w.Tenant, w.Owner = tenant, identity.PersonID(fmt.Sprint("p-", n))
			i := *interval(0, 60)
			i.Workload, i.Tenant = string(w.ID), tenant
			meter(t, s, w, []usage.Interval{i})
		}
		span := usage.Span{From: later(0), Until: later(60)}
		for want, f := range map[string]usage.Filter{
			"[w-0 w-1 w-2]": {}, "[w-0 w-1]": {Tenants: []string{"vision"}}, "[w-2]": {Owner: "p-2"},
			"[]": {Tenants: []string{}}, "[w-1]": {Owner: "p-1", Tenants: []string{"vision", "speech"}},
		} {
			f.Span = span
			ids := []string{}
			for _, u := range uses(got(s.Statement(context.Background(), f))(t)) {
				ids = append(ids, u.Workload)
			}
			slices.Sort(ids)
			equal(t, want, fmt.Sprint(ids))
			stretches := []string{}
			for _, i := range got(s.MeteredIntervals(context.Background(), f))(t) {
				stretches = append(stretches, i.Workload)
			}
			slices.Sort(stretches)
			equal(t, want, fmt.Sprint(stretches))
		}
	},
}

// intervalKeys are stretches of the meter in an order of their own.
func intervalKeys(list []usage.Interval) []string {
	keys := make([]string, len(list))
	for n, i := range list {
		keys[n] = fmt.Sprint(i.Workload, i.From.UnixMicro(), i.Until, i.PerHour)
	}
	slices.Sort(keys)
	return keys
}
