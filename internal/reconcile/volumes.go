package reconcile

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// tidy deletes the storage that people have deleted and reconciles the claims and snapshots of the rest: on l.volumes,
// on its resync period, and again while some of it is still in use.
func (l *loop) tidy(ctx context.Context) {
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/storage", passWithin+jobs.Overrun)
	defer beat.End()
	for {
		if _, why := jobs.Await(ctx, beat, l.volumes, jitter(l.o.Every.Volumes)); why == jobs.Ended {
			return
		}
		if !l.acts() {
			continue
		}
		beat.Beat(ctx, passWithin+jobs.Overrun)
		if l.tidyOnce(ctx) {
			time.AfterFunc(jitter(l.o.Every.Volumes/12), l.volumes.fire)
		}
	}
}

// tidyOnce reports whether something is left to do.
func (l *loop) tidyOnce(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	left := l.removeVolumes(ctx)
	left = l.tendClaims(ctx) || left
	return l.tendSnapshots(ctx) || left
}

// removeVolumes reports whether something is left to do.
func (l *loop) removeVolumes(ctx context.Context) (more bool) {
	volumes, err := l.o.Store.DeletedVolumes(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.log.ErrorContext(ctx, "list deleted storage", "error", err)
		}
		return false
	}
	for _, v := range volumes {
		if v.Cluster != l.name || !l.gate.may(drift.Storage, v.Name) {
			continue
		}
		gone, err := l.removeVolume(ctx, v)
		if err == nil && gone {
			err = l.o.Store.PurgeVolume(ctx, v.Name)
		}
		if err != nil && ctx.Err() == nil {
			l.log.ErrorContext(ctx, "remove storage", "volume", v.Name, "error", err)
		}
		more = more || err != nil || !gone
	}
	return more
}

// removeVolume deletes a claim that is ours and that no pod uses, as it was seen a moment ago. It reports whether the
// claim is gone; a claim that is not ours stays, and ours is gone then.
func (l *loop) removeVolume(ctx context.Context, v workload.Volume) (gone bool, err error) {
	if n := l.caches().within(v.Namespace); n == nil {
		return l.namespaceAbsent(ctx, v.Tenant, v.Namespace)
	} else if err := n.state(); err != nil {
		return false, err
	}
	o := l.claimObject(v)
	c := kinds[rank(o.Kind)].clients(l.cluster.Client, v.Namespace)
	found, err := c.get(ctx, v.Name)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	e := existing(found)
	switch {
	case !o.mayTouch(e):
		l.log.WarnContext(ctx, "a claim of the name of deleted storage is not ours, it stays", "claim",
			o.Key.String())
		return true, nil
	case e.Deleting || l.used(v):
		return false, nil
	}
	if err := l.checkpoints.cover(ctx, v.Namespace); err != nil {
		return false, err
	}
	return false, l.writer.delete(ctx, c, Step{Verb: Delete, Object: o, UID: e.UID, Version: e.Version})
}

// used reports whether a pod mounts the claim, or a workload of ours is still about to. The API server keeps a mounted
// claim too; this only asks later.
func (l *loop) used(v workload.Volume) bool {
	keys, err := l.caches().pods.GetIndexer().IndexKeys(byClaim, v.Namespace+"/"+v.Name)
	return err != nil || len(keys) > 0
}
