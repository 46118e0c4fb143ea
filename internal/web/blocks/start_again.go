package blocks

import (
	"maps"
	"net/url"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// InPlaceOf are the fields of the start page for one like this, in its place.
func InPlaceOf(k page.Call, w workload.Workload) url.Values {
	q := url.Values{"tenant": {w.Tenant}, "kind": {string(w.Kind)}, "size": {w.Size.Name},
		"replaces": {string(w.ID)}, "mounts": MountNames(w.Mounts),
		"volumes": VolumeUses(w.Mounts), "datasets": DatasetNames(w.Mounts)}
	maps.Copy(q, ImageValues(w.Image))
	if names := SecretNames(k.Actor.Person.ID, w.Owner, w.Secrets); len(names) > 0 {
		q["secrets"] = names
	}
	if w.StorageGiB > 0 {
		q.Set("storage", strconv.Itoa(w.StorageGiB)+"Gi")
	}
	return q
}

// StartAgain is where one that failed is started again after a change; "" where it did not fail, or this person may
// not.
func (w *Blocks) StartAgain(k page.Call, item workload.Workload) string {
	if item.State != workload.Failed || item.Desired != workload.WantRunning || item.IsJob() ||
		len(w.Startable(k)) == 0 || !identity.Can(k.Actor, identity.ChangeWorkload, item.Resource()) {
		return ""
	}
	return likePath(k, item)
}

// likePath is the start page filled as this workload was, to change what it failed for.
func likePath(k page.Call, w workload.Workload) string {
	q := InPlaceOf(k, w)
	maps.Copy(q, StartForm{}.LikeModel(w.Image, w.Model, w.Replicas.Range,
		w.Replicas.Scaling).LikeGit(w.Git).Values())
	return "/start?" + q.Encode()
}
