package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/views/start"
)

func TestALongPriceListHasHeadings(t *testing.T) {
	gpu := func(t catalog.Technology, i catalog.Isolation, vendor string, share float64, count int) catalog.Size {
		return catalog.Size{Technology: t, Isolation: i, Accelerator: catalog.Accelerator{Vendor: vendor, Share: share,
			Count: count}}
	}
	kinds := []catalog.Size{gpu(catalog.Full, catalog.IsolationHard, "nvidia", 1, 4),
		gpu(catalog.Full, catalog.IsolationHard, "amd", 1, 1), gpu(catalog.Full, catalog.IsolationHard, "nvidia", 1, 1),
		gpu("hami", catalog.IsolationMemory, "nvidia", 0.25, 1), gpu(catalog.VGPU, catalog.IsolationHard, "nvidia", 0.25, 1),
		gpu(catalog.MIG, catalog.IsolationHard, "nvidia", 0.14, 1), {Technology: catalog.CPUOnly}}
	list := func(n int) (rows []start.SizeRowModel, sizes []catalog.Size) {
		for i := range n {
			rows = append(rows, start.SizeRowModel{Name: fmt.Sprint(i)})
			sizes = append(sizes, kinds[i%len(kinds)])
		}
		return rows, sizes
	}
	drawn := func(n int) string {
		rows, sizes := list(n)
		groupSizes(words{Localizer: i18n.MustLoad().For("en")}, rows, sizes)
		var text []string
		for _, r := range rows {
			if r.Group != "" {
				text = append(text, r.Group+":")
			}
			text = append(text, r.Name)
		}
		return strings.Join(text, " ")
	}
	if got, want := drawn(8), "0 1 2 3 4 5 6 7"; got != want {
		t.Errorf("a short list stays as it is: want %q, got %q", want, got)
	}
	want := "Without a GPU: 6 Slices, kept apart in hardware: 5 Virtual GPUs: 4 Shared cards: 3 Whole cards: 2 9 " +
		"Several cards: 0 7 Cards of other makers: 1 8"
	if got := drawn(10); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
