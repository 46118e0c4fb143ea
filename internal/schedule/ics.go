package schedule

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Event is an entry of a calendar that other programs read.
type Event struct {
	ID      string // the same for the same entry whenever it is written, so that one that moves is not there twice
	At      time.Time
	Summary string
	Detail  string
	URL     string
}

// ICS writes an iCalendar file (RFC 5545). Times are written in UTC: no program has to know the rules of a zone, and
// what a zone changes comes with the next reading.
func ICS(name string, now time.Time, events []Event) string {
	var b strings.Builder
	line := func(text string) { fold(&b, text) }
	line("BEGIN:VCALENDAR")
	line("VERSION:2.0")
	line("PRODID:-//gpu-portal//schedule//EN")
	line("CALSCALE:GREGORIAN")
	line("METHOD:PUBLISH")
	line("NAME:" + escaped(name))
	line("X-WR-CALNAME:" + escaped(name))
	line("REFRESH-INTERVAL;VALUE=DURATION:PT1H")
	line("X-PUBLISHED-TTL:PT1H")
	for _, e := range events {
		line("BEGIN:VEVENT")
		line("UID:" + escaped(e.ID) + "@gpu-portal")
		line("DTSTAMP:" + inUTC(now))
		line("DTSTART:" + inUTC(e.At))
		line("DTEND:" + inUTC(e.At))
		line("SUMMARY:" + escaped(e.Summary))
		if e.Detail != "" {
			line("DESCRIPTION:" + escaped(e.Detail))
		}
		if e.URL != "" {
			line("URL:" + strings.NewReplacer("\r", "", "\n", "").Replace(e.URL))
		}
		line("TRANSP:TRANSPARENT")
		line("END:VEVENT")
	}
	line("END:VCALENDAR")
	return b.String()
}

func inUTC(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

var escapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", "")

func escaped(text string) string { return escapes.Replace(text) }

// foldAt is how many bytes a line may have.
const foldAt = 75

// fold ends a line, in several parts where it is long; no character is cut.
func fold(b *strings.Builder, text string) {
	for room := foldAt; len(text) > room; room = foldAt - 1 { // the space that begins the next part counts
		cut := room
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		b.WriteString(text[:cut] + "\r\n ")
		text = text[cut:]
	}
	b.WriteString(text + "\r\n")
}
