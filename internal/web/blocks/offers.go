package blocks

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// InsteadLabel names an alternative and what it has less of.
func InsteadLabel(say page.Words, id string, a request.Alternative) string {
	label := say.S(id, "Size", say.SizeTitle(a.Offer.Size))
	if len(a.Weaker) == 0 {
		return label
	}
	parts := make([]string, len(a.Weaker))
	for i, w := range a.Weaker {
		parts[i] = say.S("forecast.weaker_" + string(w))
	}
	return label + " (" + strings.Join(parts, ", ") + ")"
}
