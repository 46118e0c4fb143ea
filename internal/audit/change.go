package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// AskedSize is the field of a Change in which a refusal names the size that was asked for.
const AskedSize = "size"

// Delegate is the field of a Change in which an event names the person who decides in somebody's place.
const Delegate = "delegate"

// TokenHolder is the field of a Change in which an event names whose token it is about. Values of fields that are
// called after tokens are not kept.
const TokenHolder = "holder"

// ReassignedTo is the field of a Change in which an event names the approver to whom a request was given.
const ReassignedTo = "reassignedTo"

// SeatPool is the field of a Change in which an approval names the pool of license seats that it has to wait for. The
// event that it was queued stands beside it.
const SeatPool = "seatPool"

// Change is one value that an event changed, by its path: "whole-gpus.outcome". Old and New are "" where there was or
// is none.
type Change struct {
	Field string `json:"field"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

const (
	maxChanges = 40  // of one event; the last one then says how many more there were
	maxValue   = 300 // characters of a value
	masked     = "…" // stands for what nobody may read
)

// Diff tells what differs between two values, by the names of their JSON, in order. It is bounded, for the record is
// kept permanently: what exceeds it is counted. What is called a secret is masked.
func Diff(old, new any) []Change {
	before, after := values(old), values(new)
	paths := map[string]bool{}
	for _, side := range []map[string]string{before, after} {
		for path := range side {
			paths[path] = true
		}
	}
	var changes []Change
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if before[path] != after[path] {
			changes = append(changes, changeOf(path, before[path], after[path]))
		}
	}
	return Bounded(changes)
}

// Bounded keeps the first changes, and says how many were left out.
func Bounded(changes []Change) []Change {
	if len(changes) <= maxChanges {
		return changes
	}
	return append(slices.Clone(changes[:maxChanges-1]),
		Change{Field: "…", New: fmt.Sprintf("+%d", len(changes)-maxChanges+1)})
}

// Changed is one change, nothing where both are the same.
func Changed(field string, old, new any) []Change {
	before, after := fmt.Sprint(old), fmt.Sprint(new)
	if before == after {
		return nil
	}
	return []Change{changeOf(field, before, after)}
}

func changeOf(field, old, new string) Change {
	c := Change{Field: short(field), Old: short(old), New: short(new)}
	if !secret(field) {
		return c
	}
	for _, value := range []*string{&c.Old, &c.New} {
		if *value != "" {
			*value = masked
		}
	}
	return c
}

// secret names what must not be in the record, whoever changes it.
func secret(field string) bool {
	field = strings.ToLower(field)
	return slices.ContainsFunc([]string{"secret", "password", "token", "credential"},
		func(word string) bool { return strings.Contains(field, word) })
}

func short(text string) string {
	if utf8.RuneCountInString(text) <= maxValue {
		return text
	}
	return string([]rune(text)[:maxValue-1]) + "…"
}

// values is a value as its leaves by path. What has no JSON has none.
func values(value any) map[string]string {
	leaves := map[string]string{}
	data, err := json.Marshal(value)
	var tree any
	if err == nil && json.Unmarshal(data, &tree) == nil {
		flatten(leaves, "", tree)
	}
	return leaves
}

func flatten(into map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, item := range v {
			flatten(into, strings.TrimPrefix(path+"."+name, "."), item)
		}
	case []any:
		for i, item := range v {
			flatten(into, fmt.Sprintf("%s[%d]", path, i+1), item)
		}
	case nil:
	default:
		into[path] = fmt.Sprint(v)
	}
}
