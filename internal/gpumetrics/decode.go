package gpumetrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// sample is one value at one time. Value may be NaN or infinite: whoever reads it decides what that means.
type sample struct {
	at    time.Time
	value float64
}

// series is one row of an answer: one sample for an instant query, many for a range. Its slices are used again for the
// next row.
type series struct {
	labels  labels
	samples []sample
}

// errAnswer begins every complaint about what Prometheus sent; errTooMuch those about its size.
var (
	errAnswer  = errors.New("answer of Prometheus")
	errTooMuch = fmt.Errorf("%w is too large", errAnswer)
)

// Limits of an answer. A long text has no place in a label, and what stands beside the rows (warnings, statistics) is
// short.
const (
	maxText   = 64 << 10
	maxBeside = 1 << 20
	maxLabels = 64
)

// limits bound one answer.
type limits struct {
	bytes int64
	rows  int
}

// limited fails, rather than ends, when more than allowed is read: half an answer must not look like a whole one.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooMuch
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}

// answer is what stands around the rows.
type answer struct {
	kind     string // "vector", "matrix"
	warnings []string
	rows     int
	bytes    int64
}

// decode reads an answer of the query API row by row, handing each to keep, so that no more than one row is held at a
// time. A general JSON decoder takes five times as long, and most of a poll of a large site is this. An answer whose
// end is not good has no rows: what keep was given must be dropped then.
func decode(r io.Reader, most limits, pool *texts, keep func(series)) (answer, error) {
	l := &limited{r, most.bytes + 1}
	d := decoder{r: bufio.NewReaderSize(l, maxText), pool: pool, keep: keep, most: most.rows}
	err := d.document()
	d.answer.bytes = most.bytes + 1 - l.left - int64(d.r.Buffered())
	switch {
	case err != nil && errors.Is(err, errAnswer):
		return d.answer, err
	case err != nil:
		return d.answer, fmt.Errorf("%w cannot be read: %w", errAnswer, err)
	case d.status != "success":
		return d.answer, fmt.Errorf("%w: status %.20q: %.200q", errAnswer, d.status, d.problem)
	}
	return d.answer, nil
}

// texts keeps one copy of each text: label names and UUIDs are the same in a hundred thousand rows.
type texts struct{ seen map[string]string }

func newTexts() *texts { return &texts{map[string]string{}} }

func (t *texts) of(b []byte) string {
	if s, ok := t.seen[string(b)]; ok { // does not allocate
		return s
	}
	s := string(b)
	t.seen[s] = s
	return s
}

type decoder struct {
	r       *bufio.Reader
	pool    *texts
	keep    func(series)
	most    int
	answer  answer
	status  string
	problem string

	row     series
	scratch []byte
}

var errSyntax = errors.New("no JSON as the query API writes it")

// next is the next byte that is not space.
func (d *decoder) next() (byte, error) {
	for {
		b, err := d.r.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		if b != ' ' && b != '\n' && b != '\t' && b != '\r' {
			return b, nil
		}
	}
}

// peek is next without taking it.
func (d *decoder) peek() (byte, error) {
	b, err := d.next()
	if err == nil {
		err = d.r.UnreadByte()
	}
	return b, err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d *decoder) want(b byte) error {
	if got, err := d.next(); err != nil || got != b {
		return either(err, errSyntax)
	}
	return nil
}

func either(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// document reads the whole answer, and that nothing comes after it.
func (d *decoder) document() error {
	if err := d.object(d.field); err != nil {
		return err
	}
	for {
		b, err := d.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case b != ' ' && b != '\n' && b != '\t' && b != '\r':
			return fmt.Errorf("%w has something after its end", errAnswer)
		}
	}
}

func (d *decoder) field(key string) error {
	switch key {
	case "status":
		return d.value(&d.status)
	case "error":
		return d.value(&d.problem)
	case "warnings":
		return d.value(&d.answer.warnings)
	case "data":
		return d.object(func(key string) error {
			switch key {
			case "resultType":
				return d.value(&d.answer.kind)
			case "result":
				return d.array(d.series)
			}
			return d.value(nil)
		})
	}
	return d.value(nil)
}

// object reads { and }, calling field for each key; null is an empty object.
func (d *decoder) object(field func(key string) error) error {
	return d.list('{', '}', func() error {
		key, err := d.text()
		if err != nil {
			return err
		}
		name := d.pool.of(key)
		if err := d.want(':'); err != nil {
			return err
		}
		return field(name)
	})
}

// array reads [ and ]; null is an empty one.
func (d *decoder) array(element func() error) error { return d.list('[', ']', element) }

func (d *decoder) list(open, end byte, element func() error) error {
	b, err := d.next()
	if err != nil {
		return err
	}
	if b == 'n' {
		return d.word("ull")
	}
	if b != open {
		return errSyntax
	}
	if b, err = d.peek(); err != nil || b == end {
		_, _ = d.r.ReadByte()
		return err
	}
	for {
		if err := element(); err != nil {
			return err
		}
		b, err := d.next()
		switch {
		case err != nil:
			return err
		case b == end:
			return nil
		case b != ',':
			return errSyntax
		}
	}
}

func (d *decoder) word(rest string) error {
	for i := range len(rest) {
		if b, err := d.r.ReadByte(); err != nil || b != rest[i] {
			return either(unexpectedOrNil(err), errSyntax)
		}
	}
	return nil
}

