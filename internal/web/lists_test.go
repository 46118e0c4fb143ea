package web_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// last is the value of a row that has none: it stands at the end, whichever way the list is sorted.
const last = -1

// longList is a list of sixty rows, whose names end with 00 to 59.
type longList struct {
	seed   func(w *webtest.World)
	who    identity.Person
	path   string
	row    string // data-test of its rows
	prefix string // of its parameters
	usual  string // as it opens
	// by is the value of a row in a column; rows that are alike stand by their numbers.
	by map[string]func(w *webtest.World, i int) int
}

func number(_ *webtest.World, i int) int { return i }

func mixed(step, known int) func(*webtest.World, int) int {
	return func(_ *webtest.World, i int) int {
		if i >= known {
			return last
		}
		return webtest.Mix(i, step)
	}
}

// cost is what a workload of Many has cost.
func cost(w *webtest.World, i int) int {
	item := w.Work(workload.ID(fmt.Sprintf("w-trial-%02d", i)))
	held := webtest.HeldFor(i)
	if i >= 50 {
		held = 60 * 60 * 1e9
	}
	return int(item.Size.PricePerHour.For(held).Minor)
}

func running(of func(*webtest.World, int) int) func(*webtest.World, int) int {
	return func(w *webtest.World, i int) int {
		if i >= 50 {
			return last
		}
		return of(w, i)
	}
}

// idleCost is what of the cost went for nothing.
func idleCost(w *webtest.World, i int) int {
	return int(float64(cost(w, i)) * (1 - float64(webtest.Mix(i, 11))/100))
}

var longLists = map[string]longList{
	"workloads": {seed: (*webtest.World).Many, who: webtest.Anna, path: "/?q=trial-", row: "workload-row", usual: "state",
		by: map[string]func(*webtest.World, int) int{"state": func(_ *webtest.World, i int) int {
			if i < 50 { // running, by the end of the lease
				return webtest.Mix(i, 7)
			}
			return 100
		}, "name": number, "lease": mixed(7, 50), "use": mixed(11, 50), "cost": cost,
			"size": func(_ *webtest.World, i int) int { return i % 2 }}},
	"everybody's workloads": {seed: (*webtest.World).Many, who: webtest.Dora, path: "/?q=trial-&scope=all",
		row: "workload-row", usual: "state",
		by: map[string]func(*webtest.World, int) int{"name": number, "cost": cost}},
	"holders": {seed: (*webtest.World).Many, who: webtest.Dora, path: "/fleet/use/holders", row: "holder", usual: "-idle",
		by: map[string]func(*webtest.World, int) int{"name": running(number), "use": mixed(11, 50), "cost": running(cost),
			"held": mixed(13, 50), "idle": running(idleCost)}},
	"storage": {seed: (*webtest.World).ManyVolumes, who: webtest.Anna, path: "/storage?q=data-", row: "volume-row",
		usual: "name", by: map[string]func(*webtest.World, int) int{"name": number, "size": mixed(7, 60),
			"created": func(_ *webtest.World, i int) int { return 60 - webtest.Mix(i, 11) },
			"until":   func(_ *webtest.World, i int) int { return 60 - webtest.Mix(i, 13) }}},
	"teams": {seed: (*webtest.World).ManyTeams, who: webtest.Dora, path: "/admin/tenants?q=lab-", row: "tenant",
		usual: "name", by: map[string]func(*webtest.World, int) int{"name": number, "namespace": mixed(7, 60),
			"state": func(_ *webtest.World, i int) int { return min(1, i%4) }}},
	"people": {seed: (*webtest.World).ManyPeople, who: webtest.Dora, path: "/admin/people?q=guest-", row: "person",
		usual: "name", by: map[string]func(*webtest.World, int) int{"name": number,
			"seen": func(_ *webtest.World, i int) int { return 60 - webtest.Mix(i, 7) }}},
	"budgets": {seed: (*webtest.World).ManyTeams, who: webtest.Dora, path: "/admin/budgets?q=lab-", row: "budget-row",
		usual: "-used", by: map[string]func(*webtest.World, int) int{"team": number, "amount": mixed(11, 50),
			"left": mixed(11, 50), "used": func(_ *webtest.World, i int) int {
				if i < 50 {
					return 0
				}
				return last
			}}},
	"members": {seed: (*webtest.World).ManyPeople, who: webtest.Dora, path: "/team/vision", row: "member",
		prefix: "members-", usual: "name", by: map[string]func(*webtest.World, int) int{"name": number,
			"seen": func(_ *webtest.World, i int) int { return 60 - webtest.Mix(i, 7) }}},
	"tokens": {seed: (*webtest.World).ManyTokens, who: webtest.Dora, path: "/team/vision", row: "token",
		prefix: "tokens-", usual: "name", by: map[string]func(*webtest.World, int) int{"name": number,
			"expires": mixed(7, 60), "used": func(_ *webtest.World, i int) int {
				if i >= 50 {
					return last
				}
				return 60 - webtest.Mix(i, 11)
			}}},
	"images of a team": {seed: (*webtest.World).ManyImages, who: webtest.Dora, path: "/team/vision/images",
		row: "image-row", usual: "state", by: map[string]func(*webtest.World, int) int{"name": number}},
	"volumes of a team": {seed: (*webtest.World).ManyShared, who: webtest.Dora, path: "/team/vision/volumes",
		row: "team-volume", usual: "name", by: map[string]func(*webtest.World, int) int{"name": number,
			"size": mixed(7, 60)}},
	"nodes with vGPUs": {seed: (*webtest.World).ManyMachines, who: webtest.Dora, path: "/licenses", row: "machine",
		prefix: "license-machines-", usual: "state", by: map[string]func(*webtest.World, int) int{"node": number}},
	"usage": {seed: (*webtest.World).Many, who: webtest.Anna, path: "/usage?by=workload", row: "usage-row",
		prefix: "usage-", usual: "-cost",
		by: map[string]func(*webtest.World, int) int{"name": number, "cost": cost}},
}

