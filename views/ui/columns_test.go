package ui

import (
	"strconv"
	"strings"
	"testing"
)

func columnsModel() ColumnsModel {
	m := ColumnsModel{ID: "daily", Label: "Cost per day", Value: "€34.00", Unit: "EUR", What: "Day",
		Series: []SeriesModel{{Name: "Vision", Value: "€30.00"}, {Name: "3 others", Value: "€4.00", Rest: true}},
		Columns: []ColumnBarModel{
			{Name: "1 Nov", Total: "€13.00", Values: []float64{10, 3}, Words: []string{"€10.00", "€3.00"}},
			{Name: "2 Nov", Total: "€21.00", Values: []float64{20, 1}, Words: []string{"€20.00", "€1.00"}},
			{Name: "3 Nov", Total: "upcoming", Empty: true},
		}, Named: []int{0, 2}}
	return m
}

// TestColumnsStandOnTheScale: the layers of a column stand on each other, and its height is its sum on the scale.
func TestColumnsStandOnTheScale(t *testing.T) {
	m := columnsModel()
	top, _ := m.scale().top()
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for n, c := range m.Columns {
		ground, x := chartHeight, -1.0
		for _, l := range m.layers(n, top) {
			if bottom := number(l.y) + number(l.height); bottom < ground-.02 || bottom > ground+.02 {
				t.Errorf("column %d: want a layer on %.2f, got %+v", n, ground, l)
			}
			ground, x = number(l.y), number(l.x)
		}
		if want := chartHeight * (1 - c.total()/top); ground < want-.02 || ground > want+.02 {
			t.Errorf("column %d: want its top at %.2f, got %.2f", n, want, ground)
		}
		if slot := m.slot(n); x >= 0 && (x < number(slot.x) || x > number(slot.x)+number(slot.width)) {
			t.Errorf("column %d at %.2f is not in its slot %+v", n, x, slot)
		}
	}
}

func TestColumnsInWords(t *testing.T) {
	doc := render(t, Columns(columnsModel()))
	words := []string{}
	for _, c := range doc.Find("[data-column]").EachIter() {
		words = append(words, c.AttrOr("data-column", ""))
	}
	if got, want := strings.Join(words, "|"), "1 Nov · €13.00: Vision €10.00, 3 others €3.00|"+
		"2 Nov · €21.00: Vision €20.00, 3 others €1.00|3 Nov · upcoming"; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	var under []string
	for _, at := range doc.Find(".gp-chart__times > span").EachIter() {
		under = append(under, strings.TrimSpace(at.Text()))
	}
	if got := strings.Join(under, "|"); got != "1 Nov||3 Nov" {
		t.Errorf("want each name under its own column, got %q", got)
	}
	if n := doc.Find("table tbody tr").Length(); n != 2 {
		t.Errorf("want a row for each of the two days that were, got %d", n)
	}
	if n := doc.Find(".gp-columns__key rect.gp-series--rest").Length(); n != 1 {
		t.Errorf("want the rest in its own colour, got %d", n)
	}
	var parts []string
	for _, bar := range doc.Find(".gp-columns__share rect").EachIter() {
		parts = append(parts, bar.AttrOr("width", ""))
	}
	if got := strings.Join(parts, "|"); got != "100.00|13.33" {
		t.Errorf("want a bar for each, the largest over the whole width, got %q", got)
	}
}
