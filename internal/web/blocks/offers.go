package blocks

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// InsteadLabel names an alternative and what it has less of.
func InsteadLabel(say page.Words, id string, a request.Alternative) string {
	label := say.S(id, "Size", say.SizeTitle(a.Offer.Size))
	if less := weaker(say, a); less != "" {
		label += " (" + less + ")"
	}
	return label
}

// weaker is what an alternative has less of, "" for nothing.
func weaker(say page.Words, a request.Alternative) string {
	parts := make([]string, len(a.Weaker))
	for i, w := range a.Weaker {
		parts[i] = say.S("forecast.weaker_" + string(w))
	}
	return strings.Join(parts, ", ")
}
