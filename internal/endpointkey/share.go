package endpointkey

import "time"

// Share is what one replica knows of the Window of a key. Where it is Due, it has an Ask counted and takes over the
// result with Agreed; between that it lets in what it has reserved, and keeps its tokens for the next time. Both are at
// most a part of the limit, so n replicas keep a limit within n parts and what is under way.
type Share struct {
	common   Window
	agreedAt time.Time
	reserved int // requests of common that were not let in here yet
	tokens   int // taken here and not in common yet
}

// agreeEvery is how old a replica's knowledge of the tokens of others may be.
const agreeEvery = time.Second

// part is what of a limit a replica may count without the others: half a hundredth.
func part(limit int) int { return max(1, limit/200) }

func (l Limits) ofMinute() bool { return l.RequestsPerMinute > 0 || l.TokensPerMinute > 0 }

// Due reports whether the replicas must agree before a call is let in. It is not due where a limit is known to be
// reached until the minute ends: what is refused costs nothing.
func (s *Share) Due(l Limits, now time.Time) bool {
	switch age := now.Sub(s.agreedAt); {
	case !l.ofMinute():
		return false
	case !s.common.runs(now) || s.Owes(l):
		return true
	case l.TokensPerMinute > 0 && s.common.Tokens+s.tokens >= l.TokensPerMinute:
		return false
	case l.RequestsPerMinute > 0 && s.reserved == 0:
		return s.common.Requests < l.RequestsPerMinute
	default:
		return l.TokensPerMinute > 0 && (age >= agreeEvery || age <= -agreeEvery)
	}
}

// Owes reports whether the others should hear of the tokens that were taken here.
func (s *Share) Owes(l Limits) bool {
	return l.TokensPerMinute > 0 && s.tokens >= part(l.TokensPerMinute)
}

// Ask is what is to be counted in the Window.
func (s *Share) Ask(l Limits) Ask {
	a := Ask{Tokens: s.tokens}
	if l.RequestsPerMinute > 0 && s.reserved == 0 {
		a.Requests = part(l.RequestsPerMinute)
	}
	return a
}

// Agreed takes over the Window in which an Ask was counted, and the requests that there was room for.
func (s *Share) Agreed(common Window, a Ask, requests int, now time.Time) {
	if !common.From.Equal(s.common.From) {
		s.reserved = 0
	}
	s.common, s.agreedAt = common, now
	s.reserved, s.tokens = s.reserved+requests, s.tokens-a.Tokens
}

// Alone counts without others: where this is the only replica, or they cannot agree.
func (s *Share) Alone(l Limits, now time.Time) {
	common, a := s.common, s.Ask(l)
	requests := common.Count(a, l, now)
	s.Agreed(common, a, requests, now)
}

// Take lets a call in, unless a limit is reached: then it says which, and after how long another call may pass. It must
// not be Due.
func (s *Share) Take(l Limits, now time.Time) (over Over, retry time.Duration) {
	left, tokens := s.common.From.Add(Period).Sub(now), s.common.Tokens+s.tokens
	switch {
	case l.TokensPerMinute > 0 && tokens >= l.TokensPerMinute:
		return OverTokens, left + time.Duration(tokens/l.TokensPerMinute-1)*Period
	case l.RequestsPerMinute > 0 && s.reserved == 0:
		return OverRequests, left
	case l.RequestsPerMinute > 0:
		s.reserved--
	}
	return OverNothing, 0
}

// Charge counts the tokens of a call that has ended.
func (s *Share) Charge(tokens int, l Limits) {
	if l.TokensPerMinute > 0 {
		s.tokens += tokens
	}
}

// Left is what may still be taken, as far as it is known here, and when the minute ends.
func (s *Share) Left(l Limits, now time.Time) (requests, tokens int, reset time.Duration) {
	w := s.now(l, now)
	return max(0, l.RequestsPerMinute-w.Requests), max(0, l.TokensPerMinute-w.Tokens), w.From.Add(Period).Sub(now)
}

// Over reports whether the minute has passed and nothing of it is left to pay.
func (s *Share) Over(l Limits, now time.Time) bool {
	w := s.now(l, now)
	return !l.ofMinute() || !s.common.runs(now) && w.Tokens == 0
}

// now is the Window with what was taken here and without what was only reserved.
func (s *Share) now(l Limits, now time.Time) Window {
	w := s.common
	w.Requests, w.Tokens = w.Requests-s.reserved, w.Tokens+s.tokens
	w.roll(l, now)
	return w
}
