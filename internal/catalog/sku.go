package catalog

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// SKU is what a price list wants to know of a size.
func (s Size) SKU() usage.SKU {
	return usage.SKU{Size: s.Name, Model: s.Accelerator.Model, Share: s.Accelerator.Share, Count: s.Devices(),
		CPUs: quantity(s.CPU), MemoryGiB: quantity(s.Memory) / (1 << 30), Agreed: s.PricePerHour}
}

// quantity is 0 for what cannot be read; a catalog with such is not taken.
func quantity(text string) float64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.AsApproximateFloat64()
}

// Currency is the one that all its prices are in; "" without sizes.
func (c Catalog) Currency() string {
	if len(c.Sizes) == 0 {
		return ""
	}
	return c.Sizes[0].PricePerHour.Currency
}
