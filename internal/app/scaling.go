package app

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/autoscale/scaler"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func (a *App) newScaler() *scaler.Scaler {
	return scaler.New(scaler.Options{Store: a.store, Workloads: a.workloads, Queue: a.queueOf, GPU: a.gpuOf,
		Fresh: a.controller.Fresh, Now: a.now, Logger: a.log})
}

// queueOf is how many requests wait in the servers of an endpoint; false where one that answers does not tell.
func (a *App) queueOf(ctx context.Context, w workload.Workload) (float64, bool) {
	p, ok := a.clusters.metrics[w.Cluster]
	if !ok || w.Image.Runtime == nil || w.Image.Runtime.Metrics.Queue == "" {
		return 0, false
	}
	pods := readyPods(w)
	sum, told, err := p.Gauge(ctx, w.Namespace, pods, w.Image.Runtime.Metrics.Queue)
	if err != nil {
		a.log.WarnContext(ctx, "cannot read how many requests wait", "workload", string(w.ID), "error", err.Error())
	}
	return sum, err == nil && told > 0 && told >= len(pods)
}

// gpuOf is how busy the GPUs of an endpoint are, the mean of each replica added up.
func (a *App) gpuOf(w workload.Workload) (sum float64, known bool) {
	p, ok := a.clusters.metrics[w.Cluster]
	pods := readyPods(w)
	if !ok || len(pods) == 0 {
		return 0, false
	}
	for _, pod := range pods {
		devices := p.Live(w.Namespace, pod).Devices
		if len(devices) == 0 {
			return 0, false
		}
		for _, d := range devices {
			if !d.Engine.Known() || a.now().Sub(d.Engine.At) > maxReadingAge {
				return 0, false
			}
			sum += d.Engine.Value / float64(len(devices))
		}
	}
	return sum, true
}

// maxReadingAge is how old a reading may be that an endpoint scales by.
const maxReadingAge = 2 * time.Minute

func readyPods(w workload.Workload) (names []string) {
	for _, r := range w.Observed.Pods {
		if r.Ready {
			names = append(names, r.Pod)
		}
	}
	return names
}

// reportLoads tells the leader, through the database, how much goes through this gateway.
func (a *App) reportLoads(ctx context.Context) error {
	for {
		if err := a.gateway.ReportLoads(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "cannot report the load of endpoints; none is scaled down meanwhile", "error", err.Error())
		}
		if err := a.gateway.ReportVisits(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "cannot write down who is inside workloads", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
			defer cancel()
			return a.gateway.EndReports(last)
		case <-time.After(autoscale.ReportEvery):
		}
	}
}

// countTraffic writes down what went through endpoints; what is left at the end is written when the last call is over.
func (a *App) countTraffic(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(traffic.FlushEvery):
		}
		if err := a.flushTraffic(ctx); err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "cannot write down what went through endpoints; kept for the next time", "error",
				err.Error())
		}
	}
}

func (a *App) flushTraffic(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, grace)
	defer stop()
	return a.counts.Flush(ctx)
}

// sampleEndpoints writes down how many replicas endpoints have, and how many requests wait in them.
func (a *App) sampleEndpoints(ctx context.Context) error {
	s := traffic.Sampler{Store: a.store, Queue: a.queueOf, Fresh: a.controller.Fresh, Now: a.now}
	return s.Run(ctx)
}
