package logstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// elasticsearchRequest asks for the newest hits of the template's query within the range.
func (s *Store) elasticsearchRequest(ctx context.Context, q Question) (*http.Request, error) {
	span := map[string]any{"gte": q.From.UTC().Format(time.RFC3339Nano), "lt": q.Until.UTC().Format(time.RFC3339Nano)}
	body, err := json.Marshal(map[string]any{
		"size": q.Lines, "track_total_hits": false, "_source": []string{s.c.TimeField, s.c.TextField, s.c.PodField},
		"sort": []any{map[string]any{s.c.TimeField: map[string]any{"order": "desc", "unmapped_type": "date"}}},
		"query": map[string]any{"bool": map[string]any{"filter": []any{s.query.(queryDSL).object(q),
			map[string]any{"range": map[string]any{s.c.TimeField: span}}}}},
	})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		s.c.URL+"/"+s.c.Index+"/_search?ignore_unavailable=true", bytes.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

// hits is the part of an answer that is read.
type hits struct {
	TimedOut bool `json:"timed_out"`
	Shards   struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
	Hits *struct {
		Hits []struct {
			Source map[string]any `json:"_source"`
		} `json:"hits"`
	} `json:"hits"`
}

// elasticsearchAnswer sorts hits by time. Those of one moment come in the order in which they were indexed, as the
// store gives them.
func (s *Store) elasticsearchAnswer(body io.Reader) (Answer, error) {
	var h hits
	if err := json.NewDecoder(body).Decode(&h); err != nil {
		return Answer{}, err
	}
	if h.Hits == nil {
		return Answer{}, errors.New("the answer has no hits")
	}
	a := Answer{Partial: h.TimedOut || h.Shards.Failed > 0}
	for _, hit := range h.Hits.Hits {
		text, found := field(hit.Source, s.c.TextField).(string)
		if !found {
			continue // no line of a log
		}
		pod, _ := field(hit.Source, s.c.PodField).(string)
		a.Lines = append(a.Lines, Line{At: moment(field(hit.Source, s.c.TimeField)), Pod: pod, Text: text})
	}
	slices.SortStableFunc(a.Lines, func(a, b Line) int { return a.At.Compare(b.At) })
	return a, nil
}

// field is a value of a document, whose objects may be nested or have names with dots.
func field(document map[string]any, name string) any {
	if v, ok := document[name]; ok {
		return v
	}
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		if inner, ok := document[name[:i]].(map[string]any); ok {
			if v := field(inner, name[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}

// moment reads a date as documents have it: a text of ISO 8601, or milliseconds since 1970.
func moment(v any) time.Time {
	switch v := v.(type) {
	case float64:
		return time.UnixMilli(int64(v)).UTC()
	case string:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700"} {
			if at, err := time.Parse(layout, strings.TrimSpace(v)); err == nil {
				return at.UTC()
			}
		}
	}
	return time.Time{}
}
