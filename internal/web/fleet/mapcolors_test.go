package fleet

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// The four colors reach round amounts, and the fourth takes in the most.
func TestTheColorsOfMoneyReachRoundAmounts(t *testing.T) {
	for most, want := range map[usage.Money]int64{
		{Currency: "EUR"}:                 100,
		{Minor: 1, Currency: "EUR"}:       100,
		{Minor: 400, Currency: "EUR"}:     100,
		{Minor: 401, Currency: "EUR"}:     200,
		{Minor: 3046, Currency: "EUR"}:    800,
		{Minor: 4001, Currency: "EUR"}:    1500,
		{Minor: 9400, Currency: "EUR"}:    2500,
		{Minor: 999_999, Currency: "EUR"}: 250_000,
		{Minor: 3046, Currency: "JPY"}:    800,
	} {
		if got := roundStep(most); got != want {
			t.Errorf("%v: want %d, got %d", most, want, got)
		}
	}
}
