package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// DeliveryProblem is why the last attempt failed, in the reader's words; "" where none did. Of those that were sent
// before there were sentences for it only the words are known.
func DeliveryProblem(say page.Words, d notify.Delivery) string {
	if d.Problem.IsZero() && d.Error != "" {
		return say.S("notify.failed.other")
	}
	return say.Text(d.Problem)
}

// DeliveryWords are what the other side said, quoted: they are in whatever language it speaks.
func DeliveryWords(say page.Words, d notify.Delivery) string {
	if d.Error == "" {
		return ""
	}
	return say.S("notices.said", "Words", d.Error)
}
