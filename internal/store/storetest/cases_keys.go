package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func endpointKey(id string, at int) endpointkey.Key {
	return endpointkey.Key{ID: id, Workload: "w-1", Name: "name-of-" + id, SecretHash: "hash-of-" + id,
		FormerHash: "former", FormerUntil: later(at + 1),
		Limits:    endpointkey.Limits{RequestsPerMinute: 1, TokensPerMinute: 2, Concurrency: 3},
		CreatedBy: "p-ada", CreatorName: "Ada Lovelace", CreatedAt: later(at), RotatedAt: later(at + 2),
		ExpiresAt: later(at + 3), LastUsedAt: later(at + 4)}
}

func withEndpoint(t *testing.T, s *store.Store) context.Context {
	ctx := context.Background()
	must(t, decide(s, func(tx request.Tx) error { return tx.SaveWorkload(ctx, Workload("w-1")) }))
	return ctx
}

var keyCases = cases{
	"a key is kept, listed newest first, rotated and revoked once": func(t *testing.T, s *store.Store) {
		ctx := withEndpoint(t, s)
		one, two := endpointKey("k-1", 0), endpointKey("k-2", 5)
		whole := one
		whole.RevokedAt, whole.Also = later(9), []workload.ID{"w-2"}
		filled(t, whole)
		made := audit.Event{At: later(0), Kind: audit.KeyCreated, Tenant: "vision"}
		before := got(s.LastChange(ctx))(t)
		must(t, s.CreateEndpointKey(ctx, one, 2, made))
		equal(t, []live.Change{{Seq: before + 1, Topic: live.TopicWorkload, ID: "w-1", Tenant: "vision"}},
			got(s.ChangesAfter(ctx, before, 10))(t))
		must(t, s.CreateEndpointKey(ctx, two, 2, made))
		fails(t, fault.Conflict, s.CreateEndpointKey(ctx, endpointKey("k-3", 0), 2, made))
		equal(t, one, got(s.EndpointKey(ctx, "k-1"))(t))
		equal(t, []endpointkey.Key{two, one}, got(s.EndpointKeys(ctx, "w-1"))(t))
		equal(t, 0, len(got(s.EndpointKeys(ctx, "w-2"))(t)))

		one.SecretHash, one.FormerHash, one.FormerUntil = "next", one.SecretHash, later(50)
		one.RotatedAt, one.ExpiresAt = later(40), later(60)
		must(t, s.RotateEndpointKey(ctx, one, made))
		equal(t, one, got(s.EndpointKey(ctx, "k-1"))(t))
		fails(t, fault.NotFound, s.RotateEndpointKey(ctx, one, made)) // another was faster

		one.RevokedAt = later(70)
		foreign := one
		foreign.Workload = "w-2"
		fails(t, fault.NotFound, s.RevokeEndpointKey(ctx, foreign, made))
		must(t, s.RevokeEndpointKey(ctx, one, made))
		fails(t, fault.NotFound, s.RevokeEndpointKey(ctx, one, made))
		fails(t, fault.NotFound, s.RotateEndpointKey(ctx, one, made))
		equal(t, one, got(s.EndpointKey(ctx, "k-1"))(t))
		equal(t, []endpointkey.Key{two}, got(s.EndpointKeys(ctx, "w-1"))(t))
		must(t, s.CreateEndpointKey(ctx, endpointKey("k-3", 0), 2, made))
		events, _, err := s.Events(ctx, audit.Filter{})
		must(t, err)
		equal(t, 5, len(events))
	},
	"the limits of the keys of an endpoint, each value once": func(t *testing.T, s *store.Store) {
		ctx := withEndpoint(t, s)
		made := audit.Event{At: later(0), Kind: audit.KeyCreated, Tenant: "vision"}
		equal(t, endpointkey.LimitValues{Requests: []int{}, Tokens: []int{}}, got(s.KeyLimits(ctx, "w-1"))(t))
		for i, l := range []endpointkey.Limits{{RequestsPerMinute: 600}, {RequestsPerMinute: 60, TokensPerMinute: 9},
			{RequestsPerMinute: 60, Concurrency: 2}, {TokensPerMinute: 7}, {}} {
			k := endpointKey(fmt.Sprint("k-", i), 0)
			k.Limits = l
			must(t, s.CreateEndpointKey(ctx, k, 9, made))
		}
		equal(t, endpointkey.LimitValues{Requests: []int{60, 600}, Tokens: []int{7, 9}}, got(s.KeyLimits(ctx, "w-1"))(t))
		k := got(s.EndpointKey(ctx, "k-0"))(t)
		k.RevokedAt = later(9)
		must(t, s.RevokeEndpointKey(ctx, k, made))
		equal(t, endpointkey.LimitValues{Requests: []int{60}, Tokens: []int{7, 9}}, got(s.KeyLimits(ctx, "w-1"))(t))
	},
	"a key opens further endpoints until one is detached": func(t *testing.T, s *store.Store) {
		ctx := withEndpoint(t, s)
		for _, id := range []workload.ID{"w-2", "w-3"} {
			must(t, decide(s, func(tx request.Tx) error { return tx.SaveWorkload(ctx, Workload(string(id))) }))
		}
		made := audit.Event{At: later(0), Kind: audit.KeyCreated, Tenant: "vision"}
		k := endpointKey("k-1", 0)
		k.Also = []workload.ID{"w-2", "w-3"}
		before := got(s.LastChange(ctx))(t)
		must(t, s.CreateEndpointKey(ctx, k, 2, made))
		changed := got(s.ChangesAfter(ctx, before, 10))(t)
		equal(t, 3, len(changed)) // the open pages of all three
		equal(t, k, got(s.EndpointKey(ctx, "k-1"))(t))
		for _, id := range k.Endpoints() {
			equal(t, []endpointkey.Key{k}, got(s.EndpointKeys(ctx, id))(t))
			equal(t, endpointkey.LimitValues{Requests: []int{k.Limits.RequestsPerMinute},
				Tokens: []int{k.Limits.TokensPerMinute}}, got(s.KeyLimits(ctx, id))(t))
		}
		hour := later(0).Truncate(time.Hour)
		for i, id := range k.Endpoints() { // each counts its own
			must(t, s.AddKeyTraffic(ctx, []endpointkey.Traffic{{Key: "k-1", Workload: id, Hour: hour, Requests: i + 1,
				LastAt: later(1)}}))
		}
		for i, id := range k.Endpoints() {
			equal(t, i+1, got(s.KeyTraffic(ctx, id, hour))(t)[0].Requests)
		}
		must(t, s.DetachEndpointKey(ctx, k, "w-2", made))
		fails(t, fault.NotFound, s.DetachEndpointKey(ctx, k, "w-2", made))
		fails(t, fault.NotFound, s.DetachEndpointKey(ctx, k, "w-1", made)) // where it was made it is revoked
		k.Also = []workload.ID{"w-3"}
		k.LastUsedAt = later(4)
		equal(t, k.Also, got(s.EndpointKey(ctx, "k-1"))(t).Also)
		equal(t, 0, len(got(s.EndpointKeys(ctx, "w-2"))(t)))
		k.RevokedAt = later(9)
		must(t, s.RevokeEndpointKey(ctx, k, made))
		equal(t, 0, len(got(s.EndpointKeys(ctx, "w-3"))(t)))
		must(t, s.PurgeOld(ctx, later(0).Add(401*24*time.Hour)))
		_, err := s.EndpointKey(ctx, "k-1")
		fails(t, fault.NotFound, err)
		unknown := endpointKey("k-2", 0)
		unknown.Also = []workload.ID{"w-9"}
		fails(t, fault.Conflict, s.CreateEndpointKey(ctx, unknown, 2, made))
	},
	"the minute of a key adds up when many change it": func(t *testing.T, s *store.Store) {
		ctx := withEndpoint(t, s)
		must(t, s.CreateEndpointKey(ctx, endpointKey("k-1", 0), 2, Event(0)))
		var each errgroup.Group
		for range 8 {
			each.Go(func() error {
				for range 10 {
					err := s.EndpointKeyWindow(ctx, "k-1", func(w *endpointkey.Window) {
						w.Count(endpointkey.Ask{Tokens: 5, Requests: 2}, endpointkey.Limits{RequestsPerMinute: 100}, later(1))
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		must(t, each.Wait())
		must(t, s.EndpointKeyWindow(ctx, "k-1", func(w *endpointkey.Window) {
			equal(t, endpointkey.Window{From: later(1), Requests: 100, Tokens: 400}, *w)
		}))
		fails(t, fault.Conflict, s.EndpointKeyWindow(ctx, "k-9", func(*endpointkey.Window) {}))
	},
	"nobody makes a key of a workload that does not exist": func(t *testing.T, s *store.Store) {
		fails(t, fault.Conflict, s.CreateEndpointKey(context.Background(), endpointKey("k-1", 0), 2, Event(0)))
	},
	"what is taken with keys is summed by key and hour": func(t *testing.T, s *store.Store) {
		ctx := withEndpoint(t, s)
		for i := range 2 {
			k := endpointKey(fmt.Sprintf("k-%d", i+1), 0)
			k.LastUsedAt = time.Time{}
			must(t, s.CreateEndpointKey(ctx, k, 9, Event(0)))
		}
		hour := later(0).Truncate(time.Hour)
		taken := func(key string, hours, n int) endpointkey.Traffic {
			return endpointkey.Traffic{Key: key, Workload: "w-1", Hour: hour.Add(time.Duration(hours) * time.Hour), Requests: n,
				Refused: 2 * n, WithoutUsage: 3 * n, Usage: endpointkey.Usage{Prompt: 4 * n, Completion: 5 * n}, LastAt: later(n)}
		}
		must(t, s.AddKeyTraffic(ctx, []endpointkey.Traffic{taken("k-1", 0, 1), taken("k-2", 0, 50), taken("k-9", 0, 1)}))
		must(t, s.AddKeyTraffic(ctx, []endpointkey.Traffic{taken("k-1", 0, 30), taken("k-1", 1, 20)}))
		sum := func(key string, n, last int, revoked bool) endpointkey.Traffic {
			sum := taken(key, 0, n)
			sum.Hour, sum.Name, sum.LastAt, sum.Revoked = time.Time{}, "name-of-"+key, later(last), revoked
			return sum
		}
		equal(t, []endpointkey.Traffic{sum("k-1", 51, 30, false), sum("k-2", 50, 50, false)},
			got(s.KeyTraffic(ctx, "w-1", hour))(t))
		equal(t, later(30), got(s.EndpointKey(ctx, "k-1"))(t).LastUsedAt)
		k := endpointKey("k-1", 0)
		k.RevokedAt = later(60)
		must(t, s.RevokeEndpointKey(ctx, k, Event(1)))
		equal(t, []endpointkey.Traffic{sum("k-1", 20, 30, true)}, got(s.KeyTraffic(ctx, "w-1", hour.Add(time.Minute)))(t))
		equal(t, 0, len(got(s.KeyTraffic(ctx, "w-2", hour))(t)))

		year := later(0).Add(401 * 24 * time.Hour)
		must(t, s.PurgeOld(ctx, year))
		equal(t, 0, len(got(s.KeyTraffic(ctx, "w-1", hour))(t)))
		_, err := s.EndpointKey(ctx, "k-1")
		fails(t, fault.NotFound, err)
	},
}
