package usage

import (
	"math"
	"testing"
	"time"
)

func TestMoneyReads(t *testing.T) {
	for want, m := range map[string]Money{
		"12.40 EUR": {1240, "EUR"}, "0.05 EUR": {5, "EUR"}, "-0.05 EUR": {-5, "EUR"}, "-1.05 EUR": {-105, "EUR"},
		"0.00 EUR":                  {0, "EUR"},
		"-92233720368547758.08 EUR": {math.MinInt64, "EUR"},
	} {
		if got := m.String(); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

func TestPriceOfTime(t *testing.T) {
	cases := map[string]struct {
		perHour int64
		for_    time.Duration
		want    int64
	}{
		"an hour":                          {55, time.Hour, 55},
		"half a cent is a cent":            {1, 30 * time.Minute, 1},
		"less than half is nothing":        {1, 30*time.Minute - time.Second, 0},
		"parts of a second do not count":   {3600, 1900 * time.Millisecond, 1},
		"time that runs backwards is free": {55, -time.Hour, 0},
		"ten years of a whole node":        {400000, 87600 * time.Hour, 400000 * 87600},
	}
	for name, c := range cases {
		if got := (Money{c.perHour, "EUR"}).For(c.for_).Minor; got != c.want {
			t.Errorf("%s: want %d, got %d", name, c.want, got)
		}
	}
}

// TestCutsDoNotCost: a stretch of time costs the same however often it is cut.
func TestCutsDoNotCost(t *testing.T) {
	from := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	price := Money{55, "EUR"}
	whole := Cost([]Interval{{PerHour: price, From: from, Until: from.Add(10 * time.Hour)}}, from)
	for n := 1; n < 400; n += 7 {
		var cut []Interval
		step := 10 * time.Hour / time.Duration(n)
		for i := range n {
			until := from.Add(time.Duration(i+1) * step)
			if i == n-1 {
				until = from.Add(10 * time.Hour)
			}
			cut = append(cut, Interval{PerHour: price, From: from.Add(time.Duration(i) * step), Until: until})
		}
		if got := Cost(cut, from); got != whole {
			t.Errorf("cut into %d: want %s, got %s", n, whole, got)
		}
	}
}

func TestAddingMoney(t *testing.T) {
	eur := Money{5, "EUR"}
	if got := (Money{}).Add(eur); got != eur {
		t.Errorf("nothing and %s: got %s", eur, got)
	}
	defer func() {
		if recover() == nil {
			t.Error("euros and dollars were added")
		}
	}()
	eur.Add(Money{1, "USD"})
}
