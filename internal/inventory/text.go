package inventory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the API server lets through is bounded already; drivers, fakes and aggregated servers may be less strict, and
// every text here ends on a page.
const (
	longestName  = 253 // DNS subdomain: nodes, pods, pools
	longestKey   = 317 // prefix/name of labels and resources
	longestValue = 63  // of labels; attributes of devices may have one more
	mostNamed    = 64  // resources of one node
)

// clean bounds a foreign text in bytes and takes out what a page or a log would stumble over. A text that is in order
// stays the same, allocating nothing.
func clean(text string, longest int) string {
	if len(text) <= longest && plain(text) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) <= longest {
		return text
	}
	for longest > 0 && !utf8.RuneStart(text[longest]) {
		longest--
	}
	return text[:longest]
}

// plain reports whether a text is printable ASCII: nearly all are.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return false
		}
	}
	return true
}

// clip shortens a text for a sentence.
func clip(text string) string { return clean(text, 80) }

// Short bounds a text of an agent as this package does with its own.
func Short(text string) string { return clean(text, longestValue) }
