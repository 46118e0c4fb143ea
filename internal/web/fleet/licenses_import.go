package fleet

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/licenses"
	"github.com/gpu-portal/gpu-portal/views/ui"
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
	return w.Reply(c, k, page.Page{Name: w.licensesPage().Name}, page.View{Title: m.Header.Title, Nav: "/licenses",
		Wide: true,
		Body: licenses.Import(m)}, status)
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

// outcomeKinds gives each outcome its colour and icon; the word is "licenses.outcome_<outcome>".
var outcomeKinds = map[license.ImportOutcome]ui.Kind{license.Added: ui.OK, license.Changed: ui.Info,
	license.Unchanged: ui.Off,
	license.Refused:   ui.Danger}

func importModel(say page.Words, p license.Parsed) licenses.ImportModel {
	m := licenses.ImportModel{
		Header: ui.HeaderModel{Title: say.S("licenses.import"),
			Crumbs: []ui.CrumbModel{{Label: say.S("licenses.title"), Href: "/licenses"}, {Label: say.S("licenses.import")}}},
		Verdict: importVerdict(say, p),
		Facts:   []ui.DefModel{{Term: say.S("licenses.encoding"), Value: p.Encoding, Test: "encoding"}},
		Back: ui.LinkButtonModel{Label: say.S("licenses.csv_other"), Href: "/licenses#license-csv", Kind: ui.LinkLike,
			Test: "import-back"},
	}
	if p.Encoding == "" {
		m.Facts[0].Value = say.S("licenses.unknown")
	}
	if len(p.Ignored) > 0 {
		m.Facts = append(m.Facts, ui.DefModel{Term: say.S("licenses.ignored"), Value: strings.Join(p.Ignored, ", "),
			Test: "ignored"})
	}
	for _, l := range p.Lines {
		m.Lines = append(m.Lines, importLine(say, l))
	}
	if len(p.Problems) == 0 && len(p.Entitlements) > 0 {
		m.Keep = &licenses.KeepModel{Form: ui.FormModel{ID: "import-keep", Action: "/licenses/import",
			Attrs: ui.MultipartForm(), Test: "import-keep",
			Hidden: []ui.HiddenModel{{Name: "keep", Value: "1"}, {Name: "csv", Value: p.Text}}},
			Button: ui.ButtonModel{Label: say.S("licenses.csv_keep", "Count", len(p.Entitlements)), Kind: ui.Primary,
				Icon: "check", Test: "import-confirm"}}
	}
	return m
}

// importVerdict counts the lines, or says what is the matter with the file.
func importVerdict(say page.Words, p license.Parsed) ui.NoticeModel {
	count := map[license.ImportOutcome]int{}
	for _, l := range p.Lines {
		count[l.Outcome]++
	}
	n := ui.NoticeModel{Kind: ui.Info, Title: say.S("licenses.csv_would", "Added", count[license.Added], "Changed",
		count[license.Changed], "Unchanged", count[license.Unchanged]), Body: say.S("licenses.csv_nothing_yet"),
		Test: "import-verdict"}
	if len(p.Problems) == 0 {
		return n
	}
	n.Kind, n.Title, n.Body, n.Alert = ui.Danger, say.S("licenses.csv_refused"), say.S("licenses.csv_whole", "Count",
		count[license.Refused]), true
	for _, problem := range p.Problems {
		if !reportedByLine(p.Lines, problem) {
			n.Items = append(n.Items, say.Text(problem.Sentence()))
		}
	}
	return n
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
	m := licenses.LineModel{Line: say.S("licenses.line") + " " + strconv.Itoa(l.Line), Pool: l.Pool, Seats: l.Seats,
		From: l.From, Until: l.Until, Reference: l.Reference,
		Outcome: ui.StateModel{Kind: outcomeKinds[l.Outcome],
			Word: page.UpperFirst(say.Say(i18n.T("licenses.outcome_" + string(l.Outcome)))),
			Test: "outcome"}}
	switch l.Outcome {
	case license.Changed:
		m.Outcome.Detail = say.S("licenses.outcome_was", "Count", l.Was.Seats, "From", page.DayOf(say, l.Was.From), "Until",
			lastDay(say, l.Was.Until))
	case license.Refused:
		reasons := make([]string, len(l.Reasons))
		for i, r := range l.Reasons {
			reasons[i] = say.Text(r)
		}
		m.Outcome.Detail = strings.Join(reasons, " ")
	}
	for _, cell := range []*string{&m.From, &m.Until, &m.Reference} {
		if *cell == "" {
			*cell = "–"
		}
	}
	return m
}
