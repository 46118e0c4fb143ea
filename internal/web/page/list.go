package page

import (
	"cmp"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// RowsPerPage is how many rows of a list stand on a page.
const RowsPerPage = 25

// List is what an address asks of a list: "sort=-cost&p=2" is its second page, the dearest first.
type List struct {
	// Sort is the column that the list is sorted by, Down whether the largest comes first.
	Sort string
	Down bool
	// Page is from 1 on.
	Page int

	path    string
	query   url.Values
	columns []string
	usual   string
	prefix  string // of its parameters
}

// ListOf reads the address. Columns are those that the list can be sorted by; a minus says that the first click sorts
// the largest to the top. The list opens in the order of the first one. What makes no sense is the list as it opens.
// Kept are the other names in the address that say what the page shows.
func ListOf(k Call, path string, columns []string, kept ...string) List {
	return ListIn(k, path, "", columns, kept...)
}

// ListIn is ListOf for one of several lists of a page: its id stands before its parameters.
func ListIn(k Call, path, id string, columns []string, kept ...string) List {
	l := List{path: path, query: url.Values{}, columns: columns, usual: columns[0]}
	if id != "" {
		l.prefix = id + "-"
	}
	for _, name := range kept {
		if values := k.Query[name]; len(values) > 0 && values[0] != "" {
			l.query[name] = values
		}
	}
	l.Page = max(1, whole(k.Get(l.prefix+"p")))
	l.Sort, l.Down = orderOf(l.usual)
	if name, down := orderOf(k.Get(l.prefix + "sort")); slices.ContainsFunc(columns, func(c string) bool {
		known, _ := orderOf(c)
		return known == name
	}) {
		l.Sort, l.Down = name, down
	}
	return l
}

// whole is a number of an address; 0 for nonsense, and for pages that no list has.
func whole(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n > 1_000_000 {
		return 0
	}
	return n
}

func orderOf(word string) (column string, down bool) {
	column, down = strings.CutPrefix(word, "-")
	return column, down
}

// Usual reports whether it is in the order in which it opens.
func (l List) Usual() bool { return l.order() == l.usual }

func (l List) order() string {
	if l.Down {
		return "-" + l.Sort
	}
	return l.Sort
}

// turned is the order that a click on a head asks for: the column's own, and the other way round where it is that
// already.
func (l List) turned(column string) string {
	name, _ := orderOf(column)
	if l.order() != column {
		return column
	}
	if l.Down {
		return name
	}
	return "-" + name
}

func (l List) url(order string, at int) string {
	q := Cloned(l.query)
	if order != l.usual {
		q.Set(l.prefix+"sort", order)
	}
	if at > 1 {
		q.Set(l.prefix+"p", strconv.Itoa(at))
	}
	address := WithQuery(l.path, q)
	if l.prefix != "" {
		address += "#" + strings.TrimSuffix(l.prefix, "-")
	}
	return address
}

// Here is the address of the page that is shown, in its order.
func (l List) Here() string { return l.url(l.order(), l.Page) }

// Within is the list on a page that exists: the last one where there are fewer.
func (l List) Within(total int) List {
	l.Page = max(1, min(l.Page, (total+RowsPerPage-1)/RowsPerPage))
	return l
}

// Offset is how many rows stand before the page.
func (l List) Offset() int { return (l.Page - 1) * RowsPerPage }

// Model leads through a list of so many rows; title is what the list is called.
func (l List) Model(say Words, title string, total int) ui.ListModel {
	l = l.Within(total)
	m := ui.ListModel{Orders: map[string]ui.OrderModel{}, Whole: total <= RowsPerPage && l.query.Get("q") == "",
		Count: say.S("web.entries", "Count", total), Pages: ui.PaginationModel{Label: say.S("web.pages_of", "List", title)}}
	for _, c := range l.columns {
		name, _ := orderOf(c)
		o := ui.OrderModel{URL: l.url(l.turned(c), 1)}
		if name == l.Sort {
			o.Sorted = "ascending"
			if l.Down {
				o.Sorted = "descending"
			}
		}
		m.Orders[name] = o
	}
	if l.order() != l.usual {
		m.Kept = []ui.HiddenModel{{Name: l.prefix + "sort", Value: l.order()}}
	}
	if total > RowsPerPage {
		m.Count = say.S("web.entries_shown", "From", l.Offset()+1, "To", min(l.Offset()+RowsPerPage, total), "Total",
			total)
		m.Pages.Shown = m.Count
	}
	if l.Page > 1 {
		m.Pages.PrevURL = l.url(l.order(), l.Page-1)
	}
	if l.Offset()+RowsPerPage < total {
		m.Pages.NextURL = l.url(l.order(), l.Page+1)
	}
	return m
}

// Key is the sort key of a row in a column. Rows without a value sort last in both directions.
type Key[T any] func(row T) (k key, known bool)

type key struct {
	number float64
	text   string
}

// ByText sorts as people read: upper and lower case alike.
func ByText[T any](of func(T) string) Key[T] {
	return func(row T) (key, bool) { return key{text: strings.ToLower(of(row))}, true }
}

// ByNumber sorts by an amount that every row has.
func ByNumber[T any, N ~int | ~int64 | ~float64](of func(T) N) Key[T] {
	return func(row T) (key, bool) { return key{number: float64(of(row))}, true }
}

// ByKnown sorts by an amount that is unknown of some rows.
func ByKnown[T any, N ~int | ~int64 | ~float64](of func(T) (N, bool)) Key[T] {
	return func(row T) (key, bool) {
		n, known := of(row)
		return key{number: float64(n)}, known
	}
}

// Sorted are the rows of the list's page in its order; rows that are alike in it stay as they were.
func Sorted[T any](l List, rows []T, keys map[string]Key[T]) []T {
	begin := min(l.Offset(), len(rows))
	end := min(begin+RowsPerPage, len(rows))
	of, ok := keys[l.Sort]
	if !ok {
		return rows[begin:end]
	}
	type keyed struct {
		key
		known bool
		place int
	}
	all := func(yield func(keyed) bool) {
		for i, row := range rows {
			k := keyed{place: i}
			if k.key, k.known = of(row); !yield(k) {
				return
			}
		}
	}
	order := firstOf(all, end, func(a, b keyed) int {
		place := cmp.Compare(a.place, b.place)
		switch {
		case a.known != b.known && a.known:
			return -1
		case a.known != b.known:
			return 1
		case l.Down:
			a, b = b, a
		}
		if c := cmp.Compare(a.number, b.number); c != 0 {
			return c
		}
		if c := strings.Compare(a.text, b.text); c != 0 {
			return c
		}
		return place
	})
	out := make([]T, 0, RowsPerPage)
	for _, k := range order[begin:] {
		out = append(out, rows[k.place])
	}
	return out
}

// Amount is what the row at a place of a list is sorted by, and whether that is known.
type Amount func(place int) (amount float64, known bool)

// Ranked are the places of the rows on the list's page, out of so many rows, in the order of their amounts. As Sorted,
// for thousands of rows that need not be read to be sorted.
func Ranked(l List, rows int, by Amount) []int {
	type ranked struct {
		amount float64
		known  bool
		place  int
	}
	begin := min(l.Offset(), rows)
	all := func(yield func(ranked) bool) {
		for i := range rows {
			r := ranked{place: i}
			if r.amount, r.known = by(i); !yield(r) {
				return
			}
		}
	}
	order := firstOf(all, min(begin+RowsPerPage, rows), func(a, b ranked) int {
		switch {
		case a.known != b.known && a.known:
			return -1
		case a.known != b.known:
			return 1
		case a.amount != b.amount && (a.amount < b.amount) != l.Down:
			return -1
		case a.amount != b.amount:
			return 1
		}
		return cmp.Compare(a.place, b.place)
	})
	places := make([]int, 0, RowsPerPage)
	for _, r := range order[begin:] {
		places = append(places, r.place)
	}
	return places
}

// firstOf are the n first of a list in an order, and no other: a page shows few of thousands.
func firstOf[T any](list iter.Seq[T], n int, compare func(a, b T) int) []T {
	best, cut := make([]T, 0, 2*n), false
	for item := range list {
		if cut && compare(item, best[n-1]) >= 0 {
			continue
		}
		if best = append(best, item); len(best) == 2*n {
			slices.SortFunc(best, compare)
			best, cut = best[:n], true
		}
	}
	slices.SortFunc(best, compare)
	return best[:min(n, len(best))]
}

// RowsOf is the page that is asked for of a list that is in memory.
func RowsOf[T any](say Words, l List, title string, rows []T, keys map[string]Key[T]) ([]T, ui.ListModel) {
	m := l.Model(say, title, len(rows))
	l = l.Within(len(rows))
	return Sorted(l, rows, keys), m
}

// Matching are the rows in whose text each word that was typed is found.
func Matching[T any](rows []T, typed string, text func(T) string) []T {
	words := strings.Fields(strings.ToLower(typed))
	if len(words) == 0 {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(row T) bool {
		in := strings.ToLower(text(row))
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(in, word) })
	})
}
