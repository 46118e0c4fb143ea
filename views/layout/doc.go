// Package layout is the frame of every page: masthead, navigation, strips, content, and the pages without a frame
// (sign-in, error). Its models are plain values; the words that are always the same come from the Localizer in the
// context.
//
// # The theme
//
// PageModel.Theme is what the person chose, from a cookie: "dark", "light", or "" to follow the system. The server
// writes the class of the html element, so nothing flashes. The menu posts theme=dark|light|auto and back=<path> to
// Links.Theme.
//
// # Live pages
//
// With PageModel.LiveURL set, static/js/live.js opens one EventSource to it. The server sends
//
//	event: fragments
//	data: [{"id":"workload-7","html":"<tr id=\"workload-7\" …>…</tr>"}, …]
//
//	event: reload
//	data: {"id":"workloads"}
//
//	event: beat
//	data: {"at":"2026-11-21T14:02:00Z"}
//
// A fragment replaces the element with its id by morphing: focus, typed text, open details and scroll stay. Empty html
// removes the element. A fragment whose id is not on the page is dropped, unless it says where it belongs:
// "into":"workloads-rows" and "at":"start" or "end" (the default). "say" is a sentence for the polite live region, for
// what a person should hear: {"id":…,"html":…,"say":"Your notebook is ready."}.
//
// A reload makes the page fetch the element's data-live-src again (a card's Region), or the page itself and take the
// element out of it; without an id, the whole content. It is what a subscriber that was too slow gets. The page does
// the same by itself when the stream comes back after a break, so nothing is missed.
//
// A beat comes at least every 25 seconds. After 60 seconds of silence, or when the stream breaks for longer than a
// moment, a strip says that the connection is lost and from when the data is; it goes away by itself. A page that is
// hidden for five minutes gives its connection back and catches up when it is seen again. Without scripts or without
// the stream the page is right as it was rendered.
package layout