// TestARecordIsReadByPages: what grows without end is read 25 rows at a time, and its pages have every row once.
func TestARecordIsReadByPages(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.ManyPast()
	for path, row := range map[string]string{"/audit?person=many": "event",
		"/admin/notifications?state=failed": "delivery"} {
		seen := map[string]bool{}
		at, pages := path, 0
		for ; at != "" && pages < 9; pages++ {
			doc := read(t, w.Get(webtest.Dora, at), http.StatusOK)
			if n := part(doc, row).Length(); n > page.RowsPerPage {
				t.Fatalf("%s: %d rows", at, n)
			}
			part(doc, row).Each(func(_ int, s *goquery.Selection) {
				seen[cmp.Or(s.AttrOr("id", ""), textOf(s.Find(".gp-stack__detail").First()))] = true
			})
			at = doc.Find("a[rel=next]").AttrOr("href", "")
		}
		if pages != 3 || len(seen) != 60 {
			t.Errorf("%s: want 60 rows on 3 pages, got %d on %d", path, len(seen), pages)
		}
	}
}

// inOrder are the rows as a list sorts them.
func (l longList) inOrder(w *webtest.World, order string) []string {
	column, down := strings.CutPrefix(order, "-")
	values, rows := make([]int, 60), make([]int, 60)
	for i := range rows {
		rows[i], values[i] = i, l.by[column](w, i)
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		x, y := values[a], values[b]
		switch {
		case (x == last) != (y == last):
			return cmp.Compare(y, x)
		case down:
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
	names := make([]string, 60)
	for i, row := range rows {
		names[i] = fmt.Sprintf("%02d", row)
	}
	return names
}

// numbered is the name of one of the sixty rows.
var numbered = regexp.MustCompile(`^[a-z]+-(\d\d)$`)

// rowsOf are the numbers of the rows on a page.
func (l longList) rowsOf(doc *goquery.Document) (names []string) {
	part(doc, l.row).Each(func(_ int, s *goquery.Selection) {
		name := textOf(s.Find(".gp-stack__title").First())
		if found := numbered.FindStringSubmatch(name[strings.LastIndex(name, "/")+1:]); found != nil {
			names = append(names, found[1])
		}
	})
	return names
}

func (l longList) at(parameters string) string {
	sign := "?"
	if strings.Contains(l.path, "?") {
		sign = "&"
	}
	return l.path + sign + parameters
}

// walk follows the links to the next page, and back again.
func (l longList) walk(t *testing.T, w *webtest.World, from string) (names []string) {
	t.Helper()
	at, before := from, ""
	for range 9 {
		doc := read(t, w.Get(l.who, at), http.StatusOK)
		if n := part(doc, l.row).Length(); n > 26 { // with the line of the sum
			t.Fatalf("%s: %d rows on a page", at, n)
		}
		names = append(names, l.rowsOf(doc)...)
		back, _ := doc.Find("a[rel=prev]").Attr("href")
		if before != "" && withoutAnchor(back) != withoutAnchor(before) {
			t.Errorf("%s leads back to %s, want %s", at, back, before)
		}
		next, more := doc.Find("a[rel=next]").Attr("href")
		if !more {
			return names
		}
		before, at = at, withoutAnchor(next)
		if !strings.Contains(before, l.prefix+"p=") {
			before = "" // the address of a first page may be written in several ways
		}
	}
	t.Fatalf("%s: the pages have no end", from)
	return nil
}

func withoutAnchor(address string) string {
	address, _, _ = strings.Cut(address, "#")
	return address
}

// TestLongListsAreSortedOverAllOfTheirPages: by each column, both ways, by links; the filter and the order go along.
func TestLongListsAreSortedOverAllOfTheirPages(t *testing.T) {
	leftToMakeTest(t)
	t.Parallel()
	for name, l := range longLists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := webtest.Busy(t)
			l.seed(w)
			for column := range l.by {
				for _, order := range []string{column, "-" + column} {
					from := l.at(l.prefix + "sort=" + order)
					want, got := l.inOrder(w, order), l.walk(t, w, from)
					if l.row == "holder" {
						want = want[:50] // what is stopped holds nothing
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s:\nwant %v\ngot  %v", order, want, got)
					}
					l.wantSorted(t, read(t, w.Get(l.who, from), http.StatusOK), order)
				}
			}
		})
	}
}

