package store

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// fixed is a read whose statement differs in nothing but its values. gorm writes it once for each database: writing it
// takes as long as the answer does, and these are asked for by every page, or several times by one. Lists that a filter
// narrows are not fixed.
type fixed[Row any] struct {
	// query has something for each value, in the order in which they are given; what it is does not matter.
	query func(*gorm.DB) *gorm.DB
	texts sync.Map // fixedText by the name of the database
}

// fixedText is the statement for one database.
type fixedText struct {
	sql  string
	more []any // values that gorm adds after those of the caller, such as a limit
}

func asked[Row any](query func(*gorm.DB) *gorm.DB) *fixed[Row] { return &fixed[Row]{query: query} }

// text is the statement that gorm writes for so many values.
func (f *fixed[Row]) text(db *gorm.DB, values int) (fixedText, error) {
	name := db.Name()
	if known, ok := f.texts.Load(name); ok {
		return known.(fixedText), nil
	}
	query := f.query(db.Session(&gorm.Session{NewDB: true, DryRun: true, Logger: logger.Discard}))
	if query.Statement.SQL.Len() == 0 { // one that gorm was not given as SQL
		query = query.Find(&[]Row{})
	}
	if query.Error != nil {
		return fixedText{}, query.Error
	}
	text := fixedText{query.Statement.SQL.String(), query.Statement.Vars[values:]}
	f.texts.Store(name, text)
	return text, nil
}

// rows asks past gorm.
func (f *fixed[Row]) rows(ctx context.Context, v view, values []any) (*sql.Rows, error) {
	text, err := f.text(v.db, len(values))
	if err != nil {
		return nil, err
	}
	values = append(values, text.more...)
	begun := time.Now()
	rows, err := v.db.Statement.ConnPool.QueryContext(ctx, text.sql, values...)
	v.db.Logger.Trace(ctx, begun, func() (string, int64) { return v.db.Explain(text.sql, values...), -1 }, err)
	return rows, err
}

// all reads every row.
func (f *fixed[Row]) all(ctx context.Context, v view, values ...any) ([]Row, error) {
	found, err := f.rows(ctx, v, values)
	if err != nil {
		return nil, failure(err)
	}
	return scanned[Row](v.db, found)
}

// one reads the single row that the query is about, see one; the query has the limit.
func (f *fixed[Row]) one(ctx context.Context, v view, missing i18n.Text, values ...any) (row Row, err error) {
	rows, err := f.all(ctx, v, values...)
	if err == nil && len(rows) == 0 || unwritable(err) {
		return row, fault.New(fault.NotFound, missing)
	}
	if err == nil {
		row = rows[0]
	}
	return row, err
}

// into reads the columns of the first row to where they go; nothing where there is none.
func (f *fixed[Row]) into(ctx context.Context, v view, to []any, values ...any) error {
	rows, err := f.rows(ctx, v, values)
	if err != nil {
		return failure(err)
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return failure(err)
		}
	}
	return failure(rows.Err())
}
