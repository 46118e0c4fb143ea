package workloads

import (
	"cmp"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// warningItems say what became of the message of a warning: that the portal has written it down is not yet that anybody
// was told.
func warningItems(say page.Words, s details, about notify.Kind) []string {
	for _, w := range s.warnings {
		if w.About == about {
			return []string{warningWords(say, w, s.OwnerName)}
		}
	}
	return nil
}

func warningWords(say page.Words, w notify.Warning, owner string) string {
	text := say.S("notices.warning_"+string(w.Status), "To", cmp.Or(w.To, owner), "Channel",
		say.S("notices.channel."+string(cmp.Or(w.Channel, notify.Mail))), "At", page.ClockOn(say, w.Done))
	d := notify.Delivery{Problem: w.Problem, Error: w.Said}
	return strings.Join(strings.Fields(strings.Join([]string{text, blocks.DeliveryProblem(say, d),
		blocks.DeliveryWords(say, d)}, " ")),
		" ")
}
