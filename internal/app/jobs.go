package app

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/identity/accounts"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// applyEvery is how late an approver's answer takes effect at most that was given to another replica than the leader.
const applyEvery = 5 * time.Second

// followEvery is how late a stop or a start by the clock is at most.
const followEvery = 15 * time.Second

// jobs is what the leader does on a clock. What it does on a change of a workload or a cluster is the controller's.
func (a *App) jobs() []jobs.Job {
	list := []jobs.Job{
		{Name: "requests-expire", Every: time.Minute, TrustedClock: true, Run: a.requests.Approvals.ExpireDue},
		{Name: "decisions-apply", Every: applyEvery, AtStart: true, WhileHeld: true, Soon: a.requests.Approvals.Due(),
			Run: a.requests.Approvals.ApplyDue},
		{Name: "license-seats-assign", Every: time.Minute, Run: a.requests.Seats.Assign},
		{Name: "schedules-follow", Every: followEvery, AtStart: true, TrustedClock: true, Run: a.workloads.FollowSchedules},
		{Name: "leases-extend", Every: time.Minute, Run: a.workloads.ExtendDue},
		{Name: "storage-reclaim", Every: time.Minute, TrustedClock: true, Run: a.reclaimStorage},
		{Name: "budgets-settle", Every: time.Minute, Run: a.budgets.Settle},
		{Name: "idle-judge", Every: a.idle.Every(), TrustedClock: true, Run: a.judgeIdle},
		{Name: "endpoints-scale", Every: autoscale.ReportEvery, TrustedClock: true, Run: a.scaler.Run,
			Stopped: a.scaler.Forget},
		{Name: "endpoints-sample", Every: traffic.SampleEvery, TrustedClock: true, AtStart: true, Run: a.sampleEndpoints},
		{Name: "licenses-poll", Every: a.licensesEvery(), AtStart: true,
			WhileHeld: true, Soon: a.licenses.PollTrigger(), Run: a.askLicenses},
		{Name: "utilization-record", Every: a.recorder.Every(), AtStart: true, WhileHeld: true,
			Run: a.recorder.Record},
		{Name: "usage-rollup", Every: 10 * time.Minute, AtStart: true, WhileHeld: true, Run: a.rollUp},
		// only after a while, so that what happened while no portal ran is metered first
		{Name: "statements-send", Every: 10 * time.Minute, Run: a.monthly.Send},
		{Name: "token-expiry-announce", Every: 10 * time.Minute, TrustedClock: true, WhileHeld: true,
			Run: a.announceTokens},
		{Name: "secrets-reseal", Every: 10 * time.Minute, AtStart: true, WhileHeld: true, Run: a.secretService.Reseal},
		{Name: "retention-purge", Every: 10 * time.Minute, TrustedClock: true, WhileHeld: true, Run: a.purge},
	}
	for cluster, reader := range a.agents {
		list = append(list, jobs.Job{Name: "agents-poll/" + cluster, Every: askAgentsEvery, AtStart: true,
			WhileHeld: true, Run: reader.Round, Stopped: reader.Forget})
	}
	return list
}

func (a *App) newRunner() *jobs.Runner {
	return jobs.New(jobs.Options{Jobs: a.jobs(), Store: a.store, Watchdog: a.watchdog, Trusted: a.clocks().Trusted,
		Held: a.held,
		Now:  a.now, Logger: a.log, Metrics: a.meters.registry})
}

// held reports whether the database may be older than a cluster: what is over by it may have been kept since.
func (a *App) held() bool { return a.controller.Held() || len(a.drift.Holds()) > 0 }

func (a *App) clocks() jobs.Clocks {
	return jobs.Clocks{Now: a.now, Database: a.store.Clock, Logger: a.log}
}

func (a *App) reclaimStorage(ctx context.Context) error {
	return a.workloads.EnforceRetention(ctx, a.controller.Fresh)
}

func (a *App) judgeIdle(ctx context.Context) error { return a.idle.Evaluate(ctx, a.controller.Fresh) }

func (a *App) askLicenses(ctx context.Context) error { return a.licenses.Poll(ctx, askLicensesFor) }

// rollUp keeps the sums of the meter, so that statements are quick.
func (a *App) rollUp(ctx context.Context) error {
	return usage.SaveRollups(ctx, a.store, zone(a.config), a.now())
}

// purge deletes what is over: sessions, codes, old outbox rows.
func (a *App) purge(ctx context.Context) error { return a.store.PurgeOld(ctx, a.now()) }

// announceTokens tells those whose API tokens expire soon, once for each token.
func (a *App) announceTokens(ctx context.Context) error {
	t := a.config.Tokens
	return accounts.AnnounceExpiring(ctx, a.store, t.Limits(), t.ExpiryNotice.Std(), a.now())
}
