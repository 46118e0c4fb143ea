package web

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/views/ui"
)

// paused reports whether the reader wants the page to stay as it is.
func paused(k call) bool { return k.get("pause") != "" }

// streamModel says whether the page changes by itself, and offers the other. Both are links, so that they work without
// scripts, and what is paused stays so when it is loaded again.
func streamModel(k call, path string) ui.StreamModel {
	say, next := k.words, cloned(k.query)
	next.Del("id") // it is in the path
	if paused(k) {
		next.Del("pause")
		return ui.StreamModel{Words: say.S("web.stream.paused", "Time", ui.Clock(say.now, time.UTC)+" UTC"),
			Button: ui.LinkButtonModel{Label: say.S("web.stream.go_on"), Small: true, Icon: "play", Href: withQuery(path, next),
				Test: "go-on"}}
	}
	next.Set("pause", "1")
	return ui.StreamModel{Words: say.S("web.stream.live"), Button: ui.LinkButtonModel{Label: say.S("web.stream.pause"),
		Small: true, Icon: "pause", Href: withQuery(path, next), Test: "pause"}}
}

// cloned is a query that may be changed, without what belongs to a stream.
func cloned(q url.Values) url.Values {
	out := url.Values{}
	for name, values := range q {
		if name != "page" {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

func withQuery(path string, q url.Values) string { return strings.TrimSuffix(path+"?"+q.Encode(), "?") }
