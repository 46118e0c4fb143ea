package reconcile

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// source lists and watches one kind in one namespace.
type source interface {
	list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// lister is the part of a typed client that a reflector needs.
type lister[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

type typedSource[L runtime.Object] struct {
	typed    lister[L]
	selector string
}

var ourSelector = labels.Set{kube.ManagedByLabel: kube.ManagedBy}.AsSelector().String()

// ourObjects is only what carries our label.
func ourObjects[L runtime.Object](c lister[L]) source { return typedSource[L]{c, ourSelector} }

// allObjects is what anybody has made.
func allObjects[L runtime.Object](c lister[L]) source { return typedSource[L]{c, ""} }

func (s typedSource[L]) list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	opts.LabelSelector = s.selector
	return s.typed.List(ctx, opts)
}

func (s typedSource[L]) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.LabelSelector = s.selector
	return s.typed.Watch(ctx, opts)
}

// feed puts what one reflector brings into an indexer that all namespaces share. It replaces within its namespace only.
type feed struct {
	into      cache.Indexer
	namespace string
	changed   func(before, after any)
	listed    func() // called after each complete list
}

// Add implements cache.ReflectorStore.
func (f *feed) Add(obj any) error { return f.Update(obj) }

// Update implements cache.ReflectorStore.
func (f *feed) Update(obj any) error {
	obj, err := slim(obj)
	if err != nil {
		return err
	}
	before, known, err := f.into.Get(obj)
	if err != nil {
		return err
	}
	if err := f.into.Update(obj); err != nil {
		return err
	}
	switch {
	case !known:
		f.changed(nil, obj)
	case version(before) != version(obj) || version(obj) == "":
		f.changed(before, obj)
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (f *feed) Delete(obj any) error {
	last, known, err := f.into.Get(obj)
	if err != nil || !known {
		return err
	}
	if err := f.into.Delete(last); err != nil {
		return err
	}
	f.changed(last, nil)
	return nil
}

// Replace implements cache.ReflectorStore.
func (f *feed) Replace(list []any, _ string) error {
	there := map[string]bool{}
	for _, obj := range list {
		key, err := cache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			return err
		}
		there[key] = true
		if err := f.Update(obj); err != nil {
			return err
		}
	}
	if err := f.prune(there); err != nil {
		return err
	}
	f.listed()
	return nil
}

// prune takes out what the namespace does not have.
func (f *feed) prune(there map[string]bool) error {
	known, err := f.into.IndexKeys(cache.NamespaceIndex, f.namespace)
	if err != nil {
		return err
	}
	for _, key := range known {
		if there[key] {
			continue
		}
		if obj, exists, _ := f.into.GetByKey(key); exists {
			if err := f.Delete(obj); err != nil {
				return err
			}
		}
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (f *feed) Resync() error { return nil }
