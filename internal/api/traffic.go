package api

import (
	"context"
	"math"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

type trafficInput struct {
	ID    string `path:"id" maxLength:"64"`
	Range string `query:"range" enum:"1h,6h,24h,7d" default:"24h"`
	Hours int    `query:"hours" minimum:"0" maximum:"9000" doc:"Instead of a range: what was taken with keys in so many whole hours, without times and points. It is known for 400 days"`
}

// Traffic is what went through an endpoint.
type Traffic struct {
	Range string    `json:"range,omitempty"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`

	Total                *TrafficCounts `json:"total,omitempty"`
	Cost                 *Money         `json:"cost,omitempty" doc:"Of all replicas from since to until"`
	CostPerMillionTokens *Money         `json:"costPerMillionTokens,omitempty" doc:"Cost by tokens of prompts and completions; absent where there were none"`

	Items     []ConsumerTraffic `json:"items" doc:"By key or person, the busiest first"`
	More      bool              `json:"more,omitempty" doc:"There are further keys or persons"`
	Revisions []RevisionTraffic `json:"revisions,omitempty"`

	StepSeconds int            `json:"stepSeconds,omitempty" doc:"Between points"`
	Points      []TrafficPoint `json:"points,omitempty"`
}

// TrafficCounts are counted when calls end. Errors are among the requests.
type TrafficCounts struct {
	Requests         int64      `json:"requests"`
	ClientErrors     int64      `json:"clientErrors" doc:"4xx but 429"`
	ServerErrors     int64      `json:"serverErrors" doc:"5xx, and answers that broke off"`
	Refused          int64      `json:"refused" doc:"429: over a limit"`
	PromptTokens     int64      `json:"promptTokens"`
	CompletionTokens int64      `json:"completionTokens"`
	WithoutUsage     int64      `json:"withoutUsage" doc:"Requests whose answers reported no token usage, such as streams without stream_options.include_usage"`
	FirstToken       *Quantiles `json:"firstToken,omitempty" doc:"Seconds until an answer without error began; absent where none did"`
	Duration         *Quantiles `json:"duration,omitempty" doc:"Seconds until it ended"`
}

// Quantiles are of a histogram of five buckets for each power of ten.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// ConsumerTraffic is what was taken with one key, or by one person in the browser.
type ConsumerTraffic struct {
	Key     string `json:"key,omitempty" doc:"Absent for a person"`
	Person  string `json:"person,omitempty" doc:"Absent for a key"`
	Name    string `json:"name"`
	Revoked bool   `json:"revoked,omitempty"`
	TrafficCounts
}

// RevisionTraffic is what went through one revision.
type RevisionTraffic struct {
	Revision int `json:"revision"`
	TrafficCounts
}

// TrafficPoint is a stretch of time. What is not known is absent.
type TrafficPoint struct {
	At                time.Time  `json:"at" doc:"Its begin"`
	RequestsPerSecond float64    `json:"requestsPerSecond"`
	ErrorPercent      *float64   `json:"errorPercent,omitempty"`
	FirstToken        *Quantiles `json:"firstToken,omitempty"`
	TokensPerSecond   float64    `json:"tokensPerSecond"`
	ReplicasWanted    *float64   `json:"replicasWanted,omitempty" doc:"The mean, as the next"`
	ReplicasReady     *float64   `json:"replicasReady,omitempty"`
	Queue             *float64   `json:"queue,omitempty" doc:"Requests that waited in the servers, where the runtime tells"`
}

func (a *API) traffic(ctx context.Context, actor identity.Actor, in *trafficInput) (*output[Traffic], error) {
	if in.Hours > 0 {
		return a.trafficOfHours(ctx, actor, in)
	}
	f, err := a.deps.Traffic.Of(ctx, actor, workload.ID(in.ID), traffic.SpanOf(in.Range))
	if err != nil {
		return nil, err
	}
	total, cost := trafficCounts(&f.Total), money(f.Cost)
	view := Traffic{Range: f.Span.Name, Since: f.Since, Until: f.Until, Total: &total, Cost: &cost,
		Items: make([]ConsumerTraffic, len(f.Consumers)), More: f.More, StepSeconds: int(f.Span.Step / time.Second)}
	if per, ok := f.Total.PerMillion(f.Cost); ok {
		cost := money(per)
		view.CostPerMillionTokens = &cost
	}
	for i := range f.Consumers {
		c := &f.Consumers[i]
		view.Items[i] = ConsumerTraffic{Key: c.Key, Person: string(c.Person), Name: c.Name, Revoked: c.Revoked,
			TrafficCounts: trafficCounts(&c.Counts)}
	}
	for i := range f.Revisions {
		r := &f.Revisions[i]
		view.Revisions = append(view.Revisions, RevisionTraffic{Revision: r.Number, TrafficCounts: trafficCounts(&r.Counts)})
	}
	for _, p := range f.Points {
		view.Points = append(view.Points, TrafficPoint{At: p.At, RequestsPerSecond: thousandth(p.Requests.Is),
			ErrorPercent: optional(p.Errors), FirstToken: quantiles(p.FirstP50, p.FirstP95),
			TokensPerSecond: thousandth(p.Tokens.Is), ReplicasWanted: optional(p.Wanted), ReplicasReady: optional(p.Ready),
			Queue: optional(p.Queue)})
	}
	return reply(view, nil)
}

func (a *API) trafficOfHours(ctx context.Context, actor identity.Actor, in *trafficInput) (*output[Traffic], error) {
	now := a.deps.Now()
	since := now.Truncate(time.Hour).Add(-time.Duration(in.Hours-1) * time.Hour)
	taken, err := a.deps.Keys.Traffic(ctx, actor, workload.ID(in.ID), since)
	view := Traffic{Since: since, Until: now, Items: make([]ConsumerTraffic, len(taken))}
	for i, n := range taken {
		view.Items[i] = ConsumerTraffic{Key: n.Key, Name: n.Name, Revoked: n.Revoked, TrafficCounts: TrafficCounts{
			Requests: int64(n.Requests + n.Refused), Refused: int64(n.Refused), PromptTokens: int64(n.Usage.Prompt),
			CompletionTokens: int64(n.Usage.Completion), WithoutUsage: int64(n.WithoutUsage)}}
	}
	return reply(view, err)
}

func trafficCounts(c *traffic.Counts) TrafficCounts {
	return TrafficCounts{Requests: c.Requests, ClientErrors: c.ClientErrors, ServerErrors: c.ServerErrors,
		Refused: c.Refused, PromptTokens: c.Prompt, CompletionTokens: c.Completion, WithoutUsage: c.WithoutUsage,
		FirstToken: quantiles(c.First.Seconds(.5), c.First.Seconds(.95)),
		Duration:   quantiles(c.Took.Seconds(.5), c.Took.Seconds(.95))}
}

func quantiles(p50, p95 traffic.Value) *Quantiles {
	if !p50.Known {
		return nil
	}
	return &Quantiles{P50: thousandth(p50.Is), P95: thousandth(p95.Is)}
}

func optional(v traffic.Value) *float64 {
	if !v.Known {
		return nil
	}
	return new(thousandth(v.Is))
}

func thousandth(v float64) float64 { return math.Round(v*1000) / 1000 }
