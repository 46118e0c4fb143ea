package store

import (
	"context"
	"database/sql"
	"strings"
	"sync"

	"gorm.io/gorm"
)

const (
	// mostPrepared bounds the statements that are kept, each on every connection that met it (some kilobytes).
	mostPrepared = 400
	// mostParameters leaves out lists of any length, each of which is a statement of its own.
	mostParameters = 24
)

// prepared is the reading pool of SQLite, which parses a statement anew each time otherwise: a tenth of what a page
// costs. A statement stays until the pool is closed, so none is taken from under a reader. In a transaction, nothing
// may be asked by a statement whose rows are still being read: it is the same one, and SQLite refuses that.
type prepared struct {
	*sql.DB
	mu    sync.RWMutex
	kept  map[string]*sql.Stmt
	limit int
}

func newPrepared(db *sql.DB, limit int) *prepared {
	return &prepared{DB: db, kept: map[string]*sql.Stmt{}, limit: limit}
}

// QueryContext also counts for gorm's Find, Take, Scan and Rows.
func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := p.statement(ctx, query, len(args)); stmt != nil {
		return stmt.QueryContext(ctx, args...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

// BeginTx begins a transaction with the same statements.
func (p *prepared) BeginTx(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	tx, err := p.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &preparedTx{Tx: tx, of: p}, nil
}

// preparedTx is a transaction of the reading pool. A statement that is not kept yet is prepared after its end: that
// takes a connection of the pool, and transactions may hold all of them.
type preparedTx struct {
	*sql.Tx
	of      *prepared
	missing []func()
}

// QueryContext also counts for gorm's Find, Take, Scan and Rows.
func (t *preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := t.of.known(query); stmt != nil {
		return t.StmtContext(ctx, stmt).QueryContext(ctx, args...)
	}
	t.missing = append(t.missing, func() { t.of.statement(ctx, query, len(args)) })
	return t.Tx.QueryContext(ctx, query, args...)
}

// Commit ends the transaction.
func (t *preparedTx) Commit() error {
	defer t.prepare()
	return t.Tx.Commit()
}

// Rollback ends the transaction.
func (t *preparedTx) Rollback() error {
	defer t.prepare()
	return t.Tx.Rollback()
}

func (t *preparedTx) prepare() {
	for _, prepare := range t.missing {
		prepare()
	}
	t.missing = nil
}

func (p *prepared) known(query string) *sql.Stmt {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.kept[query]
}

// statement is nil where none is kept: the query then says itself what is wrong with it.
func (p *prepared) statement(ctx context.Context, query string, args int) *sql.Stmt {
	p.mu.RLock()
	stmt, full := p.kept[query], len(p.kept) >= p.limit
	p.mu.RUnlock()
	if stmt != nil || full || args > mostParameters {
		return stmt
	}
	made, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if stmt = p.kept[query]; stmt != nil || len(p.kept) >= p.limit {
		_ = made.Close() // somebody was quicker
		return stmt
	}
	p.kept[strings.Clone(query)] = made
	return made
}
