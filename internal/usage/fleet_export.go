package usage

import (
	"io"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/sheet"
)

// ExportCSV writes the days for a spreadsheet, in hours of whole cards with six digits after the point.
func (r Reconciliation) ExportCSV(to io.Writer) error {
	out := sheet.NewWriter(to)
	if err := out.Write([]string{"day", "cluster", "model", "hours_physical", "hours_held_portal", "hours_held_others", "hours_free", "hours_broken", "hours_unknown", "hours_difference"}); err != nil {
		return err
	}
	for _, d := range r.Days {
		row := []string{d.Day, d.Cluster, d.Model}
		for _, t := range []CardTime{d.Physical, d.Ours, d.Others, d.Free, d.Broken, d.Unknown, d.Difference()} {
			row = append(row, strconv.FormatFloat(t.Hours(), 'f', 6, 64))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	return out.Flush()
}
