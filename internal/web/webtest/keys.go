package webtest

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Keyed is a world whose model endpoint has a key in each state.
func Keyed(s Scope) *World {
	w := Busy(s)
	const day = 24 * time.Hour
	for _, k := range []endpointkey.Key{
		{ID: "aaaaaaaa", Name: "demo on Friday", ExpiresAt: Now.Add(-day)},
		{ID: "bbbbbbbb", Name: "support bot", ExpiresAt: Now.Add(3 * day)},
		{ID: "cccccccc", Name: "search index", ExpiresAt: Now.Add(80 * day), FormerHash: "before", RotatedAt: Now.Add(-day),
			FormerUntil: Now.Add(6 * day)},
		{ID: "dddddddd", Name: "laptop that was lost", ExpiresAt: Now.Add(40 * day)},
		{ID: "eeeeeeee", Name: "nightly summaries", ExpiresAt: Now.Add(60 * day), Limits: endpointkey.Limits{
			RequestsPerMinute: 600, TokensPerMinute: 200_000, Concurrency: 8}},
	} {
		k.Workload, k.SecretHash, k.CreatedBy, k.CreatorName = "w-llm-chat", "of "+k.ID, Anna.ID, Anna.Name
		k.CreatedAt = Now.Add(-30*day + time.Duration(k.ID[0])*time.Minute)
		made := audit.By(w.Actor(Anna), audit.KeyCreated, k.CreatedAt)
		made.Tenant, made.Workload = "vision", string(k.Workload)
		check(w.CreateEndpointKey(bg, k, endpointkey.Most, made))
		if k.ID == "bbbbbbbb" {
			continue
		}
		n := int(k.ID[0])
		check(w.AddKeyTraffic(bg, []endpointkey.Traffic{{Key: k.ID, Workload: k.Workload, Hour: Now.Add(-2 * day),
			Requests: 13 * n, Refused: max(0, n-'d'), Usage: endpointkey.Usage{Prompt: 17_000 * n, Completion: 900 * n},
			LastAt: Now.Add(-2 * day)}}))
	}
	check(w.KeyService.Revoke(bg, w.Actor(Anna), "w-llm-chat", "dddddddd"))
	return w
}

// Granted is a world with a notebook that several people may come into, two of whom were inside of late.
func Granted(s Scope) *World {
	w := Busy(s)
	for _, d := range []workload.GrantDraft{
		{To: workload.ToPerson, Person: string(Ben.ID), Permission: workload.MayUse, Until: Now.Add(7 * 24 * time.Hour)},
		{To: workload.ToGroup, Group: "gpu-vision-phd", Permission: workload.MayRead},
		{To: workload.ToLink, Permission: workload.MayUse, Until: Now.Add(24 * time.Hour)}} {
		_, _, _, err := w.WorkloadService.Grant(bg, w.Actor(Anna), "w-train-resnet", d)
		check(err)
	}
	check(w.SaveVisits(bg, []workload.Visit{{Workload: "w-train-resnet", Person: Anna.ID, At: Now.Add(-20 * time.Second)},
		{Workload: "w-train-resnet", Person: Ben.ID, At: Now.Add(-3 * time.Hour)}}))
	return w
}

// Reached is a world whose model endpoint programs outside the company network can call for a week.
func Reached(s Scope) *World {
	w := Busy(s)
	item := w.Work("w-llm-chat")
	item.Reach = workload.Reach{External: true, Since: Now.Add(-24 * time.Hour), Until: Now.Add(6 * 24 * time.Hour),
		By: Dora.Name}
	w.PutWork(item)
	return w
}

// Scaled is a world with a model endpoint of two replicas, of which one is not ready yet.
func Scaled(s Scope) *World {
	w := Busy(s)
	w.Add(w.Workload("ranker", Anna, "mig-1g.10gb").Endpoint().Running("gpu-02", time.Hour, 7*time.Hour).
		Between(1, 3, 2, 1))
	return w
}
