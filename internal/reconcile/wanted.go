package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// wanted is the objects of a workload as they should be, or those that should go when it is deleted.
func (l *loop) wanted(ctx context.Context, w workload.Workload) (DesiredObjects, error) {
	site := l.o.KubeSite(l.name)
	if w.Desired == workload.WantDeleted {
		return DesiredObjects{Gone: true, Objects: leaving(w, site.Instance)}, nil
	}
	t, known := l.o.Site().Directory.ByName(w.Tenant)
	if !known {
		t = tenant.Tenant{Name: w.Tenant} // its workloads can still be stopped
	}
	site.Mirror = l.mirror(w, site.Mirror)
	values, err := l.secrets(ctx, w)
	if err != nil {
		return DesiredObjects{}, err
	}
	limits, err := l.keyLimits(ctx, w, site.ModelGateway)
	if err != nil {
		return DesiredObjects{}, err
	}
	rendered, err := kube.Objects(kube.Input{Workload: w, Tenant: t, Site: site, Token: l.o.Token(w), Avoid: l.avoid(w),
		Published: l.published(w, site.ModelGateway), Guarded: l.guarded(w, site.ModelGateway), Limits: limits,
		JobStarted: l.jobStarted(w), Overdue: l.overdue(w), Secrets: values, Scaled: l.scaledTo(w),
		LoadToken: l.o.LoadToken(w)})
	if err != nil {
		return DesiredObjects{}, renderError{err}
	}
	objects, err := newObjects(rendered)
	return DesiredObjects{Objects: scaledByOther(w, objects)}, err
}

// secrets are the values that a workload has while it runs; one that stops needs none, and stops without the database.
func (l *loop) secrets(ctx context.Context, w workload.Workload) (map[string][]byte, error) {
	if len(w.Secrets) == 0 || w.Desired != workload.WantRunning || l.o.Secrets == nil {
		return nil, nil
	}
	return l.o.Secrets(ctx, w)
}

// jobStarted is when Kubernetes began with a job; zero for none.
func (l *loop) jobStarted(w workload.Workload) time.Time {
	if !w.IsJob() {
		return time.Time{}
	}
	job, ok := l.gather(w).object.(*batchv1.Job)
	if !ok || job.Status.StartTime == nil {
		return time.Time{}
	}
	return job.Status.StartTime.UTC()
}

// replaced are the claim templates of a workload that it does not want any more: what one asks for cannot be changed,
// so another claim has another name. So is the Secret with the values of its secrets, once it does not run, what lets
// KEDA scale it, once KEDA does not, and what leads a gateway of the site to it, once the site has none, or a limit
// there that no key has any more; not what an operator makes of what is wanted, such as the HTTPRoute of an
// AIGatewayRoute. So is a JobSet that shall stop or whose time limit is over; one that has ended stays for its logs.
func (l *loop) replaced(w workload.Workload, desired DesiredObjects) []Object {
	var old []Object
	candidates := slices.Concat(l.ofWorkload("ResourceClaimTemplate", w), l.ofWorkload("Secret", w))
	for _, kind := range kube.RouteKinds() {
		candidates = append(candidates, l.ofWorkload(kind.Kind, w)...)
	}
	for _, kind := range []string{kube.ScaledObjectKind, kube.TriggerAuthenticationKind} {
		candidates = append(candidates, l.ofWorkload(kind, w)...)
	}
	if w.Image.NeedsJobSet() && w.Desired != workload.Finished {
		candidates = append(candidates, slices.Concat(l.ofWorkload("NetworkPolicy", w), l.ofWorkload(kube.JobSetKind, w))...)
	}
	for _, t := range candidates {
		o := Object{Key: Key{Kind: kindOf(t), Namespace: t.GetNamespace(), Name: t.GetName()},
			Owner: kube.Owner{Instance: l.o.KubeSite(l.name).Instance, Tenant: w.Tenant, Workload: w.ID}}
		if o.Kind == "Secret" && !slices.Contains([]string{kube.SecretsName(w), kube.PullName(w), kube.ScalingName(w)},
			o.Name) {
			continue // its own token stays while it is there
		}
		wanted := slices.ContainsFunc(desired.Objects, func(has Object) bool { return has.Key == o.Key })
		if !wanted && l.madeOf(t) == nil && o.mayTouch(existing(t)) {
			old = append(old, o)
		}
	}
	return old
}

