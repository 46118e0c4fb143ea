package blocks

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func TestThePictureOfAShare(t *testing.T) {
	t.Parallel()
	sizes := catalog.Default()
	size := func(name string) catalog.Size { s, _ := sizes.Size(name); return s }
	four := catalog.Size{Technology: catalog.MIG, Isolation: catalog.IsolationHard,
		Accelerator: catalog.Accelerator{Resource: "nvidia.com/mig-1g.6gb", Profile: "1g.6gb", Share: 0.25}}
	several := size("h100")
	several.Accelerator.Count = 4
	several.Accelerator.Share = 1
	cases := map[string]struct {
		size catalog.Size
		want ui.ShareGlyphModel
	}{
		"one of seven slices":   {size("mig-1g.10gb"), ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: 7, Filled: 1}},
		"three of seven":        {size("mig-3g.40gb"), ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: 7, Filled: 3}},
		"one of four on an A30": {four, ui.ShareGlyphModel{Kind: ui.GlyphSlice, Parts: 4, Filled: 1}},
		"a turn":                {size("gpu-shared"), ui.ShareGlyphModel{Kind: ui.GlyphTimeSlice, Parts: 4, Filled: 1}},
		"a vGPU shares compute": {size("vgpu-12q"), ui.ShareGlyphModel{Kind: ui.GlyphSoft, Parts: 100, Filled: 25}},
		"the whole card":        {size("h100"), ui.ShareGlyphModel{Kind: ui.GlyphWhole}},
		"several cards":         {several, ui.ShareGlyphModel{Kind: ui.GlyphSeveral, Count: 4}},
		"no GPU":                {size("cpu"), ui.ShareGlyphModel{Kind: ui.GlyphCPU}},
		"a share that nobody stated": {catalog.Size{Accelerator: catalog.Accelerator{Resource: "example.org/gpu"}},
			ui.ShareGlyphModel{Kind: ui.GlyphUnknown}},
	}
	for name, c := range cases {
		if got := Glyph(c.size); got != c.want {
			t.Errorf("%s: want %+v, got %+v", name, c.want, got)
		}
	}
}
