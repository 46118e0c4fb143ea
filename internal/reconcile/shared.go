package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/explain"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Shared hears of volumes that a cluster does not expand.
type Shared interface {
	// NotExpanded takes the growth back; cause is the id of a sentence, words are the API server's.
	NotExpanded(ctx context.Context, v workload.Volume, claimGiB int, cause, words string) error
}

const claimKind = "PersistentVolumeClaim"

// tendClaims makes the claims of personal volumes, has those grow that shall be larger, and writes down what the
// cluster says of each. It reports whether something is left to do. It can be interrupted anywhere and called again: it
// compares rows with claims each time.
func (l *loop) tendClaims(ctx context.Context) (more bool) {
	volumes, err := l.o.Store.Volumes(ctx, workload.VolumeFilter{Cluster: l.name})
	if err != nil {
		if ctx.Err() == nil {
			l.log.ErrorContext(ctx, "list storage", "error", err)
		}
		return false
	}
	known, err := l.o.Store.Claims(ctx, namesOf(volumes)...)
	if err != nil {
		if ctx.Err() == nil {
			l.log.ErrorContext(ctx, "read what is known of storage", "error", err)
		}
		return false
	}
	for _, v := range volumes {
		if !l.gate.may(drift.Storage, v.Name) {
			continue
		}
		err := l.tend(ctx, v, known[v.Name])
		if err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "look after storage", "volume", v.Name, "error", err)
		}
		more = more || err != nil
	}
	return more
}

func namesOf(volumes []workload.Volume) []string {
	names := make([]string, len(volumes))
	for i, v := range volumes {
		names[i] = v.Name
	}
	return names
}

func (l *loop) tend(ctx context.Context, v workload.Volume, was workload.ClaimState) error {
	if n := l.caches().within(v.Namespace); n != nil && n.state() != nil {
		return nil // what is not seen is not told
	}
	claim := l.claimSeen(v)
	switch {
	case claim == nil && v.IsPersonal():
		if err := l.makeVolume(ctx, v); err != nil {
			return err
		}
	case claim != nil && claim.Status.Phase == corev1.ClaimBound && requested(claim) < wantedBytes(v):
		if err := l.expandVolume(ctx, v); err != nil {
			return err
		}
	}
	now := l.claimState(v, claim)
	if l.toldAlready(v, was, now) {
		return nil
	}
	return l.o.Store.SaveClaim(ctx, v.Name, now)
}

// toldAlready reports whether what is written down says it. Where nothing is to be expected of somebody's own volume it
// is not confirmed, and of a home, which most of all volumes are, it is not even written down.
func (l *loop) toldAlready(v workload.Volume, was, now workload.ClaimState) bool {
	switch {
	case !v.OfTeam() && now.Quiet(v.GiB) && was.At.IsZero():
		return !v.IsPersonal()
	case !v.OfTeam() && now.Quiet(v.GiB):
		return now.Same(was)
	}
	return now.Same(was) && now.At.Sub(was.At) < l.o.Every.Confirm
}

// makeVolume makes the claim of a personal volume where its team has its namespace already; else the first workload
// does. The row is read once more: a leader that was asleep makes nothing that was deleted meanwhile.
func (l *loop) makeVolume(ctx context.Context, v workload.Volume) error {
	if l.caches().within(v.Namespace) == nil {
		absent, err := l.namespaceAbsent(ctx, v.Tenant, v.Namespace)
		if err != nil || absent {
			return err
		}
		return nil // it is looked at when the caches have the namespace
	}
	fresh, err := l.o.Store.Volume(ctx, v.Name)
	if fault.Is(err, fault.NotFound) || err == nil && fresh.Deleted {
		return nil
	}
	if err != nil {
		return err
	}
	objects, err := newObjects([]kube.Object{kube.PersonalClaim(l.o.KubeSite(l.name), v.Tenant, v.Namespace, v.Owner,
		fresh.Mounted())})
	if err != nil {
		return err
	}
	steps := Diff(DesiredObjects{Objects: objects}, l.existing(objects))
	if err := l.checkpoints.cover(ctx, v.Namespace); err != nil {
		return err
	}
	_, err = l.writer.apply(ctx, steps)
	return err
}

