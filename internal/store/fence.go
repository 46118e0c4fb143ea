package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// ErrDeposed is in the fault of a write that came too late: another process leads now, and what this one had read
// counts no more.
var ErrDeposed = errors.New("another process leads now")

// term is one time in which this process leads.
type term struct {
	epoch   int64
	once    sync.Once
	deposed chan struct{} // closed at the first write that was refused
}

type termKey struct{}

// Fenced gives a context under which every write asks, in its own transaction, whether this process still leads as it
// did when it took the lead last. One that comes late is a Conflict with ErrDeposed, and the lead is lost with it.
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
// the next leader begins after it, or it sees that one's number: nothing is written in between.
func (s *Store) guard(ctx context.Context, db *gorm.DB) error {
	t, _ := ctx.Value(termKey{}).(*term)
	if t == nil {
		return nil
	}
	var now int64
	if err := db.WithContext(ctx).Raw(s.epochQuery()).Scan(&now).Error; err != nil {
		return err
	}
	if now == t.epoch {
		return nil
	}
	t.once.Do(func() {
		s.opts.Log.WarnContext(ctx, "a late write was refused: another process leads now", "epoch", t.epoch, "now", now)
		close(t.deposed)
	})
	if count := s.onLate.Load(); count != nil {
		(*count)()
	}
	return fault.Wrap(fault.Conflict, ErrDeposed, i18n.T("store.deposed"))
}

// raiseFor bounds how long a new leader waits for writes of the former one that are under way.
const raiseFor = 20 * time.Second

// Lead tries to become the one controller among all portals on this database, without waiting for another one to end.
// Where ok is true, lost is closed when the database no longer vouches for it, or has refused a late write: stop at
// once then. Call release at the end, also after lost; the next one leads as soon as it has returned.
//
// The lock alone is a help, not a fence: a leader that was asleep may act for some seconds after another one began.
// What it writes here under Fenced is refused; what it writes to a cluster carries the generation.
func (s *Store) Lead(ctx context.Context) (release func(), ok bool, lost <-chan struct{}) {
	let, ok, gone := s.lead(ctx, s)
	if !ok {
		return let, false, nil
	}
	t, err := s.beginTerm(ctx)
	if err != nil {
		let()
		if ctx.Err() == nil {
			s.opts.Log.WarnContext(ctx, "could not take the lead", "error", err)
		}
		return func() {}, false, nil
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-gone:
		case <-t.deposed:
		case <-ended:
		}
	}()
	var once sync.Once
	return func() { once.Do(func() { s.term.CompareAndSwap(t, nil); close(ended); let(); <-over }) }, true, over
}

// beginTerm raises the number: from its commit on no former leader writes.
func (s *Store) beginTerm(ctx context.Context) (*term, error) {
	ctx, cancel := context.WithTimeout(ctx, raiseFor)
	defer cancel()
	t := &term{deposed: make(chan struct{})}
	err := s.write(ctx, func(tx *tx) error {
		return tx.at(ctx).Raw("UPDATE leadership SET epoch = epoch + 1 WHERE id = 1 RETURNING epoch").Scan(&t.epoch).Error
	})
	if err != nil {
		return nil, err
	}
	s.term.Store(t)
	return t, nil
}