func unexpectedOrNil(err error) error {
	if err == nil {
		return nil
	}
	return unexpected(err)
}

// text reads a string. What it gives is good until the next call.
func (d *decoder) text() ([]byte, error) {
	if err := d.want('"'); err != nil {
		return nil, err
	}
	raw, err := d.r.ReadSlice('"')
	if err != nil {
		return nil, d.tooLong(err)
	}
	if plain(raw[:len(raw)-1]) {
		return raw[:len(raw)-1], nil
	}
	return d.escaped(raw)
}

// plain reports whether a text stands for itself: escapes, and bytes that may not be UTF-8, are left to the library.
func plain(b []byte) bool {
	for _, c := range b {
		if c == '\\' || c < ' ' || c >= 0x80 {
			return false
		}
	}
	return true
}

// escaped reads on to the quote that is not escaped.
func (d *decoder) escaped(raw []byte) ([]byte, error) {
	d.scratch = append(append(d.scratch[:0], '"'), raw...)
	for ends := false; ; {
		slashes := 0
		for i := len(d.scratch) - 2; i > 0 && d.scratch[i] == '\\'; i-- {
			slashes++
		}
		if ends = slashes%2 == 0; ends {
			break
		}
		more, err := d.r.ReadSlice('"')
		if err != nil {
			return nil, d.tooLong(err)
		}
		if d.scratch = append(d.scratch, more...); len(d.scratch) > maxText {
			return nil, errTooMuch
		}
	}
	var s string
	if err := json.Unmarshal(d.scratch, &s); err != nil {
		return nil, err
	}
	return []byte(s), nil
}

func (d *decoder) tooLong(err error) error {
	if errors.Is(err, bufio.ErrBufferFull) {
		return errTooMuch
	}
	return unexpected(err)
}

// value reads any value that is not rows, into what it should be; nil for a value that nobody wants.
func (d *decoder) value(into any) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	if into == nil {
		into = new(json.RawMessage)
	}
	return json.Unmarshal(raw, into)
}

// raw is the text of any value, which json then judges: brackets are counted, and those in strings are not.
func (d *decoder) raw() ([]byte, error) {
	b, err := d.next()
	if err != nil {
		return nil, err
	}
	out, depth, quoted, escape := []byte{b}, 0, b == '"', false
	if b == '{' || b == '[' {
		depth = 1
	}
	for whole := !quoted && depth == 0; ; {
		b, err := d.r.ReadByte()
		if err != nil {
			return nil, unexpected(err)
		}
		if whole && (b == ',' || b == '}' || b == ']') { // the end of a number or a word
			return out, d.r.UnreadByte()
		}
		if out = append(out, b); len(out) > maxBeside {
			return nil, errTooMuch
		}
		switch {
		case escape:
			escape = false
		case quoted && b == '\\':
			escape = true
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			depth--
		}
		if !whole && !quoted && depth <= 0 {
			return out, nil
		}
	}
}

// series reads one row and hands it on.
func (d *decoder) series() error {
	d.row.labels, d.row.samples = d.row.labels[:0], d.row.samples[:0]
	if b, err := d.peek(); err != nil || b != '{' {
		return either(err, errSyntax)
	}
	err := d.object(func(key string) error {
		switch key {
		case "metric":
			return d.object(d.label)
		case "value":
			return d.sample()
		case "values":
			return d.array(d.sample)
		}
		return d.value(nil)
	})
	if err != nil {
		return err
	}
	if d.answer.rows++; d.answer.rows > d.most {
		return fmt.Errorf("%w: more than %d rows", errTooMuch, d.most)
	}
	d.keep(d.row)
	return nil
}

func (d *decoder) label(name string) error {
	v, err := d.text()
	if err != nil {
		return err
	}
	if len(d.row.labels) == maxLabels {
		return errTooMuch
	}
	d.row.labels = append(d.row.labels, label{name, d.pool.of(v)})
	return nil
}

// sample reads [seconds, "value"]. One whose time cannot be read is a gap; a value that is no number becomes NaN.
func (d *decoder) sample() error {
	if b, err := d.peek(); err != nil {
		return err
	} else if b != '[' {
		return d.value(nil)
	}
	s, at, parts := sample{value: math.NaN()}, 0.0, 0
	err := d.array(func() error {
		parts++
		b, err := d.peek()
		switch {
		case err != nil:
			return err
		case parts == 2 && b == '"':
			text, err := d.text()
			if err == nil {
				s.value = number(text)
			}
			return err
		}
		raw, err := d.raw()
		if err != nil {
			return err
		}
		if raw = bytes.TrimSpace(raw); !json.Valid(raw) {
			return errSyntax
		}
		if parts == 1 && raw[0] != '"' {
			at = number(raw)
		}
		return nil
	})
	if err != nil || parts != 2 || !(at >= 1 && at <= 1e11) {
		return err
	}
	s.at = time.UnixMilli(int64(at * 1000)).UTC()
	d.row.samples = append(d.row.samples, s)
	return nil
}

// number reads a value as Prometheus writes one. The library takes more: hexadecimal numbers, and underscores between
// digits.
func number(b []byte) float64 {
	for _, c := range b {
		if c == 'x' || c == 'X' || c == '_' || c == 'p' || c == 'P' {
			return math.NaN()
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
