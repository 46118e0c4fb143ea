package store

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// TestValuesAreGivenOnce: each name has one number, a list one for each of its own; a name without a value is wrong.
func TestValuesAreGivenOnce(t *testing.T) {
	const query = "SELECT @until - @from FROM t WHERE tenant IN @tenants AND u < @until AND tenant IN @tenants"
	text, values, err := withNumbers(query, map[string]any{"from": 1, "until": 2, "tenants": []string{"a", "b"},
		"more": 3})
	want := "SELECT $1 - $2 FROM t WHERE tenant IN ($3,$4) AND u < $1 AND tenant IN ($3,$4)"
	if err != nil || text != want || !reflect.DeepEqual(values, []any{2, 1, "a", "b"}) {
		t.Errorf("want %s, got %s with %v, %v", want, text, values, err)
	}
	if _, _, err = withNumbers("SELECT @from, @to", map[string]any{"from": 1}); err == nil {
		t.Error("want a mistake for a name without a value")
	}
}

// TestStatementsOfUsageAreKept: what the page of usage asks is parsed once, and its values are told to those who look.
func TestStatementsOfUsageAreKept(t *testing.T) {
	var told []string
	s := opened(t, Options{OnSQL: func(_ context.Context, sql string) { told = append(told, sql) }})
	kept := s.view.db.ConnPool.(*prepared)
	span := usage.Span{From: time.Unix(1000, 0), Until: time.Unix(2000, 0)}
	filters := []usage.Filter{{Owner: "p'1"}, {Tenants: []string{"a", "b"}}, {}}
	read := func() {
		t.Helper()
		for _, f := range filters {
			f.Span = span
			if _, err := s.Statement(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Charges(t.Context(), span); err != nil {
			t.Fatal(err)
		}
	}
	read()
	var long []string
	for text := range kept.kept {
		if strings.Contains(text, "meter_intervals") {
			long = append(long, text)
		}
	}
	if len(long) != len(filters)+1 {
		t.Errorf("want every statement of the meter kept, got %q", long)
	}
	for _, sql := range told {
		if strings.Contains(sql, "$") || strings.Contains(sql, "@") {
			t.Errorf("want the values told, got %s", sql)
		}
	}
	if !slices.ContainsFunc(told, func(sql string) bool { return strings.Contains(sql, "WHERE owner = 'p''1'") }) {
		t.Errorf("want the owner told, got %q", told)
	}
	before := len(kept.kept)
	read()
	if len(kept.kept) != before {
		t.Errorf("want no further statement, got %d after %d", len(kept.kept), before)
	}
}
