package reconcile

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// For the tests of this package, which are outside of it.
var (
	Owns        = owns
	WorthSaving = worthSaving
	Fits        = fits
	Slim        = slim
	NewObject   = newObject
	NewLedger   = newLedger
	ExistingOf  = existing
	NewEdits    = newEdits
	NewBackoff  = newBackoff
	KindOfEvent = (*edits).kindOf
)

// Wait and Wrote are the ledger's.
var (
	Wait  = (*ledger).wait
	Wrote = (*ledger).wrote
	Gone  = (*ledger).gone
)

// WithFields gives an object as it would be found after it was applied.
func Applied(o Object, uid string) Existing {
	return Existing{Owner: o.Owner, UID: uid, Version: "1", Hash: o.Hash, Labelled: true}
}

// KindOf and the names of the table.
var KindOf = kindOf

func KindNames() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// WithCustom gives a client custom resources as well.
func WithCustom(c kubernetes.Interface, custom dynamic.Interface) kubernetes.Interface {
	return clientset{c, custom}
}

// Meter is one controller's meter.
type Meter struct{ m *meter }

// NewMeter makes one.
func NewMeter(s Store) Meter { return Meter{newMeter(s, nil, nil, nil)} }

// NewSeatMeter makes one that asks with whom a workload shares its license seats.
func NewSeatMeter(s Store, seats func(w workload.Workload) usage.Seats) Meter {
	return Meter{newMeter(s, nil, nil, seats)}
}

// Change says how the meter changes.
func (m Meter) Change(ctx context.Context, before, after workload.Workload, now time.Time) (*usage.Interval, error) {
	return m.m.change(ctx, before, after, now)
}

// Saved notes what was saved.
func (m Meter) Saved(w workload.Workload, change *usage.Interval, err error) {
	m.m.saved(w, change, err)
}
