package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// noNamespaceError says that an administrator has not made a tenant's namespace yet, where that is theirs to do.
type noNamespaceError struct{ tenant, namespace string }

func (e noNamespaceError) Error() string {
	return "namespace " + e.namespace + " of tenant " + e.tenant + " is not there: portal rbac --tenant " + e.tenant +
		" prints what to apply"
}

var errNamespaceLeaving = errors.New("the tenant's namespace is being deleted")

// firstList is how long a pass waits for what a namespace has. Others of the tenant wait with it.
const firstList = 2 * time.Second

// settleTenant makes what the tenant needs: the namespace, the rights in it, and then what they let us write. The time
// is when a repair that was held back is due.
func (l *loop) settleTenant(ctx context.Context, name string, objects []Object) (time.Duration, error) {
	space, bindings, rest := parted(objects)
	namespace := rest[0].Namespace
	made, again, err := l.settleNamespace(ctx, name, namespace, space)
	if err != nil {
		return 0, err
	}
	n := l.caches().enter(namespace)
	if made || isNoRights(n.state()) {
		if err := l.bind(ctx, n, bindings); err != nil {
			return 0, err
		}
	}
	if err := n.wait(ctx, firstList); err != nil {
		return 0, err
	}
	if err := l.bind(ctx, n, bindings); err != nil {
		return 0, err
	}
	later, err := l.writer.apply(ctx, Diff(DesiredObjects{Objects: rest}, l.existing(rest)))
	return sooner(again, later), err
}

// parted takes the namespace and the RoleBindings apart from what they let us write.
func parted(objects []Object) (space, bindings, rest []Object) {
	for _, o := range objects {
		switch o.Kind {
		case "Namespace":
			space = append(space, o)
		case bindingKind:
			bindings = append(bindings, o)
		default:
			rest = append(rest, o)
		}
	}
	return space, bindings, rest
}

// settleNamespace applies the namespace, or looks whether the administrator has; made says that it is new.
func (l *loop) settleNamespace(ctx context.Context, tenant, name string, space []Object) (made bool,
	again time.Duration, err error) {
	if len(space) == 0 {
		return false, 0, l.needNamespace(ctx, tenant, name)
	}
	steps := Diff(DesiredObjects{Objects: space}, l.existing(space))
	if again, err = l.writer.apply(ctx, steps); err != nil {
		return false, 0, err
	}
	if ns, ok := l.caches().cached(Key{Kind: "Namespace", Name: name}); ok && ns.GetDeletionTimestamp() != nil {
		return false, 0, errNamespaceLeaving
	}
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Verb == Create }), again, nil
}

// needNamespace refuses a namespace that is missing or that does not carry the tenant's owner record.
func (l *loop) needNamespace(ctx context.Context, tenant, name string) error {
	ns, known := l.caches().cached(Key{Kind: "Namespace", Name: name})
	if !known {
		found, err := l.cluster.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return noNamespaceError{tenant, name}
		}
		if err != nil {
			return err
		}
		ns = found
	}
	if o := kube.OwnerOf(ns.GetAnnotations()); o.Instance != l.o.KubeSite(l.name).Instance || o.Tenant != tenant {
		return foreignError{Key{Kind: "Namespace", Name: name}}
	}
	if ns.GetDeletionTimestamp() != nil {
		return errNamespaceLeaving
	}
	return nil
}

// bind applies the RoleBindings where they are not as they should be, and waits until the API server goes by them: what
// is written before would be refused.
func (l *loop) bind(ctx context.Context, n *namespaceCache, bindings []Object) error {
	steps := Diff(DesiredObjects{Objects: bindings}, l.existing(bindings))
	if len(steps) == 0 {
		return nil
	}
	if _, err := l.writer.apply(ctx, steps); err != nil {
		return err
	}
	defer n.bound()
	for end := time.Now().Add(authorizerLag); time.Now().Before(end); {
		if allowed, err := mayList(ctx, l.cluster.Client, n.name); err != nil || allowed {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(firstCheck):
		}
	}
	return nil
}

// mayNothing reports whether the rights in a namespace are known to be missing.
func (l *loop) mayNothing(namespace string) bool {
	n := l.caches().within(namespace)
	return n != nil && isNoRights(n.state())
}

func isNoRights(err error) bool {
	var rights noRightsError
	return errors.As(err, &rights)
}

// namespaceAbsent reports whether nothing of a tenant can be in a namespace: it is not there, or it is somebody else's,
// and then we never wrote into it.
func (l *loop) namespaceAbsent(ctx context.Context, tenant, name string) (bool, error) {
	ns, err := l.cluster.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if o := kube.OwnerOf(ns.Annotations); o.Instance != l.o.KubeSite(l.name).Instance || o.Tenant != tenant {
		return true, nil
	}
	l.caches().enter(name)
	return false, nil
}

// visible is nil when the caches show what the namespace of a workload has, and when there is no such namespace of
// ours.
func (l *loop) visible(w workload.Workload) error {
	n := l.caches().within(w.Namespace)
	if n == nil {
		return nil
	}
	err := n.state()
	if err != nil {
		l.awaitNamespace(w)
	}
	return err
}

// awaitNamespace has a workload looked at when its namespace can be seen, or no more.
func (l *loop) awaitNamespace(w workload.Workload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unseen[w.Namespace] == nil {
		l.unseen[w.Namespace] = map[workload.ID]bool{}
	}
	l.unseen[w.Namespace][w.ID] = true
}

// unseenNow keeps what was last seen of a workload whose namespace we may not look into, with the reason.
func (l *loop) unseenNow(w workload.Workload, err error) (outcome, error) {
	t := applyErrorOf(err)
	if !t.terminal {
		return outcome{}, err
	}
	obs := w.Observed
	obs.Reason, obs.Detail = t.reason, t.detail
	obs.Failed = w.Desired == workload.WantRunning && !obs.PodPresent
	return outcome{observation: obs, known: true, again: lastingRetry}, nil
}

// recheckRights looks after the rights in a namespace when the API server has refused something there.
func (l *loop) recheckRights(w workload.Workload, t applyError) {
	if t.status != metav1.StatusReasonForbidden {
		return
	}
	if n := l.caches().within(w.Namespace); n != nil {
		l.awaitNamespace(w)
		n.check.fire()
	}
}

// namespaceTold is called when a namespace can be seen, or no more: those who waited for it are looked at.
func (l *loop) namespaceTold(namespace string, state error) {
	if isNoRights(state) {
		l.log.Warn("a tenant's namespace cannot be kept", "namespace", namespace, "error", state)
	}
	if errors.Is(state, errListingNamespace) {
		return
	}
	l.mu.Lock()
	waiting := l.unseen[namespace]
	delete(l.unseen, namespace)
	l.mu.Unlock()
	for _, t := range l.o.Site().Directory.Tenants {
		if t.NamespaceName() == namespace {
			l.tenants.invalidate(t.Name, 0)
		}
	}
	for id := range waiting {
		l.queue.Add(id)
	}
	l.dirty.fire()
}
