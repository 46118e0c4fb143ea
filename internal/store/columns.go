package store

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// timestamp is a time as the database keeps it: microseconds since 1970 in UTC, NULL for the zero time.
type timestamp struct{ sql.NullInt64 }

func timestampOf(t time.Time) timestamp {
	if t.IsZero() {
		return timestamp{}
	}
	return timestamp{sql.NullInt64{Int64: t.UnixMicro(), Valid: true}}
}

func (m timestamp) time() time.Time {
	if !m.Valid {
		return time.Time{}
	}
	return time.UnixMicro(m.Int64).UTC()
}

// exact is the time as it comes back from the database.
func exact(t time.Time) time.Time { return timestampOf(t).time() }

// document is a value as JSON in a text column.
type document[T any] struct{ is T }

func doc[T any](value T) document[T] { return document[T]{is: value} }

// Value writes the JSON.
func (d document[T]) Value() (driver.Value, error) {
	text, err := json.Marshal(d.is)
	return string(text), err
}

// Scan reads the JSON.
func (d *document[T]) Scan(from any) error {
	switch text := from.(type) {
	case string:
		return json.Unmarshal([]byte(text), &d.is)
	case []byte:
		return json.Unmarshal(text, &d.is)
	}
	return fmt.Errorf("a document column holds %T", from)
}

// GormDataType tells gorm that the column is text.
func (document[T]) GormDataType() string { return "text" }

// list is values as JSON in a text column, and an empty text where there are none.
type list[T any] []T

// Value writes the JSON.
func (l list[T]) Value() (driver.Value, error) {
	if len(l) == 0 {
		return "", nil
	}
	return document[[]T]{l}.Value()
}

// Scan reads the JSON.
func (l *list[T]) Scan(from any) error {
	if text, ok := from.(string); ok && text == "" {
		return nil
	}
	var d document[[]T]
	err := d.Scan(from)
	*l = d.is
	return err
}

// GormDataType tells gorm that the column is text.
func (list[T]) GormDataType() string { return "text" }

// shared is a document that many rows have alike, such as the size that each of them froze: it is decoded once for each
// text. Whoever reads it must not write to it, as for everything that a store gives.
type shared[T any] struct{ is T }

func share[T any](value T) shared[T] { return shared[T]{is: value} }

// Value writes the JSON.
func (d shared[T]) Value() (driver.Value, error) { return document[T](d).Value() }

// Scan reads the JSON.
func (d *shared[T]) Scan(from any) error {
	switch text := from.(type) {
	case string:
		return d.read(text)
	case []byte:
		return d.read(string(text))
	}
	return fmt.Errorf("a document column holds %T", from)
}

// UnmarshalJSON reads it inside another document.
func (d *shared[T]) UnmarshalJSON(text []byte) error { return d.read(string(text)) }

// GormDataType tells gorm that the column is text.
func (shared[T]) GormDataType() string { return "text" }

func (d *shared[T]) read(text string) error {
	var zero T
	key := decodedKey{reflect.TypeOf(zero), text}
	if value, ok := decoded.get(key); ok {
		d.is = value.(T)
		return nil
	}
	if err := json.Unmarshal([]byte(text), &d.is); err != nil {
		return err
	}
	decoded.put(key, d.is)
	return nil
}

// decoded is what was read of shared documents.
var decoded decodings

type decodedKey struct {
	kind reflect.Type
	text string
}

// mostDecoded is far more than the sizes and images that a catalog has had; when it is reached, everything is
// forgotten.
const mostDecoded = 1000

type decodings struct {
	mu    sync.RWMutex
	known map[decodedKey]any
}

func (d *decodings) get(key decodedKey) (any, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	value, ok := d.known[key]
	return value, ok
}

func (d *decodings) put(key decodedKey, value any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= mostDecoded {
		d.known = map[decodedKey]any{}
	}
	d.known[key] = value
}

// optional is a text column that is NULL for "".
func optional(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }

// writable refuses a row with text that a database cannot hold: PostgreSQL has no NUL in text and wants UTF-8. SQLite
// would take it, and must not, for what is written on one has to be readable on the other. Documents are JSON, which
// escapes both.
func writable(row any) error {
	value := reflect.Indirect(reflect.ValueOf(row))
	for i := range value.NumField() {
		if field := value.Field(i); field.Kind() == reflect.String && !clean(field.String()) {
			return notText(nil)
		}
	}
	return nil
}

func clean(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func notText(cause error) error { return fault.Wrap(fault.Invalid, cause, i18n.T("store.not_text")) }
