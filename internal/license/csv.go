package license

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// MaxCSV bounds a file, in bytes, and MaxRows its lines: a site has a few dozen entitlements.
const (
	MaxCSV  = 512 << 10
	MaxRows = 2000
)

// LineProblem is an error in one line of a file; Line is 0 for the file as a whole.
type LineProblem struct {
	Line   int
	Reason i18n.Text
}

// Sentence is the reason with its line.
func (p LineProblem) Sentence() i18n.Text {
	if p.Line == 0 {
		return p.Reason
	}
	return i18n.T("licenses.csv_line", "Line", p.Line, "Reason", p.Reason)
}

// Parsed is the content of a file. Entitlements are valid only where there are no Problems. Ignored are the columns
// that were not read.
type Parsed struct {
	Entitlements []Entitlement
	Problems     []LineProblem
	Ignored      []string
	Encoding     string // how the text was read: "UTF-8", "UTF-16", "Latin-1"
	Text         string // the file as text
	Lines        []ParsedLine
}

// ImportOutcome is whether a line adds, changes or repeats an entitlement, or is refused.
type ImportOutcome string

// The outcomes of a line.
const (
	Added     ImportOutcome = "added"
	Changed   ImportOutcome = "changed"   // it takes the place of an entry with the same reference
	Unchanged ImportOutcome = "unchanged" // such an entry is there
	Refused   ImportOutcome = "refused"
)

// ParsedLine is one line of a file with its outcome.
type ParsedLine struct {
	Line                                int
	Pool, Seats, From, Until, Reference string // as they are written
	Outcome                             ImportOutcome
	Was                                 Entitlement // whose place it takes
	Reasons                             []i18n.Text // why it is refused
}

type column int

const (
	poolColumn column = iota
	seatsColumn
	fromColumn
	untilColumn
	referenceColumn
)

// headings are the columns that are read, by the words of their heading without case, blanks and dashes: our own, and
// the names of the fields in which NVIDIA's license service tells an entitlement. The layout of the portal's own export
// is not public; a site whose export has other headings renames them.
var headings = map[string]column{
	"pool": poolColumn, "feature": poolColumn, "featurename": poolColumn,
	"seats": seatsColumn, "count": seatsColumn, "quantity": seatsColumn, "totalquantity": seatsColumn,
	"from": fromColumn, "validfrom": fromColumn, "startdate": fromColumn,
	"until": untilColumn, "validuntil": untilColumn, "enddate": untilColumn, "expires": untilColumn,
	"reference": referenceColumn, "entitlement": referenceColumn, "entitlementid": referenceColumn,
	"productkeyid": referenceColumn,
}

// ParseCSV reads entitlements and lists everything that is wrong with the file. There are those that are entered
// already; a line must name one of the pools, by its name or feature. A comma, a semicolon or a tab parts the fields;
// UTF-8 and, by its byte order mark, UTF-16 are read, and what is neither as Latin-1, as spreadsheets in western Europe
// write it. A line with the reference of an entry changes that.
func ParseCSV(data []byte, pools []Pool, there []Entitlement) Parsed {
	var p Parsed
	text, encoding, reason := decode(data)
	p.Text, p.Encoding = text, encoding
	if !reason.IsZero() {
		p.Problems = []LineProblem{{Reason: reason}}
		return p
	}
	head, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	for _, comma := range []rune{';', '\t', ','} {
		if r.Comma = comma; strings.ContainsRune(head, comma) {
			break
		}
	}
	names, err := r.Read()
	if err != nil {
		p.Problems = []LineProblem{{Reason: i18n.T("licenses.csv_empty")}}
		return p
	}
	at := p.columns(names)
	if len(p.Problems) > 0 {
		return p
	}
	for row := 0; ; row++ {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line := 0
		if len(fields) > 0 {
			line, _ = r.FieldPos(0)
		}
		switch {
		case err != nil:
			var broken *csv.ParseError
			if errors.As(err, &broken) {
				line = broken.StartLine
			}
			p.no(line, i18n.T("licenses.csv_broken"))
			return p
		case row >= MaxRows:
			p.no(line, i18n.T("licenses.csv_long", "Most", MaxRows))
			return p
		}
		p.row(line, fields, at, pools, there)
	}
	if len(p.Lines) == 0 && len(p.Problems) == 0 {
		p.no(0, i18n.T("licenses.csv_empty"))
	}
	return p
}

func (p *Parsed) no(line int, reason i18n.Text) {
	p.Problems = append(p.Problems, LineProblem{Line: line, Reason: reason})
}

// columns finds where each column stands.
func (p *Parsed) columns(names []string) map[column]int {
	at := map[column]int{}
	for i, name := range names {
		c, known := headings[strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name))]
		_, twice := at[c]
		switch {
		case known && twice:
			p.no(1, i18n.T("licenses.csv_twice", "Column", short(name)))
		case known:
			at[c] = i
		case strings.TrimSpace(name) != "":
			p.Ignored = append(p.Ignored, short(name))
		}
	}
	for _, need := range []struct {
		column column
		name   string
	}{{poolColumn, "feature"}, {seatsColumn, "quantity"}} {
		if _, ok := at[need.column]; !ok {
			p.no(1, i18n.T("licenses.csv_column", "Column", need.name, "Found", short(strings.Join(names, ", "))))
		}
	}
	return at
}

