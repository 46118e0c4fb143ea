package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/trace"
)

// writer carries steps out against one cluster.
type writer struct {
	client kubernetes.Interface
	ledger *ledger
	now    func() time.Time
	log    *slog.Logger
	wrote  func(verb Verb, kind string) // for the metrics
	// onRepair is called before a change by hand is reverted; its error leaves the object as it is. Optional.
	onRepair func(ctx context.Context, r Repair) error
}

// foreignError says that an object of the name exists and is not ours.
type foreignError struct{ Key }

func (e foreignError) Error() string { return e.String() + " exists and is not this portal's" }

// busyError says that an object of the name is still being deleted.
type busyError struct{ Key }

func (e busyError) Error() string { return e.String() + " is still being deleted" }

// apply carries out steps: side by side what does not depend on each other, in the order of the table what does (see
// phase). It ends with the first phase in which something failed. Every step may be repeated: apply states what should
// be, deletion names what was seen. What has just been written and is not in the caches yet is not written again. The
// time is when a step that was held back is due; 0 when there was none.
func (w *writer) apply(ctx context.Context, steps []Step) (again time.Duration, err error) {
	for _, s := range steps {
		if s.Verb == Refuse {
			return 0, w.refuse(ctx, s)
		}
	}
	var due []Step
	for _, s := range steps {
		if wait := w.ledger.wait(s, w.now()); wait > 0 {
			again = max(again, wait)
			continue
		}
		due = append(due, s)
	}
	for len(due) > 0 {
		n := 1
		for n < len(due) && due[n].phase() == due[0].phase() {
			n++
		}
		if err := w.together(ctx, due[:n]); err != nil {
			return 0, err
		}
		due = due[n:]
	}
	return again, nil
}

// refuse asks the API server before it says that an object is not ours: caches that lag behind show the one that was
// there before.
func (w *writer) refuse(ctx context.Context, s Step) error {
	found, err := kinds[rank(s.Kind)].clients(w.client, s.Namespace).get(ctx, s.Name)
	switch {
	case apierrors.IsNotFound(err):
		return errOutdated
	case err != nil:
		return err
	case s.mayTouch(existing(found)):
		return errOutdated
	}
	return foreignError{s.Key}
}

// phase: a namespace comes before what is in it, and what a pod needs before what makes the pod.
func (s Step) phase() string {
	switch s.Kind {
	case "Namespace", bindingKind, "StatefulSet", "Deployment", kube.InferenceServiceKind, jobKind, kube.JobSetKind,
		kube.LeaderWorkerSetKind:
		return s.Kind
	}
	return ""
}

func (w *writer) together(ctx context.Context, steps []Step) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range steps {
		group.Go(func() error {
			if err := w.step(ctx, s); err != nil {
				return fmt.Errorf("%s %s: %w", s.Verb, s.Key, err)
			}
			w.wrote(s.Verb, s.Kind)
			return nil
		})
	}
	return group.Wait()
}

func (w *writer) step(ctx context.Context, s Step) (err error) {
	ctx, span := trace.Begin(ctx, string(s.Verb)+" "+s.Kind)
	span.Set("object", s.Key.String())
	defer func() { span.End(err) }()
	c := kinds[rank(s.Kind)].clients(w.client, s.Namespace)
	switch s.Verb {
	case Create:
		return w.create(ctx, c, s)
	case Update:
		if s.Repair {
			return w.repair(ctx, c, s)
		}
		return w.update(ctx, c, s)
	case Delete:
		return w.delete(ctx, c, s)
	}
	return fmt.Errorf("step %q: %w", s.Verb, errors.ErrUnsupported)
}

// onlyNew is a resourceVersion that no object has: the database behind the API server begins with 1, before anything is
// in it. An apply that names it makes what does not exist, and is a Conflict for what does. (Seen on 1.36; where a
// server answers otherwise, create looks first.)
const onlyNew = "1"

// create must not take over a foreign object of the same name, as a plain apply would; the caches do not show those,
// they hold only what is labelled ours. So it makes what does not exist, in one call and without a gap between looking
// and writing. Only what exists after all is looked at.
func (w *writer) create(ctx context.Context, c client, s Step) error {
	err := w.put(ctx, c, s, "", onlyNew)
	if !apierrors.IsConflict(err) {
		return err
	}
	found, err := c.get(ctx, s.Name)
	if apierrors.IsNotFound(err) {
		return w.put(ctx, c, s, "", "")
	}
	if err != nil {
		return err
	}
	switch e := existing(found); {
	case !s.mayTouch(e):
		return foreignError{s.Key}
	case e.Deleting:
		return busyError{s.Key}
	case s.Kind == "PersistentVolumeClaim" && e.Labelled:
		return nil
	case e.Labelled && e.Generation > s.Generation:
		return errOutdated // the watches will show it
	default:
		seen := s.Object.update(e)
		seen.Verb = s.Verb
		return w.update(ctx, c, seen)
	}
}

// stuckJob carries out what can be of a change that the API server refuses because it touches the template of a job,
// which can never be changed: a program of another version renders it in another way. One that shall stop is removed,
// and made again suspended; any other goes on as it was started.
func (w *writer) stuckJob(ctx context.Context, c client, s Step) error {
	spec, _ := s.content["spec"].(map[string]any)
	if suspend, _ := spec["suspend"].(bool); suspend {
		return w.delete(ctx, c, s)
	}
	w.log.DebugContext(ctx, "a job stays as it was started", "object", s.Key.String())
	w.ledger.wrote(s, w.now())
	return nil
}

