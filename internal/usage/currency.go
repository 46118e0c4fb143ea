package usage

import (
	"sync"

	"golang.org/x/text/currency"
)

// Digits is how many digits after the point amounts of a currency have, by ISO 4217 as CLDR tells it: 2 for EUR, 0 for
// JPY, 3 for KWD. What is no currency has 2.
func Digits(code string) int {
	if known, ok := digitsOf.Load(code); ok {
		return known.(int)
	}
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 2
	}
	digits, _ := currency.Standard.Rounding(unit)
	digitsOf.Store(code, digits)
	return digits
}

// digitsOf keeps what was looked up, for statements of a million lines: currency codes to digits.
var digitsOf sync.Map

// Units is how many minor units make one of a currency: 100 cents, 1 yen, 1000 fils.
func Units(code string) int64 { return tens(Digits(code)) }

// tens is a power of ten.
func tens(n int) int64 {
	power := int64(1)
	for range n {
		power *= 10
	}
	return power
}
