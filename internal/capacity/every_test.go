package capacity

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// Of each row that the portal knows it can be told what it takes, or that nodes do not count it.
func TestEveryRowCanBeJudged(t *testing.T) {
	for _, s := range catalog.EveryRow().Sizes {
		if _, ok := requirementsOf(s); !ok {
			t.Errorf("%s (%s): nothing can be told of it", s.Name, s.Technology)
		}
	}
}