// wantSorted: one head says so, and its link turns the order round.
func (l longList) wantSorted(t *testing.T, doc *goquery.Document, order string) {
	t.Helper()
	table := part(doc, l.row).First().Closest("table")
	sorted, way := table.Find("th[aria-sort]"), "ascending"
	if strings.HasPrefix(order, "-") {
		way = "descending"
	}
	if sorted.Length() != 1 || sorted.AttrOr("aria-sort", "") != way {
		t.Fatalf("%s: want one head sorted %s, got %d, %s", order, way, sorted.Length(), sorted.AttrOr("aria-sort", ""))
	}
	href, _ := sorted.Find("a").Attr("href")
	u, err := url.Parse(href)
	if err != nil {
		t.Fatal(err)
	}
	other, turned := strings.CutPrefix(order, "-")
	if !turned {
		other = "-" + order
	}
	if got := cmp.Or(u.Query().Get(l.prefix+"sort"), l.usual); got != other {
		t.Errorf("%s: its head leads to %q, want %q", order, got, other)
	}
	asked, err := url.Parse(l.path)
	if err != nil {
		t.Fatal(err)
	}
	for name := range asked.Query() {
		if u.Query().Get(name) != asked.Query().Get(name) {
			t.Errorf("%s: %s is lost in %s", order, name, href)
		}
	}
}

// TestAPageOfAListThatIsNotThere: beyond the end stands the last page, and nonsense is the list as it opens.
func TestAPageOfAListThatIsNotThere(t *testing.T) {
	leftToMakeTest(t)
	t.Parallel()
	for name, l := range longLists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := webtest.Busy(t)
			l.seed(w)
			opens := l.rowsOf(read(t, w.Get(l.who, l.path), http.StatusOK))
			for _, nonsense := range []string{"p=0", "p=-3", "p=two", "p=99999999999999999999", "sort=nothing", "sort=",
				"sort=--cost", "sort=-"} {
				at := l.at(l.prefix + nonsense)
				if got := l.rowsOf(read(t, w.Get(l.who, at), http.StatusOK)); !slices.Equal(got, opens) {
					t.Errorf("%s: want the first page, got %v", at, got)
				}
			}
			end := read(t, w.Get(l.who, l.at(l.prefix+"p=900")), http.StatusOK)
			if part(end, l.row).Length() == 0 || slices.Equal(l.rowsOf(end), opens) ||
				end.Find("a[rel=prev]").Length() != 1 || end.Find("a[rel=next]").Length() != 0 {
				t.Errorf("beyond the end: want the last page, got %v", l.rowsOf(end))
			}
		})
	}
}

// TestALongListSaysHowLongItIs: above it and at its end, with the filter that stays typed.
func TestALongListSaysHowLongItIs(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Many()
	doc := read(t, w.Get(webtest.Anna, "/?q=trial-&sort=-cost&p=2"), http.StatusOK)
	for _, where := range []string{"[data-filter-count]", ".gp-pagination__shown"} {
		if got := textOf(doc.Find(where)); got != "26–50 of 60" {
			t.Errorf("%s: got %q", where, got)
		}
	}
	form := doc.Find("form[role=search][action='/']")
	if form.Find("input[name=q]").AttrOr("value", "") != "trial-" || form.Find("input[name=sort]").AttrOr("value", "") !=
		"-cost" || form.AttrOr("data-filter-table", "") != "" {
		t.Error("want what was typed, the order beside it, and the server asked")
	}
	short := read(t, w.Get(webtest.Anna, "/storage"), http.StatusOK)
	if short.Find(".gp-pagination").Length() != 0 || short.Find("form[data-filter-table]").Length() != 1 {
		t.Error("a short list has no pages, and is filtered as one types")
	}
	none := read(t, w.Get(webtest.Anna, "/?q=nowhere"), http.StatusOK)
	wantText(t, none, "empty", "No matches for the filter")
	if none.Find("[data-test=clear-filter]").AttrOr("href", "") != "/?scope=mine" {
		t.Error("want the way to the whole list")
	}
}

// TestWhatWantsADecisionStandsOnEveryPage: in its row, or above a list that shows other workloads.
func TestWhatWantsADecisionStandsOnEveryPage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Many()
	for path, shown := range map[string]bool{"/": true, "/?p=3": false, "/?sort=name&p=2": false, "/?q=trial-01": false,
		"/?scope=team": true} {
		doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
		if got := row(doc, "vlm-test").Length() > 0; got != shown {
			t.Fatalf("%s: want its row %v, got %v", path, shown, got)
		}
		if shown {
			wantAbsent(t, doc, "attention-failed")
		} else {
			wantText(t, doc, "attention-failed", "vlm-test failed")
		}
	}
}
