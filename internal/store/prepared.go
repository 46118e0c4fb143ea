package store

import (
	"context"
	"database/sql"
	"strings"
	"sync"
)

const (
	// mostPrepared bounds the statements that are kept, each on every connection that met it (some kilobytes).
	mostPrepared = 400
	// mostParameters leaves out lists of any length, each of which is a statement of its own.
	mostParameters = 24
)

// prepared is the reading pool of SQLite, which parses a statement anew each time otherwise: a tenth of what a page
// costs. A statement stays until the pool is closed, so none is taken from under a reader. Transactions do without: in
// one, a statement may be asked again while its rows are still read, which SQLite refuses.
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
