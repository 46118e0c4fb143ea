package endpointkey

import "time"

// Limits bound what one key may take; 0 is no limit. Tokens are known when an answer has ended: the call that goes over
// the limit passes, and what it took too much is taken off the minutes after it.
type Limits struct {
	RequestsPerMinute int
	TokensPerMinute   int
	Concurrency       int // calls under way at once
}

// Period is what the limits are counted in; it begins with the first call.
const Period = time.Minute

// Over is a limit that is reached.
type Over string

// The limits of a minute.
const (
	OverNothing  Over = ""
	OverRequests Over = "requests"
	OverTokens   Over = "tokens"
)

// Window is what all replicas have counted of a key's minute. The zero value has counted nothing.
type Window struct {
	From     time.Time
	Requests int // with those that a replica has reserved and not let in yet
	Tokens   int
}

// Ask is what a replica wants counted: the tokens that it took, and further requests.
type Ask struct{ Tokens, Requests int }

// Count adds what a replica asks for, and gives how many of its requests there is room for.
func (w *Window) Count(a Ask, l Limits, now time.Time) (requests int) {
	w.roll(l, now)
	requests = max(0, min(a.Requests, l.RequestsPerMinute-w.Requests))
	w.Requests, w.Tokens = w.Requests+requests, w.Tokens+a.Tokens
	return requests
}

// runs reports whether the minute has not passed. The clocks of two replicas may differ; one that was set back by more
// than a minute begins anew.
func (w *Window) runs(now time.Time) bool {
	age := now.Sub(w.From)
	return age > -Period && age < Period
}

func (w *Window) roll(l Limits, now time.Time) {
	if w.runs(now) {
		return
	}
	age, from := now.Sub(w.From), now.Truncate(time.Microsecond) // as databases keep it
	if age < 0 || w.From.IsZero() {
		*w = Window{From: from}
		return
	}
	minutes := int(min(age/Period, 1<<20))
	w.From, w.Requests, w.Tokens = from, 0, max(0, w.Tokens-minutes*l.TokensPerMinute)
}
