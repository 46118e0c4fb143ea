package usage

import (
	"testing"
	"time"
)

// TestSpenders: the dearest first, by the currency that is asked for; shares are of all that cost something in it, also
// of those who are not listed.
func TestSpenders(t *testing.T) {
	line := func(owner string, minor int64, currency string) Line {
		return Line{Owner: owner, Use: Use{Workload: "w-" + owner, PerHour: Money{Minor: minor, Currency: currency},
			Held: time.Hour}}
	}
	s := Statement{Lines: []Line{line("ben", 300, "EUR"), line("anna", 500, "EUR"), line("anna", 100, "EUR"),
		line("carl", 100, "EUR"), line("dora", 900, "USD"), line("eli", 0, "EUR")}}
	type spender struct {
		Who   string
		Minor int64
		Share float64
	}
	briefs := func(currency string, most int) (list []spender) {
		for _, p := range s.Spenders("person", currency, most) {
			list = append(list, spender{p.Sum.Key, p.Cost.Minor, p.Share})
		}
		return list
	}
	alike(t, []spender{{"anna", 600, .6}, {"ben", 300, .3}}, briefs("EUR", 2))
	alike(t, []spender{{"anna", 600, .6}, {"ben", 300, .3}, {"carl", 100, .1}}, briefs("EUR", 9))
	alike(t, []spender{{"dora", 900, 1}}, briefs("USD", 9))
	alike(t, []spender(nil), briefs("CHF", 9))
}
