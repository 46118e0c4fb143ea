package audit

import "time"

// Filter chooses events. Lists are newest first; Cursor is what the last page gave as next.
type Filter struct {
	Kinds   []Kind
	Without []Kind // leaves these out
	Tenant  string
	Person  string // an id, or a part of a name or e-mail address
	// somewhere in the event; then a page looks through so many events only, and may hold none although there is a next
	// one
	Text     string
	From     time.Time
	Until    time.Time // not itself
	Workload string
	Request  string
	Cursor   string
	Limit    int
}
