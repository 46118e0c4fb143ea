package page

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func listAt(t *testing.T, query, id string, total int) (List, ui.ListModel) {
	t.Helper()
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	l := ListIn(Call{Query: q}, "/things", id, []string{"name", "-cost", "-use"}, "q", "scope")
	return l.Within(total), l.Model(Words{Localizer: i18n.MustLoad().For("en")}, "Things", total)
}

// TestWhatAnAddressAsksOfAList: the part that exists, in an order that there is; everything else is the list as it
// opens. What the list does not know stays out of its links.
func TestWhatAnAddressAsksOfAList(t *testing.T) {
	t.Parallel()
	type answer struct {
		Page       int
		Order      string
		Prev, Next string
		Cost       ui.OrderModel
		Count      string
		Whole      bool
		Kept       string
	}
	const down = "/things?sort=-cost"
	for name, c := range map[string]struct {
		query, id string
		total     int
		want      answer
	}{
		"as it opens": {"", "", 60,
			answer{1, "name", "", "/things?p=2", ui.OrderModel{URL: down}, "1–25 of 60", false, ""}},
		"in the middle": {"p=2&sort=-cost&scope=all&page=home&id=w-1", "", 60, answer{2, "-cost",
			"/things?scope=all&sort=-cost", "/things?p=3&scope=all&sort=-cost",
			ui.OrderModel{URL: "/things?scope=all&sort=cost", Sorted: "descending"}, "26–50 of 60", false, "-cost"}},
		"turned round": {"sort=cost", "", 3, answer{1, "cost", "", "", ui.OrderModel{URL: down, Sorted: "ascending"},
			"3 entries", true, "cost"}},
		"the last page, full": {"p=2", "", 50,
			answer{2, "name", "/things", "", ui.OrderModel{URL: down}, "26–50 of 50", false, ""}},
		"beyond the end": {"p=9", "", 26,
			answer{2, "name", "/things", "", ui.OrderModel{URL: down}, "26–26 of 26", false, ""}},
		"of nothing": {"p=9", "", 0,
			answer{1, "name", "", "", ui.OrderModel{URL: down}, "0 entries", true, ""}},
		"one": {"", "", 1,
			answer{1, "name", "", "", ui.OrderModel{URL: down}, "one entry", true, ""}},
		"filtered to a few": {"q=a+b", "", 2,
			answer{1, "name", "", "", ui.OrderModel{URL: "/things?q=a+b&sort=-cost"}, "2 entries", false, ""}},
		"a page of words": {"p=two", "", 60,
			answer{1, "name", "", "/things?p=2", ui.OrderModel{URL: down}, "1–25 of 60", false, ""}},
		"a page below one": {"p=-1", "", 60,
			answer{1, "name", "", "/things?p=2", ui.OrderModel{URL: down}, "1–25 of 60", false, ""}},
		"an order of nothing": {"sort=--cost", "", 60,
			answer{1, "name", "", "/things?p=2", ui.OrderModel{URL: down}, "1–25 of 60", false, ""}},
		"the usual, said": {"sort=name", "", 2,
			answer{1, "name", "", "", ui.OrderModel{URL: down}, "2 entries", true, ""}},
		"one list of several": {"seats-p=2&p=9&seats-sort=cost", "seats", 60,
			answer{2, "cost", "/things?seats-sort=cost#seats",
				"/things?seats-p=3&seats-sort=cost#seats", ui.OrderModel{URL: "/things?seats-sort=-cost#seats",
					Sorted: "ascending"},
				"26–50 of 60", false, "cost"}},
	} {
		l, m := listAt(t, c.query, c.id, c.total)
		got := answer{l.Page, l.order(), m.Pages.PrevURL, m.Pages.NextURL, m.Orders["cost"], m.Count, m.Whole, ""}
		if len(m.Kept) == 1 {
			got.Kept = m.Kept[0].Value
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPagesOfALongListFollowEachOther: each has the next rows of the order, and together they have all of them once.
func TestPagesOfALongListFollowEachOther(t *testing.T) {
	t.Parallel()
	rows := make([]int, 7*RowsPerPage+3)
	for i := range rows {
		rows[i] = i * 7919 % 101 // many are alike
	}
	at := func(n int) int { return rows[n] }
	numbers := make([]int, len(rows))
	for i := range numbers {
		numbers[i] = i
	}
	want := slices.Clone(numbers)
	slices.SortStableFunc(want, func(a, b int) int { return at(a) - at(b) })
	var got []int
	for n := 1; (n-1)*RowsPerPage < len(rows); n++ {
		l, _ := listAt(t, fmt.Sprintf("sort=use&p=%d", n), "", len(rows))
		got = append(got, Sorted(l, numbers, map[string]Key[int]{"use": ByNumber(at)})...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the rows of all pages (-want +got):\n%s", diff)
	}
}

// TestRowsWithoutAValueStandLast: whichever way the list is sorted; rows that are alike stay as they were.
func TestRowsWithoutAValueStandLast(t *testing.T) {
	t.Parallel()
	keys := map[string]Key[string]{"name": ByText(func(s string) string { return s }),
		"cost": ByKnown(func(s string) (int, bool) { return strings.Count(s, "x"), !strings.Contains(s, "?") }),
		"use":  ByNumber(func(s string) int { return len(s) })}
	rows := []string{"b?", "xx", "Ax", "c?", "x", "axx"}
	for query, want := range map[string]string{"": "Ax axx b? c? x xx", "sort=-name": "xx x c? b? axx Ax",
		"sort=cost": "Ax x xx axx b? c?", "sort=-cost": "xx axx Ax x b? c?", "sort=use": "x b? xx Ax c? axx",
		"sort=-use": "axx b? xx Ax c? x"} {
		l, _ := listAt(t, query, "", len(rows))
		if got := strings.Join(Sorted(l, rows, keys), " "); got != want {
			t.Errorf("%q: want %s, got %s", query, want, got)
		}
	}
	if strings.Join(rows, " ") != "b? xx Ax c? x axx" {
		t.Error("the rows of the caller were moved")
	}
	matching := Matching(rows, " X a ", func(s string) string { return s })
	if strings.Join(matching, " ") != "Ax axx" {
		t.Errorf("each word is in it, got %v", matching)
	}
}

// TestRankedIsSorted: the same rows as Sorted by the same amounts, in both directions and on each page.
func TestRankedIsSorted(t *testing.T) {
	t.Parallel()
	type row struct {
		place  int
		amount float64
		known  bool
	}
	rows := make([]row, 117)
	for i := range rows {
		rows[i] = row{i, float64(i * 37 % 11), i%7 != 3}
	}
	for _, query := range []string{"sort=cost", "sort=-cost", "sort=cost&p=3", "sort=-cost&p=5"} {
		for _, n := range []int{0, 1, 25, 26, len(rows)} {
			l, _ := listAt(t, query, "", n)
			var want []int
			for _, r := range Sorted(l, rows[:n], map[string]Key[row]{
				"cost": ByKnown(func(r row) (float64, bool) { return r.amount, r.known })}) {
				want = append(want, r.place)
			}
			got := Ranked(l, n, func(i int) (float64, bool) { return rows[i].amount, rows[i].known })
			if !slices.Equal(want, got) {
				t.Errorf("%s of %d: want %v, got %v", query, n, want, got)
			}
		}
	}
}
