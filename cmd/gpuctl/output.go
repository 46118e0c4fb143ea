package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

// Formats of --output.
const (
	table  = "table"
	asJSON = "json"
	asYAML = "yaml"
	asName = "name"
)

var formats = []string{table, asJSON, asYAML, asName}

// rendered is one answer in every format.
type rendered struct {
	value any      // for json and yaml; the portal's own JSON as json.RawMessage
	names []string // for name
	head  []string // of the table; nil for one thing, whose rows are a label and a value
	rows  [][]string
}

func (c *cli) print(r rendered) error {
	switch c.format {
	case asName:
		for _, name := range r.names {
			fmt.Fprintln(c.out, clean(name))
		}
		return nil
	case table:
		return c.table(r)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(r.value)
	text := escapeControls(b.Bytes())
	if err == nil && c.format == asYAML {
		text, err = yaml.JSONToYAML(text)
	}
	if err == nil {
		_, err = c.out.Write(text)
	}
	return err
}

// escapeControls writes those control characters as escapes that JSON leaves as they are; they stand in strings only.
func escapeControls(text []byte) []byte {
	return controls.ReplaceAllFunc(text, func(c []byte) []byte {
		r, _ := utf8.DecodeRune(c)
		return fmt.Appendf(nil, "\\u%04x", r)
	})
}

var controls = regexp.MustCompile(`[\x{7f}-\x{9f}]`)

func (c *cli) table(r rendered) error {
	if r.head != nil && len(r.rows) == 0 {
		fmt.Fprintln(c.err, "Nothing found.")
		return nil
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if r.head != nil {
		fmt.Fprintln(w, strings.Join(r.head, "\t"))
	}
	for _, row := range r.rows {
		if r.head == nil && row[1] == "" {
			continue
		}
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = clean(cell)
		}
		if r.head == nil {
			cells[0] += ":"
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t "))
	}
	return w.Flush()
}

// clean makes text of other people harmless for a terminal: no escape sequences, no characters that change the
// direction of what follows.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func (c *cli) at(t time.Time) string { return t.In(c.zone).Format("2006-01-02 15:04") }

func money(m apiclient.Money) string { return m.Amount + " " + m.Currency }

// readToken reads what is at most a token, or a file of them.
func readToken(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, 1<<20)) }

// page is what every list of the API answers.
type page struct {
	Items []json.RawMessage `json:"items"`
	Next  string            `json:"next"`
}

// listed are the items of a list, read and as they came.
type listed[T any] struct {
	items []T
	raw   []json.RawMessage
	more  bool
}

func (l listed[T]) value() any {
	if l.raw == nil {
		l.raw = []json.RawMessage{}
	}
	return map[string]any{"items": l.raw}
}

// pages reads a list until it has enough.
func pages[T any](most int, next func(cursor *string) (apiclient.Answer[page], error)) (listed[T], error) {
	var all listed[T]
	var cursor *string
	for {
		a, err := next(cursor)
		if err != nil {
			return all, err
		}
		for _, raw := range a.Value.Items {
			if len(all.items) == most {
				all.more = true
				return all, nil
			}
			var item T
			if err := json.Unmarshal(raw, &item); err != nil {
				return all, fmt.Errorf("read the response: %w", err)
			}
			all.items, all.raw = append(all.items, item), append(all.raw, raw)
		}
		if a.Value.Next == "" {
			return all, nil
		}
		cursor = &a.Value.Next
	}
}
