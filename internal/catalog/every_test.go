package catalog

import "testing"

func TestEveryRowIsFreeOfProblems(t *testing.T) {
	_, problems := Parse(EveryRowYAML(), EveryPools()...)
	for _, p := range problems {
		t.Error(p)
	}
}
