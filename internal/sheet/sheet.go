// Package sheet writes CSV for spreadsheets: Writer prefixes cells that a spreadsheet would run as a formula (CSV
// injection; see https://owasp.org/www-community/attacks/CSV_Injection).
package sheet

import (
	"encoding/csv"
	"io"
	"regexp"
	"strings"
)

// Writer writes rows. What people typed cannot become a formula.
type Writer struct{ csv *csv.Writer }

// NewWriter writes to out.
func NewWriter(out io.Writer) Writer { return Writer{csv.NewWriter(out)} }

// Write writes one row; its cells are not changed for the caller.
func (w Writer) Write(row []string) error {
	safe := make([]string, len(row))
	for i, cell := range row {
		safe[i] = Harmless(cell)
	}
	return w.csv.Write(safe)
}

// Flush hands over what is still held back, and tells what went wrong until now.
func (w Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// number is one below zero: it begins like a formula and is none.
var number = regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?$`)

// Harmless keeps a spreadsheet from running what a person typed: a cell that begins like a formula gets an apostrophe
// (OWASP, CSV injection).
func Harmless(text string) string {
	if !number.MatchString(text) && text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