func (p *Parsed) row(line int, fields []string, at map[column]int, pools []Pool, there []Entitlement) {
	get := func(c column) string {
		if i, ok := at[c]; ok && i < len(fields) {
			return strings.TrimSpace(fields[i])
		}
		return ""
	}
	if strings.TrimSpace(strings.Join(fields, "")) == "" {
		return
	}
	before := len(p.Problems)
	l := ParsedLine{Line: line, Pool: short(get(poolColumn)), Seats: short(get(seatsColumn)), From: short(get(fromColumn)),
		Until: short(get(untilColumn)), Reference: short(get(referenceColumn))}
	e := Entitlement{Reference: get(referenceColumn), Origin: Imported}
	pool := slices.IndexFunc(pools, func(x Pool) bool {
		return strings.EqualFold(x.Name, get(poolColumn)) ||
			x.Of(get(poolColumn))
	})
	if pool < 0 {
		p.no(line, i18n.T("licenses.csv_pool", "Pool", short(get(poolColumn))))
	} else {
		e.Pool = pools[pool].Name
	}
	seats, err := strconv.Atoi(get(seatsColumn))
	if err != nil {
		p.no(line, i18n.T("licenses.csv_number", "Value", short(get(seatsColumn))))
		seats = 1 // said once
	}
	e.Seats = seats
	for _, d := range []struct {
		column column
		into   *time.Time
	}{{fromColumn, &e.From}, {untilColumn, &e.Until}} {
		t, ok := ParseDay(get(d.column), d.column == untilColumn)
		if !ok {
			p.no(line, i18n.T("licenses.csv_date", "Value", short(get(d.column))))
		}
		*d.into = t
	}
	e.ID = "line-" + strconv.Itoa(line) // so that lines are told apart; whoever keeps them gives them an id
	l.Outcome, l.Was = e.replaces(there, p.Lines)
	if l.Was.ID != "" {
		e.ID = l.Was.ID
	}
	for _, f := range Check(e, append(slices.Clone(there), p.Entitlements...)) {
		p.no(line, f.Reason)
	}
	for _, problem := range p.Problems[before:] {
		l.Outcome, l.Reasons = Refused, append(l.Reasons, problem.Reason)
	}
	p.Lines = append(p.Lines, l)
	if l.Outcome == Added || l.Outcome == Changed {
		p.Entitlements = append(p.Entitlements, e)
	}
	slices.SortStableFunc(p.Problems, func(a, b LineProblem) int { return cmp.Compare(a.Line, b.Line) })
}

// replaces finds the one entry of the same pool and reference at the same time; a second line for it is no change but a
// double. Where there are several, nobody can tell which.
func (e Entitlement) replaces(there []Entitlement, lines []ParsedLine) (ImportOutcome, Entitlement) {
	var found []Entitlement
	for _, o := range there {
		if e.Reference != "" && o.Pool == e.Pool && o.Reference == e.Reference && e.overlaps(o) {
			found = append(found, o)
		}
	}
	if len(found) != 1 || slices.ContainsFunc(lines, func(l ParsedLine) bool { return l.Was.ID == found[0].ID }) {
		return Added, Entitlement{}
	}
	if o := found[0]; o.Seats == e.Seats && o.From.Equal(e.From) && o.Until.Equal(e.Until) {
		return Unchanged, o
	}
	return Changed, found[0]
}

// ParseDay reads 2027-12-31, 31.12.2027 or a time of RFC 3339; "" is no bound. A last day counts to its end, in UTC.
// Dates with slashes are refused: nobody can tell 03/04 from 04/03.
func ParseDay(text string, last bool) (time.Time, bool) {
	if text == "" {
		return time.Time{}, true
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), sane(t)
	}
	for _, layout := range []string{time.DateOnly, "02.01.2006", "2.1.2006"} {
		if t, err := time.Parse(layout, text); err == nil {
			if last {
				t = t.AddDate(0, 0, 1)
			}
			return t, sane(t)
		}
	}
	return time.Time{}, false
}

// sane keeps out years that a database or a calendar cannot hold.
func sane(t time.Time) bool { return t.Year() >= 1990 && t.Year() <= 2200 }

// decode gives the text of a file and how it was read, or what is the matter with it.
func decode(data []byte) (text, encoding string, wrong i18n.Text) {
	var order binary.ByteOrder
	encoding = "UTF-8"
	switch {
	case len(data) > MaxCSV:
		return "", "", i18n.T("licenses.csv_big", "Most", MaxCSV>>10)
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	}
	if order != nil {
		units := make([]uint16, 0, len(data)/2)
		for i := 2; i+1 < len(data); i += 2 {
			units = append(units, order.Uint16(data[i:]))
		}
		data, encoding = []byte(string(utf16.Decode(units))), "UTF-16"
	}
	if bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' && r != '\n' }) {
		return "", "", i18n.T("licenses.csv_encoding")
	}
	if !utf8.Valid(data) {
		latin, err := charmap.Windows1252.NewDecoder().Bytes(data) // Latin-1 with the signs that Windows puts into its gap
		if err != nil {
			return "", "", i18n.T("licenses.csv_encoding")
		}
		data, encoding = latin, "Latin-1"
	}
	return string(data), encoding, i18n.Text{}
}

// short keeps a cell of somebody's file from filling a page.
func short(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return text
}

// whole reads a number that a person typed.
func whole(text string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil
}
