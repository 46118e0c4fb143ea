package gpumetrics

import (
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

// series is one row of an answer: one sample for an instant query, many for a range.
type series struct {
	labels  map[string]string
	samples []sample
}

// errAnswer begins every complaint about what Prometheus sent.
var errAnswer = errors.New("answer of Prometheus")

// limited fails, rather than ends, when more than allowed is read: half an answer must not look like a whole one.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("%w is too large", errAnswer)
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}

// decode reads an answer of the query API row by row, handing each to keep, so that no more than one row is held in its JSON form.
func decode(r io.Reader, limit int64, keep func(series)) error {
	d := json.NewDecoder(&limited{r, limit + 1})
	status, problem := "", ""
	err := object(d, func(key string) error {
		switch key {
		case "status":
			return d.Decode(&status)
		case "error":
			return d.Decode(&problem)
		case "data":
			return data(d, keep)
		}
		return d.Decode(new(json.RawMessage))
	})
	switch {
	case err != nil && errors.Is(err, errAnswer):
		return err
	case err != nil:
		return fmt.Errorf("%w cannot be read: %w", errAnswer, err)
	case status != "success":
		return fmt.Errorf("%w: status %.20q: %.200q", errAnswer, status, problem)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w has something after its end", errAnswer)
	}
	return nil
}

// object reads { and }, calling field for each key; null is an empty object.
func object(d *json.Decoder, field func(key string) error) error {
	open, err := d.Token()
	if err != nil || open == nil {
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("%w has %v where an object should begin", errAnswer, open)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := field(name); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

func data(d *json.Decoder, keep func(series)) error {
	return object(d, func(key string) error {
		if key != "result" {
			return d.Decode(new(json.RawMessage))
		}
		open, err := d.Token()
		if err != nil || open == nil {
			return err
		}
		if open != json.Delim('[') {
			return fmt.Errorf("%w has %v where rows should begin", errAnswer, open)
		}
		for d.More() {
			var row row
			if err := d.Decode(&row); err != nil {
				return err
			}
			keep(row.series())
		}
		_, err = d.Token()
		return err
	})
}

type row struct {
	Metric map[string]string `json:"metric"`
	Value  pair              `json:"value"`
	Values []pair            `json:"values"`
}

func (r row) series() series {
	s := series{labels: r.Metric}
	for _, p := range append(r.Values, r.Value) {
		if !p.at.IsZero() {
			s.samples = append(s.samples, sample(p))
		}
	}
	return s
}

// pair is [seconds, "value"].
type pair sample

// UnmarshalJSON reads a pair; a value that is no number becomes NaN, a time that is none leaves the pair zero.
func (p *pair) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil || len(parts) != 2 {
		return nil //nolint:nilerr // a sample that cannot be read is a gap
	}
	var seconds float64
	if json.Unmarshal(parts[0], &seconds) != nil || seconds < 1 || seconds > 1e11 {
		return nil
	}
	p.at, p.value = time.UnixMilli(int64(seconds*1000)).UTC(), math.NaN()
	var text string
	if json.Unmarshal(parts[1], &text) == nil {
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			p.value = v
		}
	}
	return nil
}