// updates is how often one update tries to come between the changes of others: Kubernetes writes the status of what
// starts or stops many times.
const updates = 5

// update replaces what was seen, and nothing newer: between looking and writing a leader may have been asleep, while
// another one carried out a later spec. A change that left the spec as it was, such as one of the status, does not
// count.
func (w *writer) update(ctx context.Context, c client, s Step) error {
	err := w.put(ctx, c, s, s.UID, s.Version)
	for n := 1; n < updates && apierrors.IsConflict(err); n++ {
		found, getErr := c.get(ctx, s.Name)
		if getErr != nil {
			return getErr
		}
		switch e := existing(found); {
		case !s.mayTouch(e):
			return foreignError{s.Key}
		case e.UID != s.UID, e.Hash != s.Was && !w.ledger.lastWritten(s.Key, e.Hash), s.rescaled(found):
			return errOutdated
		default:
			err = w.put(ctx, c, s, s.UID, e.Version)
		}
	}
	if (s.Kind == jobKind || s.Kind == kube.JobSetKind) && apierrors.IsInvalid(err) {
		return w.stuckJob(ctx, c, s)
	}
	return err
}

// put is a forced apply: what is ours has one owner, the spec in the database.
func (w *writer) put(ctx context.Context, c client, s Step, uid, version string) error {
	body, err := s.body(uid, version)
	if err != nil {
		return err
	}
	force := true
	if _, err := c.patch(ctx, s.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: FieldManager,
		Force: &force}); err != nil {
		return err
	}
	w.ledger.wrote(s, w.now())
	return nil
}

// delete names what was seen. When it has changed since, it is looked at again: still the same object and still ours,
// it is deleted as it now is.
func (w *writer) delete(ctx context.Context, c client, s Step) error {
	err := c.remove(ctx, s.Name, precisely(s.Kind, s.UID, s.Version))
	if apierrors.IsConflict(err) {
		found, getErr := c.get(ctx, s.Name)
		switch {
		case apierrors.IsNotFound(getErr):
			err = nil
		case getErr != nil:
			return getErr
		case string(found.GetUID()) != s.UID || !s.mayTouch(existing(found)):
			return foreignError{s.Key}
		case found.GetDeletionTimestamp() != nil:
			err = nil
		default:
			err = c.remove(ctx, s.Name, precisely(s.Kind, s.UID, found.GetResourceVersion()))
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	w.ledger.wrote(s, w.now())
	return nil
}

// precisely are the options of a deletion. What makes pods goes in the foreground: it stays visible until its pods are
// gone and the GPU is free.
func precisely(kind, uid, version string) metav1.DeleteOptions {
	how := metav1.DeletePropagationBackground
	if makesPods(kind) {
		how = metav1.DeletePropagationForeground
	}
	id := types.UID(uid)
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &id, ResourceVersion: &version},
		PropagationPolicy: &how}
}

// ledger remembers what was written lately, so that caches which lag behind do not lead to the same write again, and
// how often an object had to be repaired, so that two who disagree about it do not fight.
type ledger struct {
	mu        sync.Mutex
	entries   map[Key]entry
	defaulted map[Key]defaulted
	drifts    map[Key]compared
}

type entry struct {
	hash    string
	verb    Verb
	at      time.Time
	repairs int
}

// How long a write may take to come back through the watch, and the pause between repairs of one object: it doubles up
// to the longest, and begins anew after an object stayed as it should for that long.
const (
	ownWriteLag   = 10 * time.Second
	firstRepair   = 2 * time.Second
	longestRepair = 5 * time.Minute
)

func newLedger() *ledger {
	return &ledger{entries: map[Key]entry{}, defaulted: map[Key]defaulted{}, drifts: map[Key]compared{}}
}

// wait says for how long a step is held back; not at all when that is not above zero.
func (l *ledger) wait(s Step, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[s.Key]
	past := now.Sub(e.at)
	switch {
	case !known, past < 0:
		return 0
	case s.Repair:
		return pause(e.repairs) - past
	case (s.Verb == Delete) != (e.verb == Delete):
		return 0
	case s.Verb != Delete && e.hash != s.Hash:
		return 0
	}
	return ownWriteLag - past
}

// ownedObjects reports whether a state of an object is the one that was written here last: caches that lag behind do
// not make it somebody else's.
func (l *ledger) lastWritten(k Key, hash string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[k]
	return known && hash != "" && e.hash == hash
}

func pause(repairs int) time.Duration {
	return min(longestRepair, firstRepair<<min(repairs, 10))
}

func (l *ledger) wrote(s Step, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.entries[s.Key]
	e := entry{hash: s.Hash, verb: s.Verb, at: now, repairs: old.repairs}
	if now.Sub(old.at) > 2*longestRepair {
		e.repairs = 0
	}
	if s.Repair || s.Verb == Create && old.verb == Create {
		e.repairs++
	}
	l.entries[s.Key] = e
}

// gone lets an object that was deleted be made again at once, at first; one that is deleted over and over waits like a
// repair.
func (l *ledger) gone(k Key, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.entries[k]
	delete(l.defaulted, k)
	delete(l.drifts, k)
	switch {
	case !known:
	case e.verb == Delete:
		delete(l.entries, k)
	case now.Sub(e.at) >= pause(e.repairs):
		e.hash = ""
		l.entries[k] = e
	}
}
