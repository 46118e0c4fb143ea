package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Repair is an object whose foreign edits are about to be reverted, or could not be.
type Repair struct {
	Object
	Edits   []Edit
	Refused string // the API server's words when it does not let the edits be taken back; "" before the attempt
}

// repair makes an object again what was rendered. A forced apply sets what somebody changed; what somebody added is
// removed by path, for apply leaves it. What is there again in the API server's own answer is the platform's: defaults
// of a later version, or an admission plugin. It is kept and not fought.
func (w *writer) repair(ctx context.Context, c client, s Step) error {
	found, err := c.get(ctx, s.Name)
	if err != nil {
		return missing(err)
	}
	if err := s.same(found); err != nil {
		return err
	}
	edits, err := w.fresh(s, found)
	if err != nil {
		return err
	}
	if len(edits) == 0 && owns(s.content, found.GetManagedFields()) {
		w.ledger.wrote(s, w.now())
		return nil
	}
	w.log.WarnContext(ctx, "repairing an object", "object", s.Key.String(), "fields", pathsOf(edits), "by",
		managersOf(edits))
	// What nobody is named for may be the platform's own, which only the answer shows.
	attributed := slices.ContainsFunc(edits, func(e Edit) bool { return e.By != "" })
	if attributed {
		if err := w.report(ctx, Repair{Object: s.Object, Edits: edits}); err != nil {
			return err
		}
	}
	err = w.revert(ctx, c, s, found, edits)
	switch {
	case err != nil && applyErrorOf(err).terminal:
		w.ledger.wrote(s, w.now()) // so that it is not tried at full speed
		return w.report(ctx, Repair{Object: s.Object, Edits: edits, Refused: err.Error()})
	case err != nil || attributed:
		return err
	}
	kept := w.ledger.keeps(s.Key, s.UID)
	return w.report(ctx, Repair{Object: s.Object, Edits: slices.DeleteFunc(edits,
		func(e Edit) bool { return kept[e.fingerprint] })})
}

func (w *writer) report(ctx context.Context, r Repair) error {
	if w.onRepair == nil || len(r.Edits) == 0 {
		return nil
	}
	return w.onRepair(ctx, r)
}

// same reports with an error that an object is not the one that was seen, or carries another spec by now.
func (s Step) same(found metav1.Object) error {
	switch e := existing(found); {
	case !s.mayTouch(e):
		return foreignError{s.Key}
	case e.UID != s.UID, e.Deleting, e.Hash != s.Was:
		return errOutdated
	}
	return nil
}

// fresh are the strict edits of an object as it was just read.
func (w *writer) fresh(s Step, found metav1.Object) ([]Edit, error) {
	edits, err := s.driftOf(found)
	if err != nil {
		return nil, err
	}
	kept := w.ledger.keeps(s.Key, s.UID)
	return slices.DeleteFunc(edits, func(e Edit) bool {
		return !e.Strict || kept[e.fingerprint] || s.Kind == claimKind && e.Change != Added
	}), nil
}

// revert writes: the apply first, for it changes what may be removed (ports that a Service type allocated go with the
// type).
func (w *writer) revert(ctx context.Context, c client, s Step, found metav1.Object, edits []Edit) error {
	altered := slices.ContainsFunc(edits, func(e Edit) bool { return e.Change != Added })
	if s.Kind != claimKind && (altered || !owns(s.content, found.GetManagedFields())) {
		seen := s
		seen.Version = found.GetResourceVersion()
		if err := w.update(ctx, c, seen); err != nil {
			return err
		}
		s.Repair = false // it is counted
	}
	for n := 0; ; n++ {
		now, err := c.get(ctx, s.Name)
		if err != nil {
			return missing(err)
		}
		if string(now.GetUID()) != s.UID || !s.mayTouch(existing(now)) {
			return errOutdated
		}
		left, err := w.fresh(s, now)
		if err != nil {
			return err
		}
		body, err := Removal(left, s.UID, now.GetResourceVersion())
		if err != nil {
			return err
		}
		if body == nil {
			return w.accept(s, now)
		}
		answer, err := c.patch(ctx, s.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: FieldManager})
		if apierrors.IsConflict(err) && n < updates {
			continue
		}
		if err != nil {
			return err
		}
		return w.accept(s, answer)
	}
}

// accept keeps what is still there after a repair.
func (w *writer) accept(s Step, answer metav1.Object) error {
	left, err := w.fresh(s, answer)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		w.log.Info("the cluster itself sets fields that were not rendered; they stay", "object", s.Key.String(),
			"fields", pathsOf(left))
		w.ledger.keepDefaulted(s.Key, s.UID, left)
	}
	w.ledger.wrote(s, w.now())
	return nil
}

// defaulted are additions that the cluster makes itself, of one object by its uid.
type defaulted struct {
	uid    string
	fields map[string]bool
}

// keepDefaulted notes what came back in the answer to a repair: the platform's own additions. Another value of the same
// field is looked at anew.
func (l *ledger) keepDefaulted(k Key, uid string, edits []Edit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.defaulted[k]
	if known.uid != uid {
		known = defaulted{uid: uid}
	}
	fields := maps.Clone(known.fields)
	if fields == nil {
		fields = map[string]bool{}
	}
	for _, e := range edits {
		fields[e.fingerprint] = true
	}
	l.defaulted[k] = defaulted{uid: uid, fields: fields}
	delete(l.drifts, k)
}

func (l *ledger) keeps(k Key, uid string) map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.defaulted[k]; known.uid == uid {
		return known.fields
	}
	return nil
}

// existing is what the caches have of objects, with what others did to those that carry the right spec.
func (l *loop) existing(objects []Object) map[Key]Existing {
	found := l.caches().existing(objects)
	for _, o := range objects {
		e, exists := found[o.Key]
		if exists && o.content != nil && !e.Deleting && o.mayTouch(e) && (e.Hash == o.Hash || o.Kind == claimKind) {
			e.edits = l.writer.ledger.drift(o, e)
			found[o.Key] = e
		}
	}
	return found
}

// compared is what a comparison of one version of an object with one spec has shown.
type compared struct {
	uid, version, hash string
	edits              []Edit
}

// drift compares an object with the spec once for each version of it.
func (l *ledger) drift(o Object, e Existing) []Edit {
	l.mu.Lock()
	known := l.drifts[o.Key]
	l.mu.Unlock()
	if known.uid == e.UID && known.version == e.Version && known.hash == o.Hash {
		return known.edits
	}
	edits, err := o.driftOf(e.object)
	if err != nil {
		return nil // it is compared by its managed fields alone
	}
	kept := l.keeps(o.Key, e.UID)
	edits = slices.DeleteFunc(edits, func(edit Edit) bool { return kept[edit.fingerprint] })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drifts[o.Key] = compared{uid: e.UID, version: e.Version, hash: o.Hash, edits: edits}
	return edits
}

func pathsOf(edits []Edit) []string {
	paths := make([]string, len(edits))
	for i, e := range edits {
		paths[i] = e.Path
	}
	return paths
}

// managersOf are the field managers that made edits, each once; "" stands for unknown.
func managersOf(edits []Edit) []string {
	var names []string
	for _, e := range edits {
		names = append(names, e.By)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// latest is when the last of the edits was made; zero for unknown.
func latest(edits []Edit) (at time.Time) {
	for _, e := range edits {
		if e.At.After(at) {
			at = e.At
		}
	}
	return at
}