// claimSeen is the claim of a volume as the caches have it; nil for none, and for one that is not ours.
func (l *loop) claimSeen(v workload.Volume) *corev1.PersistentVolumeClaim {
	obj, ok := l.caches().cached(Key{Kind: claimKind, Namespace: v.Namespace, Name: v.Name})
	if !ok || !l.claimObject(v).mayTouch(existing(obj)) {
		return nil
	}
	return obj.(*corev1.PersistentVolumeClaim)
}

func (l *loop) claimObject(v workload.Volume) Object {
	return Object{Key: Key{Kind: claimKind, Namespace: v.Namespace, Name: v.Name},
		Owner: kube.Owner{Instance: l.o.KubeSite(l.name).Instance, Tenant: v.Tenant, Volume: v.Name}}
}

func wantedBytes(v workload.Volume) int64 { return int64(v.GiB) << 30 }

func requested(c *corev1.PersistentVolumeClaim) int64 {
	q := c.Spec.Resources.Requests[corev1.ResourceStorage]
	return q.Value()
}

// claimState is what the caches show. A claim that is being deleted by somebody else is told as such by its reason.
func (l *loop) claimState(v workload.Volume, claim *corev1.PersistentVolumeClaim) workload.ClaimState {
	s := workload.ClaimState{At: l.o.Now()}
	if claim == nil {
		return s
	}
	has := claim.Status.Capacity[corev1.ResourceStorage]
	s.Phase, s.Asked, s.Has = workload.Phase(claim.Status.Phase), requested(claim), has.Value()
	if s.Phase == workload.NoClaim {
		s.Phase = workload.ClaimPending
	}
	e := explain.Claim(claim, l.eventsAbout(v.Namespace, string(claim.UID)), wantedBytes(v))
	s.Reason, s.Detail = e.Reason, e.Detail
	return s
}

// expandVolume makes a claim ask for more. It looks at the claim itself first and names what it saw, so that a leader
// that was asleep undoes nothing; what asks for as much already is left alone, for claims never shrink.
func (l *loop) expandVolume(ctx context.Context, v workload.Volume) error {
	o := l.claimObject(v)
	c := kinds[rank(claimKind)].clients(l.cluster.Client, v.Namespace)
	found, err := c.get(ctx, v.Name)
	if err != nil {
		return missing(err)
	}
	claim, ok := found.(*corev1.PersistentVolumeClaim)
	if !ok || !o.mayTouch(existing(found)) || claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound ||
		requested(claim) >= wantedBytes(v) {
		return nil
	}
	if err := l.checkpoints.cover(ctx, v.Namespace); err != nil {
		return err
	}
	body, err := growth(claim, wantedBytes(v))
	if err != nil {
		return err
	}
	_, err = c.patch(ctx, v.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: FieldManager})
	if err == nil {
		l.writer.wrote(Update, claimKind)
		return nil
	}
	if words, final := refusedForGood(err); final && l.o.Shared != nil {
		l.log.WarnContext(ctx, "the cluster does not let storage grow", "volume", v.Name, "error", err)
		return l.o.Shared.NotExpanded(ctx, v, int(requested(claim)>>30), explain.ExpansionRefused(words), words)
	}
	return err
}

// growth is the patch. The uid and the version in it make the API server refuse when the claim has changed since.
func growth(claim *corev1.PersistentVolumeClaim, bytes int64) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": claim.UID, "resourceVersion": claim.ResourceVersion},
		"spec": map[string]any{"resources": map[string]any{
			"requests": map[string]any{"storage": resource.NewQuantity(bytes, resource.BinarySI)}}}})
}

// later are refusals that another try may not meet again: somebody was faster, signing in, too much at once, a quota
// whose use is still being counted.
var later = []int32{http.StatusConflict, http.StatusNotFound, http.StatusUnauthorized, http.StatusTooManyRequests,
	http.StatusRequestTimeout}

// refusedForGood gives the API server's words where trying again would not help.
func refusedForGood(err error) (words string, final bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", false
	}
	s := status.Status()
	if s.Code < http.StatusBadRequest || s.Code >= http.StatusInternalServerError ||
		strings.Contains(s.Message, "status unknown for quota:") {
		return "", false
	}
	for _, code := range later {
		if s.Code == code {
			return "", false
		}
	}
	return s.Message, true
}

// ringShared looks at volumes soon: the claim of one that is mounted by name has changed. Changes are gathered.
func (l *loop) ringShared(volume string) {
	if strings.Contains(volume, ".") { // see workload.ClaimOf and workload.PersonalClaim
		time.AfterFunc(gather, l.volumes.fire)
	}
}
