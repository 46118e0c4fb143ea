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

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// MaxCSV bounds a file, in bytes, and MaxRows its lines: a site has a few dozen entitlements.
const (
	MaxCSV  = 1 << 20
	MaxRows = 2000
)

// LineProblem is what is wrong with one line of a file; Line is 0 for the file as a whole.
type LineProblem struct {
	Line   int
	Reason i18n.Text
}

// Sentence is the reason with its line.
func (p LineProblem) Sentence() i18n.Text {
	if p.Line == 0 {
		return p.Reason
	}
	return i18n.T("licences.csv_line", "Line", p.Line, "Reason", p.Reason)
}

// Parsed is what a file says. Entitlements are sound only where there are no Problems; Ignored are the columns that were not read.
type Parsed struct {
	Entitlements []Entitlement
	Problems     []LineProblem
	Ignored      []string
}

type column int

const (
	poolColumn column = iota
	seatsColumn
	fromColumn
	untilColumn
	referenceColumn
)

// headings are the columns that are read, by the words of their heading without case, blanks and dashes: our own, and the names of the fields in which NVIDIA's
// licence service tells an entitlement. The layout of the portal's own export is not public; a site whose export has other headings renames them.
var headings = map[string]column{
	"pool": poolColumn, "feature": poolColumn, "featurename": poolColumn,
	"seats": seatsColumn, "count": seatsColumn, "quantity": seatsColumn, "totalquantity": seatsColumn,
	"from": fromColumn, "validfrom": fromColumn, "startdate": fromColumn,
	"until": untilColumn, "validuntil": untilColumn, "enddate": untilColumn, "expires": untilColumn,
	"reference": referenceColumn, "entitlement": referenceColumn, "entitlementid": referenceColumn, "productkeyid": referenceColumn,
}

// ParseCSV reads entitlements and lists everything that is wrong with the file. There are those that are entered already; a line must name one of the pools,
// by its name or feature. A comma, a semicolon or a tab parts the fields; UTF-8 and, by its mark, UTF-16 are read.
func ParseCSV(data []byte, pools []Pool, there []Entitlement) Parsed {
	var p Parsed
	text, reason := decode(data)
	if !reason.IsZero() {
		p.Problems = []LineProblem{{Reason: reason}}
		return p
	}
	head, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	for _, mark := range []rune{';', '\t', ','} {
		if r.Comma = mark; strings.ContainsRune(head, mark) {
			break
		}
	}
	names, err := r.Read()
	if err != nil {
		p.Problems = []LineProblem{{Reason: i18n.T("licences.csv_empty")}}
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
			p.no(line, i18n.T("licences.csv_broken"))
			return p
		case row >= MaxRows:
			p.no(line, i18n.T("licences.csv_long", "Most", MaxRows))
			return p
		}
		p.row(line, fields, at, pools, there)
	}
	if len(p.Entitlements) == 0 && len(p.Problems) == 0 {
		p.no(0, i18n.T("licences.csv_empty"))
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
			p.no(1, i18n.T("licences.csv_twice", "Column", short(name)))
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
			p.no(1, i18n.T("licences.csv_column", "Column", need.name, "Found", short(strings.Join(names, ", "))))
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
	e := Entitlement{Reference: get(referenceColumn), Origin: Imported}
	pool := slices.IndexFunc(pools, func(x Pool) bool { return strings.EqualFold(x.Name, get(poolColumn)) || x.Of(get(poolColumn)) })
	if pool < 0 {
		p.no(line, i18n.T("licences.csv_pool", "Pool", short(get(poolColumn))))
	} else {
		e.Pool = pools[pool].Name
	}
	seats, err := strconv.Atoi(get(seatsColumn))
	if err != nil {
		p.no(line, i18n.T("licences.csv_number", "Value", short(get(seatsColumn))))
		seats = 1 // said once
	}
	e.Seats = seats
	for c, into := range map[column]*time.Time{fromColumn: &e.From, untilColumn: &e.Until} {
		t, ok := ParseDay(get(c), c == untilColumn)
		if !ok {
			p.no(line, i18n.T("licences.csv_date", "Value", short(get(c))))
		}
		*into = t
	}
	for _, f := range Check(e, append(slices.Clone(there), p.Entitlements...)) {
		p.no(line, f.Reason)
	}
	if len(p.Problems) == before {
		e.ID = "line-" + strconv.Itoa(line) // so that lines are told apart; whoever keeps them gives them an id
		p.Entitlements = append(p.Entitlements, e)
	}
	slices.SortStableFunc(p.Problems, func(a, b LineProblem) int { return cmp.Compare(a.Line, b.Line) })
}

// ParseDay reads 2027-12-31, 31.12.2027 or a time of RFC 3339; "" is no bound. A last day counts to its end, in UTC. Dates with slashes are refused: nobody
// can tell 03/04 from 04/03.
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

// decode gives the text of a file, or what is the matter with it.
func decode(data []byte) (string, i18n.Text) {
	var order binary.ByteOrder
	switch {
	case len(data) > MaxCSV:
		return "", i18n.T("licences.csv_big")
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
		data = []byte(string(utf16.Decode(units)))
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", i18n.T("licences.csv_encoding")
	}
	return string(data), i18n.Text{}
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
