package usage

import (
	"io"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/sheet"
)

// ExportCSV writes the days for a spreadsheet, in hours of whole cards with six digits after the point: first the days
// of each model, then, in rows without a model, what of each cluster was held by the portal and what was charged.
func (r Reconciliation) ExportCSV(to io.Writer) error {
	out := sheet.NewWriter(to)
	if err := out.Write([]string{"day", "cluster", "model", "hours_physical", "hours_held_portal", "hours_held_others",
		"hours_free", "hours_broken", "hours_unknown", "hours_difference",
		"hours_charged", "hours_held_not_charged", "hours_metered_as_unknown", "hours_metered_unseen",
		"hours_unexplained"}); err != nil {
		return err
	}
	for _, d := range r.Days {
		row := append([]string{d.Day, d.Cluster, d.Model}, cardHours(d.Physical, d.Ours, d.Others, d.Free, d.Broken,
			d.Unknown, d.Difference())...)
		if err := out.Write(append(row, "", "", "", "", "")); err != nil {
			return err
		}
	}
	for _, m := range r.Reconciled {
		row := append([]string{m.Day, m.Cluster, "", "", cardHours(m.Held)[0], "", "", "", "", ""},
			cardHours(m.Charged, m.Difference(), m.Unknown, m.Unseen, m.Rest())...)
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Flush()
}

func cardHours(times ...CardTime) (texts []string) {
	for _, t := range times {
		texts = append(texts, strconv.FormatFloat(t.Hours(), 'f', 6, 64))
	}
	return texts
}
