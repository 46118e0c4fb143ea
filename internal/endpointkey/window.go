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

// Window counts what a key has taken in its minute. The zero value has taken nothing.
type Window struct {
	from     time.Time
	requests int
	tokens   int
}

// Over is a limit that is reached.
type Over string

// The limits of a minute.
const (
	OverNothing  Over = ""
	OverRequests Over = "requests"
	OverTokens   Over = "tokens"
)

// Take counts a call, unless a limit is reached: then it says which, and after how long another call may pass.
func (w *Window) Take(l Limits, now time.Time) (over Over, retry time.Duration) {
	w.roll(l, now)
	left := w.from.Add(Period).Sub(now)
	switch {
	case l.TokensPerMinute > 0 && w.tokens >= l.TokensPerMinute:
		return OverTokens, left + time.Duration(w.tokens/l.TokensPerMinute-1)*Period
	case l.RequestsPerMinute > 0 && w.requests >= l.RequestsPerMinute:
		return OverRequests, left
	}
	w.requests++
	return OverNothing, 0
}

// Charge counts the tokens of a call that has ended.
func (w *Window) Charge(tokens int, l Limits, now time.Time) {
	w.roll(l, now)
	w.tokens += tokens
}

// Left is what may still be taken, and when the minute ends.
func (w *Window) Left(l Limits, now time.Time) (requests, tokens int, reset time.Duration) {
	w.roll(l, now)
	return max(0, l.RequestsPerMinute-w.requests), max(0, l.TokensPerMinute-w.tokens), w.from.Add(Period).Sub(now)
}

// Over reports whether the minute has passed and nothing of it is left to pay.
func (w *Window) Over(l Limits, now time.Time) bool {
	return now.Sub(w.from) >= Period && (l.TokensPerMinute == 0 || w.tokens <= l.TokensPerMinute)
}

func (w *Window) roll(l Limits, now time.Time) {
	age := now.Sub(w.from)
	if age >= 0 && age < Period {
		return
	}
	if age < 0 || w.from.IsZero() { // a clock that was set back begins anew
		*w = Window{from: now}
		return
	}
	minutes := int(min(age/Period, 1<<20))
	w.tokens = max(0, w.tokens-minutes*l.TokensPerMinute)
	if l.TokensPerMinute == 0 {
		w.tokens = 0
	}
	w.from, w.requests = now, 0
}
