package app

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/config"
)

func TestTheCatalogIsInThePortalsCurrency(t *testing.T) {
	t.Parallel()
	if _, err := initialCatalog(config.Config{Currency: "EUR"}); err != nil {
		t.Error(err)
	}
	if _, err := initialCatalog(config.Config{Currency: "USD"}); err == nil || !strings.Contains(err.Error(), "currency") {
		t.Errorf("the built-in catalog is in euros, got %v", err)
	}
}
