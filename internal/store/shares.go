package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"
)

// transactions is charged with reads that take a connection for longer than a statement.
const transactions = "(transactions)"

// errTableStands is the error of a read that found every connection of its table's share waiting.
var errTableStands = errors.New("the reads before this one wait for a lock")

// shares is the reading pool of PostgreSQL. Reads of one table get a part of it: those that wait for a lock on the
// table leave connections for the reads of others. It counts from the call to the first row, which is what a lock holds
// up.
type shares struct {
	*sql.DB
	most     int           // statements of one table at once
	patience time.Duration // for a place where none gets its answer

	mu     sync.Mutex
	tables map[string]*tableShare // the tables in our own SQL, so bounded
}

// tableShare is one table's part.
type tableShare struct {
	places   chan struct{}
	answered time.Time // when the last statement got its answer, by the monotonic clock; guarded by shares.mu
}

func newShares(db *sql.DB, connections int, patience time.Duration) *shares {
	return &shares{DB: db, most: max(1, connections/2), patience: patience,
		tables: map[string]*tableShare{transactions: {places: make(chan struct{}, max(1, connections/3))}}}
}

// QueryContext also counts for gorm's Find, Take and Scan.
func (s *shares) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	leave, err := s.enter(ctx, tablesOf(query)...)
	if err != nil {
		return nil, err
	}
	rows, err := s.DB.QueryContext(ctx, query, args...)
	leave(err == nil)
	return rows, err
}

// BeginTx is gorm's ConnPoolBeginner.
func (s *shares) BeginTx(ctx context.Context, o *sql.TxOptions) (gorm.ConnPool, error) {
	leave, err := s.enter(ctx, transactions)
	if err != nil {
		return nil, err
	}
	tx, err := s.DB.BeginTx(ctx, o)
	if err != nil {
		leave(false)
		return nil, err
	}
	return &sharedTx{Tx: tx, leave: leave}, nil
}

// sharedTx gives its place back when it ends.
type sharedTx struct {
	*sql.Tx
	leave func(answered bool)
	once  sync.Once
}

func (t *sharedTx) Commit() error {
	defer t.once.Do(func() { t.leave(true) })
	return t.Tx.Commit()
}

// Rollback is also what follows a statement that waited for too long.
func (t *sharedTx) Rollback() error {
	defer t.once.Do(func() { t.leave(false) })
	return t.Tx.Rollback()
}

// enter takes a place for a statement on these tables; leave gives it back.
func (s *shares) enter(ctx context.Context, tables ...string) (leave func(answered bool), err error) {
	charged := s.stalled(tables)
	if charged == nil {
		return func(bool) {}, nil
	}
	if err := s.wait(ctx, charged); err != nil {
		return nil, err
	}
	return func(answered bool) {
		if answered {
			s.answered(tables)
		}
		<-charged.places
	}, nil
}

// stalled is the table that has not answered for longest: of a join with a locked table it is that one, for reads of
// the other one go on. Nil without a table.
func (s *shares) stalled(tables []string) *tableShare {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest *tableShare
	for _, name := range tables {
		t := s.tables[name]
		if t == nil {
			t = &tableShare{places: make(chan struct{}, s.most)}
			s.tables[name] = t
		}
		if oldest == nil || t.answered.Before(oldest.answered) {
			oldest = t
		}
	}
	return oldest
}

// wait is patient for as long as statements of the table get their answers: much to do is no reason to refuse.
func (s *shares) wait(ctx context.Context, t *tableShare) error {
	select {
	case t.places <- struct{}{}:
		return nil
	default:
	}
	ticker := time.NewTicker(s.patience)
	defer ticker.Stop()
	for {
		select {
		case t.places <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if s.stands(t) {
				return errTableStands
			}
		}
	}
}

func (s *shares) stands(t *tableShare) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(t.answered) > s.patience
}

func (s *shares) answered(tables []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, name := range tables {
		s.tables[name].answered = now
	}
}

// tablesOf lists the names after FROM and JOIN. What is no table among them, such as the name of a WITH, has a share of
// its own, which is harmless.
func tablesOf(query string) (names []string) {
	for _, word := range []string{"FROM", "JOIN"} {
		for rest := query; ; {
			_, after, found := strings.Cut(rest, word)
			if !found {
				break
			}
			rest = after
			if name := nameAt(after); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// nameAt is the identifier that a text begins with, after white space and a quotation mark.
func nameAt(text string) string {
	trimmed := strings.TrimLeft(text, " \t\n\"")
	if len(trimmed) == len(text) {
		return "" // part of a longer word
	}
	end := strings.IndexFunc(trimmed, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if end < 0 {
		return trimmed
	}
	return trimmed[:end]
}
