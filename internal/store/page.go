package store

import (
	"encoding/base64"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

const (
	usualPage  = 100
	largestOne = 500
)

func pageSize(wanted int) int {
	if wanted <= 0 {
		return usualPage
	}
	return min(wanted, largestOne)
}

// cursorAt is where a page ended: the list it belongs to, and the sort key of the last row. Lists are newest first, so
// the next page holds what is older; rows that arrive later stand before it and do not move it.
type cursorAt struct {
	list string // one letter
	at   int64  // microseconds, or the number of an event
	id   string
}

// String is the cursor: opaque to callers, who must not build one.
func (p cursorAt) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.list + "." + strconv.FormatInt(p.at, 36) + "." + p.id))
}

// parseCursor reads a cursor; one of another list is as bad as a broken one.
func parseCursor(list, cursor string) (cursorAt, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.SplitN(string(raw), ".", 3)
	if err != nil || len(parts) != 3 || parts[0] != list || !clean(parts[2]) {
		return cursorAt{}, badCursor()
	}
	at, err := strconv.ParseInt(parts[1], 36, 64)
	if err != nil {
		return cursorAt{}, badCursor()
	}
	return cursorAt{list: list, at: at, id: parts[2]}, nil
}

func badCursor() error {
	return fault.InvalidFields([]fault.Field{{Name: "cursor", Reason: i18n.T("store.bad_cursor")}})
}

// newestFirst orders a query by created_at and id, begins it after the cursor, and reads one row more than the page to
// know whether there is another.
func newestFirst(query *gorm.DB, list, cursor string, limit int) (*gorm.DB, error) {
	if cursor != "" {
		p, err := parseCursor(list, cursor)
		if err != nil {
			return nil, err
		}
		query = query.Where("(created_at, id) < (?, ?)", p.at, p.id)
	}
	return query.Order("created_at DESC, id DESC").Limit(limit + 1), nil
}

// listOrder orders a list by one column of numbers and the id, descending unless it is said.
type listOrder struct {
	list      string // one letter, for the cursors
	column    string
	ascending bool
}

// backwards marks the cursor of a page that ends before a row instead of beginning after it.
const backwards = "<"

// place reads a cursor of this order; "" is none. Back is true for that of a page that ends before it.
func (o listOrder) place(cursor string) (at cursorAt, back bool, err error) {
	if cursor == "" {
		return cursorAt{}, false, nil
	}
	if at, err = parseCursor(o.list, cursor); err == nil {
		return at, false, nil
	}
	at, err = parseCursor(o.list+backwards, cursor)
	return at, true, err
}

// page orders a query, begins it at the cursor, and reads one row more than the page to know whether there is another.
// Back is true for a page that ends before its cursor: its rows come in the opposite order.
func (o listOrder) page(query *gorm.DB, cursor string, limit int) (page *gorm.DB, back bool, err error) {
	p, back, err := o.place(cursor)
	switch {
	case err != nil:
		return nil, false, err
	case back:
		query = o.after(query, p.at, p.id)
	case cursor != "":
		query = query.Where("("+o.column+", id) "+o.sign(true)+" (?, ?)", p.at, p.id)
	}
	way := " DESC"
	if o.ascending != back {
		way = ""
	}
	return query.Order(o.column + way + ", id" + way).Limit(limit + 1), back, nil
}

// after narrows a query to what stands before a row.
func (o listOrder) after(query *gorm.DB, at int64, id string) *gorm.DB {
	return query.Where("("+o.column+", id) "+o.sign(false)+" (?, ?)", at, id)
}

// sign compares with a row: what comes after it, or before.
func (o listOrder) sign(after bool) string {
	if o.ascending == after {
		return ">"
	}
	return "<"
}

// likePart compares with what containing made. SQLite plans a statement anew each time that a value is bound to a bare
// parameter of LIKE, because what it begins with might choose an index.
const likePart = " LIKE CAST(? AS TEXT) ESCAPE '!'"

// has is that a text is in a column, letter for letter. It costs a fraction of LIKE.
func has(query *gorm.DB, column string) string {
	if query.Dialector.Name() == "sqlite" {
		return "instr(" + column + ", ?) > 0"
	}
	return "strpos(" + column + ", ?) > 0"
}

// folded is a column in lower case, for likePart. On SQLite it is the column as it is: LIKE there takes no notice of
// the case of ASCII letters, lower() changes no others, and to call it takes as long again as to compare.
// https://www.sqlite.org/lang_expr.html#like
func folded(query *gorm.DB, column string) string {
	if query.Dialector.Name() == "sqlite" {
		return column
	}
	return "lower(" + column + ")"
}

// withText leaves the rows in which each word is a part of one of the columns, or is the id. Words come in lower case.
func withText(query *gorm.DB, words []string, columns ...string) *gorm.DB {
	for _, word := range words {
		if !clean(word) {
			return query.Where("1 = 0")
		}
		part := containing(word)
		condition, values := "id = ?", []any{word}
		for _, column := range columns {
			condition, values = condition+" OR "+folded(query, column)+likePart, append(values, part)
		}
		query = query.Where("("+condition+")", values...)
	}
	return query
}

// paged takes the extra row off and says where the next page begins: "" where there is none.
func paged[Row any](rows []Row, limit int, at func(Row) cursorAt) ([]Row, string) {
	if len(rows) <= limit {
		return rows, ""
	}
	rows = rows[:limit]
	return rows, at(rows[limit-1]).String()
}

// among narrows a query to a list of values; nil means all. An empty list means none: the caller has to look before.
func among[T any](query *gorm.DB, column string, values []T) *gorm.DB {
	if len(values) == 0 {
		return query
	}
	return query.Where(column+" IN ?", values)
}

// none reports whether a list of tenants lets nothing through: nil lets everything, an empty one nothing.
func none(tenants []string) bool { return tenants != nil && len(tenants) == 0 }
