package fleet

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// TestALegendBeginsWithWhatIsShown: what is outside of the scale begins a line of its own only below the scale.
func TestALegendBeginsWithWhatIsShown(t *testing.T) {
	for hidden, want := range map[bool]bool{true: false, false: true} {
		var page bytes.Buffer
		m := MapLegendModel{Items: []LegendItemModel{{Class: "money-1", Words: "≤ €25", None: hidden},
			{Class: "unpriced", Words: "unknown"}}}
		ctx := ui.WithLocalizer(context.Background(), i18n.MustLoad().For("en"))
		if err := MapLegend(m).Render(ctx, &page); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page.String(), "gp-map__break"); got != want {
			t.Errorf("a scale that is hidden (%v) is followed by a break: %v", hidden, got)
		}
	}
}
