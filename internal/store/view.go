package store

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// view is where one reads: the reading pool, or a transaction. Every read is a method of it.
type view struct {
	db     *gorm.DB
	window int64   // Options.SearchWindow
	kept   *caches // nil in a transaction that writes: nothing of what it wrote is in them
	moment *moment // in a transaction: all reads see one moment; nil outside
}

// moment is the number of the last change that a transaction sees, once it was asked for.
type moment struct {
	last  int64
	known bool
}

func (v view) at(ctx context.Context) *gorm.DB { return v.db.WithContext(ctx) }

// ReadOnly runs fn in one transaction that sees the database as it is at one moment, and in which nothing can be
// written.
func (s *Store) ReadOnly(ctx context.Context, fn func(request.Reader) error) error {
	return s.readOnly(ctx, func(v view) error { return fn(v) })
}

// readOnly is ReadOnly; in a transaction it runs fn in that one.
func (v view) readOnly(ctx context.Context, fn func(view) error) error {
	if v.moment != nil {
		return fn(v)
	}
	return failure(v.at(ctx).Transaction(func(db *gorm.DB) error {
		return fn(view{db: db, window: v.window, kept: v.kept, moment: &moment{}})
	}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}))
}

// one reads the single row that the query is about; none gives a NotFound with the sentence. A name that the database
// cannot even hold is the name of nothing.
func one[Row any](query *gorm.DB, missing i18n.Text) (row Row, err error) {
	rows, err := all[Row](query.Limit(1))
	if err == nil && len(rows) == 0 || unwritable(err) {
		return row, fault.New(fault.NotFound, missing)
	}
	if err == nil {
		row = rows[0]
	}
	return row, err
}

// each turns rows into what the other packages know.
func each[Row, Value any](rows []Row, to func(Row) Value) []Value {
	values := make([]Value, len(rows))
	for i, row := range rows {
		values[i] = to(row)
	}
	return values
}
