package page

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// Paused reports whether the reader wants the page to stay as it is.
func Paused(k Call) bool { return k.Get("pause") != "" }

// StreamModel says whether the page changes by itself, and offers the other. Both are links, so that they work without
// scripts, and what is paused stays so when it is loaded again.
func StreamModel(k Call, path string) ui.StreamModel {
	next := Cloned(k.Query)
	next.Del("id") // it is in the path
	if Paused(k) {
		next.Del("pause")
		return ui.StreamModel{Paused: ui.Clock(k.Words.Now, time.UTC) + " UTC", Href: WithQuery(path, next)}
	}
	next.Set("pause", "1")
	return ui.StreamModel{Href: WithQuery(path, next)}
}

// Cloned is a query that may be changed, without what belongs to a stream.
func Cloned(q url.Values) url.Values {
	out := url.Values{}
	for name, values := range q {
		if name != "page" {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// WithQuery is an address with a query that may be empty.
func WithQuery(path string, q url.Values) string { return strings.TrimSuffix(path+"?"+q.Encode(), "?") }
