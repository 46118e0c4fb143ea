package logstore

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// lokiRequest asks for the newest lines of a range: start is part of it, end is not. Source: the HTTP API of Loki 3,
// "Query logs within a range of time".
func (s *Store) lokiRequest(ctx context.Context, q Question) (*http.Request, error) {
	v := url.Values{"query": {s.query.fill(q)}, "direction": {"backward"}, "limit": {strconv.Itoa(q.Lines)},
		"start": {strconv.FormatInt(q.From.UnixNano(), 10)}, "end": {strconv.FormatInt(q.Until.UnixNano(), 10)}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.c.URL+"/loki/api/v1/query_range?"+v.Encode(), nil)
	if err == nil && s.c.Tenant != "" {
		r.Header.Set("X-Scope-OrgID", s.c.Tenant)
	}
	return r, err
}

// lokiResult is the part of an answer that is read. An entry of values is [nanoseconds, line], and perhaps an object
// of structured metadata behind.
type lokiResult struct {
	Status string `json:"status"`
	Data   struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Stream map[string]string   `json:"stream"`
			Values [][]json.RawMessage `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

// lokiAnswer merges the streams by time. Each has its newest line first.
func (s *Store) lokiAnswer(body io.Reader) (Answer, error) {
	var r lokiResult
	if err := json.NewDecoder(body).Decode(&r); err != nil {
		return Answer{}, err
	}
	if r.Status != "success" || r.Data.ResultType != "streams" {
		return Answer{}, fmt.Errorf("status %.40q, resultType %.40q: the query must give log lines", r.Status,
			r.Data.ResultType)
	}
	var a Answer
	for _, stream := range r.Data.Result {
		for _, entry := range slices.Backward(stream.Values) {
			var stamp, text string
			if len(entry) < 2 || json.Unmarshal(entry[0], &stamp) != nil || json.Unmarshal(entry[1], &text) != nil {
				return Answer{}, fmt.Errorf("an entry of a stream has no time and line")
			}
			nanos, err := strconv.ParseInt(stamp, 10, 64)
			if err != nil {
				return Answer{}, err
			}
			a.Lines = append(a.Lines, Line{At: time.Unix(0, nanos).UTC(), Pod: stream.Stream[s.c.PodField], Text: text})
		}
	}
	slices.SortStableFunc(a.Lines, func(a, b Line) int { return a.At.Compare(b.At) })
	return a, nil
}
