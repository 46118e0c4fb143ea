package explain

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
)

// longest is how much of the cluster's words a detail may hold, in characters.
const longest = 2000

// clip makes foreign words safe to keep and to show: valid, without characters that cannot be seen, and not too long.
func clip(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if hidden(r) {
			continue
		}
		if n++; n > longest {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// hidden is what a person cannot see and what changes the direction of writing; a broken character counts as well.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == unicode.ReplacementChar, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F:
		return true
	}
	return unicode.IsControl(r)
}

var (
	safeName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,78}[A-Za-z0-9])?$`)
	safeAmount = regexp.MustCompile(`^[0-9]{1,15}(\.[0-9]{1,3})?[A-Za-z]{0,2}$`)
)

// name lets through what can be the name of a Kubernetes resource; anything else becomes a question mark.
func name(text string) string {
	if safeName.MatchString(text) {
		return text
	}
	return "?"
}

// amount lets through a quantity.
func amount(text string) string {
	if safeAmount.MatchString(text) {
		return text
	}
	return "?"
}

// at is when an event was last seen.
func at(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	case !e.FirstTimestamp.IsZero():
		return e.FirstTimestamp.Time
	}
	return e.CreationTimestamp.Time
}

func newestFirst(events []*corev1.Event, wanted func(*corev1.Event) bool) []*corev1.Event {
	var list []*corev1.Event
	for _, e := range events {
		if e != nil && wanted(e) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b *corev1.Event) int { return at(b).Compare(at(a)) })
	return list
}

// event is the newest with one of the reasons; nil when there is none.
func event(events []*corev1.Event, reasons ...string) *corev1.Event {
	for _, e := range events {
		if slices.Contains(reasons, e.Reason) {
			return e
		}
	}
	return nil
}

// row is one line of a table: fragments of the cluster's words of which any may occur, and the sentence that they mean.
// Fragments are matched with case and in the order of the table.
type row struct {
	fragments []string
	id        string
	failed    bool
}

// match finds the first row with a fragment in the text.
func match(rows []row, text string) (row, bool) {
	for _, r := range rows {
		if containsAny(text, r.fragments...) {
			return r, true
		}
	}
	return row{}, false
}

func containsAny(text string, fragments ...string) bool {
	return slices.ContainsFunc(fragments, func(f string) bool { return strings.Contains(text, f) })
}