// ofWorkload are the objects of a kind that carry a workload's label.
func (l *loop) ofWorkload(kind string, w workload.Workload) []metav1.Object {
	return lookup[metav1.Object](l.caches().ours[kind], byWorkload, string(w.ID))
}

// served takes from a spec what the cluster cannot hold. A workload that shall run needs it all the same; one that
// shall stop does not.
func (l *loop) served(w workload.Workload, desired DesiredObjects) (DesiredObjects, error) {
	missing := func(o Object) bool {
		if api := kinds[rank(o.Kind)].api; api == "" || !l.caches().serves(api) {
			return api != ""
		}
		n := l.caches().within(o.Namespace)
		return n != nil && !n.serves(o.Kind)
	}
	i := slices.IndexFunc(desired.Objects, missing)
	if i < 0 {
		return desired, nil
	}
	if w.Desired == workload.WantRunning {
		return desired, unservedError{l.name, desired.Objects[i].Key}
	}
	desired.Objects = slices.DeleteFunc(slices.Clone(desired.Objects), missing)
	return desired, nil
}

// unservedError says that a workload needs a kind of object that its cluster does not have.
type unservedError struct {
	cluster string
	Key
}

// api is what the kind needs; "" for none.
func (e unservedError) api() string { return behindAPI(e.Kind) }

func (e unservedError) Error() string { return "cluster " + e.cluster + " serves no " + e.Kind }

// leaving names what is deleted with a workload. Storage stays until its own row says otherwise.
func leaving(w workload.Workload, instance string) []Object {
	var objects []Object
	for _, ref := range kube.Names(w) {
		objects = append(objects, Object{
			Key:   Key{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name},
			Owner: kube.Owner{Instance: instance, Tenant: w.Tenant, Workload: w.ID},
		})
	}
	return objects
}

// runner names the object that makes the pods.
func runner(w workload.Workload) Key {
	for _, ref := range kube.Names(w) {
		if makesPods(ref.Kind) {
			return Key{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
		}
	}
	return Key{}
}

// renderError says that a workload cannot be written as objects: its size or image is not usable.
type renderError struct{ error }

func (e renderError) Unwrap() error { return e.error }

func (l *loop) tenantObjects(name string) ([]Object, error) {
	site := l.o.Site()
	t, known := site.Directory.ByName(name)
	if !known {
		return nil, unknownTenant(name)
	}
	rendered, err := kube.TenantObjects(t, site.Catalog, l.o.KubeSite(l.name))
	if err != nil {
		return nil, renderError{err}
	}
	return newObjects(rendered)
}

// tenantOwn is everything that a tenant has in the cluster, also what an administrator applies.
func (l *loop) tenantOwn(name string) ([]Object, error) {
	objects, err := l.tenantObjects(name)
	site := l.o.KubeSite(l.name)
	if err != nil || site.Access.Bindings != kube.BindAdmin {
		return objects, err
	}
	t, _ := l.o.Site().Directory.ByName(name) // tenantObjects has found it
	rendered, err := kube.TenantAccess(t, site)
	if err != nil {
		return nil, renderError{err}
	}
	access, err := newObjects(rendered)
	return append(access, objects...), err
}

// tenantPrint changes with everything that a tenant's objects are made from.
func (l *loop) tenantPrint(name string) (string, error) {
	site := l.o.Site()
	t, known := site.Directory.ByName(name)
	if !known {
		return "", unknownTenant(name)
	}
	sum := sha256.New()
	write := json.NewEncoder(sum)
	for _, part := range []any{t, l.o.KubeSite(l.name), site.Catalog} {
		if err := write.Encode(part); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
