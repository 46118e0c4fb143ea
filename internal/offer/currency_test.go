package offer

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

func TestACatalogKeepsTheCurrency(t *testing.T) {
	t.Parallel()
	now, text := catalog.Default(), string(catalog.DefaultYAML())
	if c := checkText(text, catalog.DefaultPools(), now, nil); len(c.Problems) > 0 {
		t.Fatal(c.Problems)
	}
	c := checkText(strings.ReplaceAll(text, "EUR", "USD"), catalog.DefaultPools(), now, nil)
	if len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Message, "USD") || len(c.Catalog.Sizes) > 0 {
		t.Errorf("amounts of two currencies cannot be added, got %v", c.Problems)
	}
}
