package renewal

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Limits are the site's times.
type Limits struct {
	Refresh  time.Duration // groups told longer ago are asked for again
	Grace    time.Duration // and when nobody answers, count until they are this old; at least Refresh
	Overtime time.Duration // how much longer than the provider's token a session may last that has no refresh token
}

// Age says what the groups of a session are worth.
type Age int

// The ages: they count; they count unless the provider says otherwise; they count no more until it has said.
const (
	Current Age = iota
	Due
	Stale
)

// Look says how old the groups of a session are. Without a refresh token nobody can ask, and they count until the
// session ends, which Begin made soon. Of a session that has ended nothing is worth asking.
func (l Limits) Look(s identity.Session, now time.Time) Age {
	told := now.Sub(s.GroupsAt)
	switch {
	case s.RefreshToken == "" || told < l.Refresh || !now.Before(s.EndsAt):
		return Current
	case told < l.Grace:
		return Due
	}
	return Stale
}

// retry is how long an asker may take, and so when the next may ask after one that got no answer. It is more than the
// calls to the provider can take together.
const retry = 30 * time.Second

// asked reports whether somebody asks now, or asked just before in vain.
func asked(s identity.Session, now time.Time) bool {
	return !s.AskedAt.IsZero() && now.Sub(s.AskedAt) < retry
}

// Until is when to look at the session again, for somebody who only watches.
func (l Limits) Until(s identity.Session, now time.Time) time.Time {
	switch l.Look(s, now) {
	case Current:
		if s.RefreshToken == "" {
			return s.EndsAt
		}
		return earlier(s.EndsAt, s.GroupsAt.Add(l.Refresh))
	case Due:
		return earlier(now.Add(retry), s.GroupsAt.Add(l.Grace))
	}
	return now
}

// ends is the end of a session with the provider's token: the provider's, when nobody can ask it again.
func (l Limits) ends(s identity.Session, token time.Time) time.Time {
	if s.RefreshToken != "" || token.IsZero() {
		return s.EndsAt
	}
	return earlier(s.EndsAt, token.Add(l.Overtime))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
