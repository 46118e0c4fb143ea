package store

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gorm.io/gorm"
)

// all reads every row of the query. gorm writes the statement; the rows go straight into the fields, without what gorm
// allocates and reflects for each field of each row, which took as long as the database did.
func all[Row any](query *gorm.DB) ([]Row, error) {
	if query.Statement.Model == nil {
		query = query.Model(new(Row))
	}
	found, err := query.Rows()
	if err != nil {
		return nil, failure(err)
	}
	return scanned[Row](query, found)
}

// scanned reads the rows into their fields and closes them.
func scanned[Row any](db *gorm.DB, found *sql.Rows) ([]Row, error) {
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		return nil, failure(err)
	}
	places, err := placesOf[Row](db, columns)
	if err != nil {
		return nil, err
	}
	rows, into := []Row{}, make([]any, len(columns))
	for found.Next() {
		var zero Row
		rows = append(rows, zero)
		fields := reflect.ValueOf(&rows[len(rows)-1]).Elem()
		for i, place := range places {
			into[i] = target(fields.FieldByIndex(place).Addr().Interface())
		}
		if err := found.Scan(into...); err != nil {
			return nil, failure(err)
		}
	}
	return rows, failure(found.Err())
}

// placesKey is a kind of row and what was asked of it.
type placesKey struct {
	kind    reflect.Type
	columns string
}

// placesKept are the fields of a row by the columns of a statement. Statements of the program's own are all there are.
var placesKept sync.Map

// placesOf are the fields that columns go to.
func placesOf[Row any](db *gorm.DB, columns []string) ([][]int, error) {
	key := placesKey{reflect.TypeFor[Row](), strings.Join(columns, ",")}
	if places, known := placesKept.Load(key); known {
		return places.([][]int), nil
	}
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(new(Row)); err != nil {
		return nil, failure(err)
	}
	places := make([][]int, len(columns))
	for i, column := range columns {
		field := stmt.Schema.LookUpField(column)
		if field == nil || slices.Min(field.StructField.Index) < 0 {
			return nil, failure(fmt.Errorf("the column %s has no field in %s", column, key.kind))
		}
		places[i] = field.StructField.Index
	}
	placesKept.Store(key, places)
	return places, nil
}

// target is where a column is read to. NULL is the zero of a plain field, as a column that an older version left out
// is.
func target(field any) any {
	switch f := field.(type) {
	case *string:
		return plain[string]{f}
	case *int:
		return plain[int]{f}
	case *int64:
		return plain[int64]{f}
	case *float64:
		return plain[float64]{f}
	case *bool:
		return plain[bool]{f}
	}
	return field
}

// plain reads a column that may be NULL.
type plain[T any] struct{ into *T }

// Scan is that of sql.Scanner.
func (p plain[T]) Scan(from any) error {
	if is, ok := from.(T); ok {
		*p.into = is
		return nil
	}
	var value sql.Null[T]
	err := value.Scan(from)
	*p.into = value.V
	return err
}

// number reads the one number that a statement gives; 0 where it gives no row.
func number(query *gorm.DB) (n int64, err error) {
	rows, err := query.Rows()
	if err != nil {
		return 0, failure(err)
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, failure(err)
		}
	}
	return n, failure(rows.Err())
}
