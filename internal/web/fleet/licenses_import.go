package fleet

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/licenses"
)

// licenseImport shows what a file would lead to, line by line; sent once more with keep, a whole file is kept or none
// of it.
func (w *Pages) licenseImport(c echo.Context) error {
	k := w.CallOf(c)
	data, err := uploaded(c)
	if err != nil {
		return err
	}
	keep := c.FormValue("keep") != ""
	p, err := w.Licenses.Import(k.Ctx, k.Actor, data, keep)
	if fault.Is(err, fault.Invalid) { // somebody entered the same in between
		for _, f := range fault.As(err).Fields {
			p.Problems = append(p.Problems, license.LineProblem{Reason: f.Reason})
		}
	} else if err != nil {
		return err
	}
	status := http.StatusOK
	switch {
	case len(p.Problems) > 0:
		status = http.StatusUnprocessableEntity
	case keep:
		return w.Done(c, "license-entered", "/licenses")
	}
	m := importModel(k.Words, p)
	return w.Reply(c, k, page.Page{Name: w.licensesPage().Name}, page.View{Title: k.Words.S("licenses.import"),
		Nav: "/licenses", Wide: true, Body: licenses.Import(m)}, status)
}

// uploaded is the file that was chosen, else the text that was pasted. What is longer than a file may be is cut off
// where that can still be told.
func uploaded(c echo.Context) ([]byte, error) {
	header, err := c.FormFile("file")
	switch {
	case errors.Is(err, http.ErrMissingFile), errors.Is(err, http.ErrNotMultipart), err == nil && header.Size == 0:
		return []byte(c.FormValue("csv")), nil
	case err != nil:
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, echo.NewHTTPError(http.StatusRequestEntityTooLarge).SetInternal(err)
		}
		return nil, fault.Wrap(fault.Invalid, err, i18n.T("licenses.csv_upload"))
	}
	file, err := header.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, license.MaxCSV+1))
}

func importModel(say page.Words, p license.Parsed) licenses.ImportModel {
	m := licenses.ImportModel{Path: "/licenses", Encoding: p.Encoding, Ignored: p.Ignored}
	for _, l := range p.Lines {
		m.Lines = append(m.Lines, importLine(say, l))
		switch l.Outcome {
		case license.Added:
			m.Added++
		case license.Changed:
			m.Changed++
		case license.Unchanged:
			m.Unchanged++
		case license.Refused:
			m.Refused++
		}
	}
	m.Wrong = len(p.Problems) > 0
	for _, problem := range p.Problems {
		if !reportedByLine(p.Lines, problem) {
			m.Problems = append(m.Problems, say.Text(problem.Sentence()))
		}
	}
	if !m.Wrong && len(p.Entitlements) > 0 {
		m.Keep = &licenses.KeepModel{Action: "/licenses/import", Text: p.Text, Count: len(p.Entitlements)}
	}
	return m
}

// reportedByLine reports whether a problem stands beside its line anyway.
func reportedByLine(lines []license.ParsedLine, problem license.LineProblem) bool {
	for _, l := range lines {
		if l.Line == problem.Line && l.Outcome == license.Refused {
			return true
		}
	}
	return false
}

func importLine(say page.Words, l license.ParsedLine) licenses.LineModel {
	m := licenses.LineModel{Line: l.Line, Pool: l.Pool, Seats: l.Seats, From: l.From, Until: l.Until,
		Reference: l.Reference, Outcome: licenses.Outcome(l.Outcome)}
	switch l.Outcome {
	case license.Changed:
		m.Detail = say.S("licenses.outcome_was", "Count", l.Was.Seats, "From", page.DayOf(say, l.Was.From), "Until",
			lastDay(say, l.Was.Until))
	case license.Refused:
		reasons := make([]string, len(l.Reasons))
		for i, r := range l.Reasons {
			reasons[i] = say.Text(r)
		}
		m.Detail = strings.Join(reasons, " ")
	}
	for _, cell := range []*string{&m.From, &m.Until, &m.Reference} {
		if *cell == "" {
			*cell = "–"
		}
	}
	return m
}
