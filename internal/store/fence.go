package store

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// ErrFenced is in the fault of a write that came too late: another process leads now, and what this one had read
// counts no more.
var ErrFenced = errors.New("another process leads now")

type termKey struct{}

// Fenced gives a context under which every write asks, in its own transaction, whether this process still leads as it
// did when it took the lead last. One that comes late is a Conflict with ErrFenced, and the lead is lost with it.
// Without a lead the context stays as it is.
func (s *Store) Fenced(ctx context.Context) context.Context {
	t := s.term.Load()
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, termKey{}, t)
}

// OnLateWrite has fn called for each write that is refused because another process leads. Call it before the store is
// used by others.
func (s *Store) OnLateWrite(fn func()) { s.onLate.Store(&fn) }

// guard is the first statement of a transaction of a leader. On PostgreSQL it holds the row until the commit, so that
// the next leader begins after it, or it sees that one's number: nothing is written in between. A leader that stops in
// the middle of a transaction loses it soon, so that it does not hold up the next one.
func (s *Store) guard(ctx context.Context, db *gorm.DB) error {
	t, _ := ctx.Value(termKey{}).(*term)
	if t == nil {
		return nil
	}
	var now struct {
		Epoch   int64
		Timeout string
	}
	if err := db.WithContext(ctx).Raw(s.epochQuery()).Scan(&now).Error; err != nil {
		return err
	}
	if now.Epoch == t.epoch {
		return nil
	}
	if !t.isFenced() {
		s.opts.Log.WarnContext(ctx, "a late write was refused: another process leads now", "epoch", t.epoch,
			"now", now.Epoch)
	}
	t.fence()
	if count := s.onLate.Load(); count != nil {
		(*count)()
	}
	return fault.Wrap(fault.Conflict, ErrFenced, i18n.T("store.deposed"))
}

// raiseFor bounds how long a new leader waits for writes of the former one that are under way.
const raiseFor = 20 * time.Second

// Lead tries to become the one controller among all portals on this database, without waiting for another one to end.
// Where ok is true, lost is closed when the database no longer vouches for it, has refused a late write, or the lease
// was not renewed in time: stop at once then. Call Renew well within Options.Lease, and release at the end, also after
// lost; the next one leads as soon as it has returned.
//
// Lease and lock are a help, not a fence: a leader that was asleep may act for some seconds after another one began.
// What it writes here under Fenced is refused; what it writes to a cluster carries the generation.
func (s *Store) Lead(ctx context.Context) (release func(), ok bool, lost <-chan struct{}) {
	take, cancel := context.WithTimeout(ctx, raiseFor)
	defer cancel()
	t, err := s.lead(take, s)
	if err != nil && ctx.Err() == nil {
		s.opts.Log.WarnContext(ctx, "could not take the lead", "error", err)
	}
	if err != nil || t == nil {
		return func() {}, false, nil
	}
	s.term.Store(t)
	end := context.AfterFunc(ctx, t.let)
	return func() { s.term.CompareAndSwap(t, nil); end(); t.let() }, true, t.lost
}

// Renew says that the process that leads is alive: for another Options.Lease nobody else takes the lead. It is to be
// called by the loops that do the leader's work, so that one that hangs stops it. Nothing happens without a lead.
func (s *Store) Renew(ctx context.Context) error {
	t := s.term.Load()
	if t == nil || t.renew == nil {
		return nil
	}
	begun := time.Now()
	// Not cut off by the end of a pass: that would end the session which holds the lead.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Lease/2)
	defer cancel()
	mine, err := t.renew(ctx)
	switch {
	case err != nil:
		s.opts.Log.WarnContext(ctx, "could not renew the lease", "error", err)
		return failure(err)
	case !mine:
		t.fence()
		return fault.Wrap(fault.Conflict, ErrFenced, i18n.T("store.deposed"))
	}
	t.setRenewed(begun)
	return nil
}

// RenewEvery is how often the lease is to be renewed.
func (s *Store) RenewEvery() time.Duration { return s.opts.Lease / 4 }
