package endpointkey

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func TestCheck(t *testing.T) {
	now, before, other := newCredential(), newCredential(), newCredential()
	k := Key{SecretHash: now.Hash(), FormerHash: before.Hash(), FormerUntil: at(60), ExpiresAt: at(120)}
	revoked := k
	revoked.RevokedAt = at(1)
	never := Key{SecretHash: now.Hash(), ExpiresAt: at(120)}
	for name, c := range map[string]struct {
		key    Key
		secret identity.Credential
		at     int
		want   error
	}{
		"the secret":                   {k, now, 0, nil},
		"the secret at its end":        {k, now, 120, ErrExpired},
		"the one of before":            {k, before, 59, nil},
		"the one of before, too late":  {k, before, 60, ErrExpired},
		"another one":                  {k, other, 0, ErrWrong},
		"another one after the end":    {k, other, 120, ErrWrong},
		"a revoked key":                {revoked, now, 2, ErrWrong},
		"no secret where none was yet": {never, identity.Credential{}, 0, ErrWrong},
	} {
		if err := c.key.Check(c.secret, at(c.at)); !errors.Is(err, c.want) {
			t.Errorf("%s: want %v, got %v", name, c.want, err)
		}
	}
}

func TestState(t *testing.T) {
	week := int(EndsSoon / time.Second)
	for name, c := range map[string]struct {
		key  Key
		want State
	}{
		"more than a week left":    {Key{ExpiresAt: at(week + 1)}, Active},
		"a week left":              {Key{ExpiresAt: at(week)}, Ending},
		"at its end":               {Key{ExpiresAt: at(0)}, Expired},
		"rotated":                  {Key{ExpiresAt: at(week), FormerUntil: at(1)}, Replaced},
		"rotated, overlap is over": {Key{ExpiresAt: at(2 * week), FormerUntil: at(0)}, Active},
		"revoked":                  {Key{ExpiresAt: at(2 * week), FormerUntil: at(1), RevokedAt: at(-1)}, Revoked},
	} {
		if got := c.key.State(at(0)); got != c.want {
			t.Errorf("%s: want %s, got %s", name, c.want, got)
		}
	}
}

func TestParse(t *testing.T) {
	c := newCredential()
	if got, ok := Parse(Prefix + c.String()); !ok || got != c {
		t.Errorf("want what was made read again, got %v, %v", got, ok)
	}
	for _, text := range []string{"", "gpk_", c.String(), Prefix + c.ID, Prefix + "short.x", Prefix + c.ID + "." +
		strings.Repeat("x", 300), "gpup_" + c.String(), Prefix + "ABCDEFGH.x"} {
		if _, ok := Parse(text); ok {
			t.Errorf("%q is no key", text)
		}
	}
	for text, want := range map[string]bool{"key=" + Prefix + c.String(): true, Prefix + Prefix + c.String(): true,
		"q=gpk_notes&a=gpk_": false, "": false} {
		if In(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

// take is a call of a replica that is alone.
func take(s *Share, l Limits, now time.Time) (Over, time.Duration) {
	if s.Due(l, now) {
		s.Alone(l, now)
	}
	return s.Take(l, now)
}

func TestRequestsInAMinute(t *testing.T) {
	var s Share
	l := Limits{RequestsPerMinute: 2}
	for i, c := range []struct {
		at    int
		over  Over
		retry int
	}{{0, "", 0}, {10, "", 0}, {20, OverRequests, 40}, {59, OverRequests, 1}, {60, "", 0}, {61, "", 0},
		{62, OverRequests, 58}, {-100, "", 0}} {
		over, retry := take(&s, l, at(c.at))
		if over != c.over || retry != time.Duration(c.retry)*time.Second {
			t.Errorf("call %d: want %q after %d s, got %q after %s", i, c.over, c.retry, over, retry)
		}
	}
}

func TestTokensInAMinute(t *testing.T) {
	var w Share
	l := Limits{TokensPerMinute: 100}
	if over, _ := take(&w, l, at(0)); over != "" {
		t.Error("want the first call let through")
	}
	w.Charge(250, l)
	if _, tokens, reset := w.Left(l, at(1)); tokens != 0 || reset != 59*time.Second {
		t.Errorf("want nothing left for 59 s, got %d for %s", tokens, reset)
	}
	if over, retry := take(&w, l, at(2)); over != OverTokens || retry != 118*time.Second {
		t.Errorf("want two minutes to be paid, got %q %s", over, retry)
	}
	if over, _ := take(&w, l, at(61)); over != OverTokens {
		t.Error("want the second minute to be paid as well")
	}
	if over, _ := take(&w, l, at(121)); over != "" {
		t.Errorf("want room after two minutes, got %q", over)
	}
	if _, tokens, _ := w.Left(l, at(121)); tokens != 50 {
		t.Errorf("want 50 tokens left of the third minute, got %d", tokens)
	}
	if !w.Over(l, at(500)) || w.Over(l, at(122)) {
		t.Error("want the minute over after it, and not in it")
	}
}

// TestReplicasShareALimit: three replicas that only meet in the Window let in what one would, whatever the order of
// calls.
func TestReplicasShareALimit(t *testing.T) {
	for _, limit := range []int{1, 7, 100, 1000, 20_000} {
		for _, l := range []Limits{{RequestsPerMinute: limit}, {TokensPerMinute: 10 * limit}} {
			var common Window
			replicas, passed, agreed := make([]Share, 3), 0, 0
			chance := rand.New(rand.NewPCG(1, uint64(limit)))
			for range 4 * limit {
				s := &replicas[chance.IntN(3)]
				for s.Due(l, noon) {
					a := s.Ask(l)
					s.Agreed(common, a, common.Count(a, l, noon), noon)
					agreed++
				}
				if over, _ := s.Take(l, noon); over == OverNothing {
					passed++
					s.Charge(10, l)
				}
			}
			if least := limit - 3*part(limit); passed < least || passed > limit+3*part(10*limit)/10+2 {
				t.Errorf("%+v: want %d calls let in within 2 %%, got %d", l, limit, passed)
			}
			if l.RequestsPerMinute > 0 && agreed > 3+limit/part(limit)+3 {
				t.Errorf("%+v: agreed %d times", l, agreed)
			}
		}
	}
}

func TestCounter(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":3,"total_tokens":10,"completion_tokens": 7 ,` +
		`"prompt_tokens_details":{"cached_tokens":2,"prompt_tokens":99}}`
	none := Usage{}
	for name, c := range map[string]struct {
		stream bool
		text   string
		want   Usage
		seen   bool
		events int
	}{
		"an object":   {false, `{"id":"x","choices":[{"message":{"content":"a"}}],` + usage + `}`, Usage{3, 7}, true, 1},
		"usage first": {false, "{\n " + usage + `, "usage_of":{"prompt_tokens":9}, "choices":[]}`, Usage{3, 7}, true, 1},
		"what a model writes": {false,
			`{"choices":[{"text":"\"usage\":{\"prompt_tokens\":5}","usage":{"prompt_tokens":5}}],` +
				`"a":"\\","metadata":{"usage":{"prompt_tokens":5}}}`, none, false, 1},
		"an end in a string": {false, `{"a":"\"},\"usage\":{","b":"\\\"usage"}`, none, false, 1},
		"no number":          {false, `{"usage":{"prompt_tokens":null,"completion_tokens":1.5}}`, none, false, 1},
		"no usage":           {false, `{"usage":null}`, none, false, 1},
		"too long a number":  {false, `{"usage":{"prompt_tokens":1234567890123}}`, none, false, 1},
		"an embedding": {false, `{"data":[{"embedding":[0.1,-2]}],"usage":{"prompt_tokens":4}}`, Usage{4, 0}, true,
			1},
		"deep": {false, `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,` + usage + `}`,
			Usage{3, 7}, true, 1},
		"no JSON": {false, `]]}},,::"`, none, false, 0},
		"a stream that tells": {true, "data: {\"choices\":[],\"usage\":null}\n\ndata: {\"choices\":[]," + usage +
			"}\n\ndata: [DONE]\n\n", Usage{3, 7}, true, 2},
		"carriage returns": {true, ": hello\r\nevent: x\r\ndata:{" + usage + "}\r\n\r\n", Usage{3, 7}, true, 1},
		"the last one counts": {true,
			"data: {\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: {\"usage\":{\"completion_tokens\":2}}\n\n",
			Usage{1, 2}, true, 2},
		"lines of one event":    {true, "data: {\"usage\":\ndata: {\"prompt_tokens\":1}}\n\n", Usage{1, 0}, true, 1},
		"broken off, then more": {true, "data: {\"a\":\"\n\ndata: {" + usage + "}\n\n", Usage{3, 7}, true, 2},
		"responses": {true, "event: response.completed\ndata: {\"type\":\"x\",\"response\":{\"id\":\"a\",\"usage\":" +
			"{\"input_tokens\":5,\"output_tokens\":6}}}\n\n", Usage{5, 6}, true, 1},
		"messages": {true,
			"data: {\"message\":{\"usage\":{\"input_tokens\":5}}}\n\ndata: {\"usage\":{\"output_tokens\":6}}\n\n",
			Usage{5, 6}, true, 2},
		"a stream that does not tell": {true, "data: {\"a\":1}\n\ndata: {\"a\":2}\n\ndata: [DONE]\n\n", none, false, 2},
		"usage in another line":       {true, "event: {" + usage + "}\n\n", none, false, 0},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			counter := NewCounter(c.stream)
			for text := []byte(c.text); len(text) > 0; {
				n := min(size, len(text))
				_, _ = counter.Write(text[:n])
				text = text[n:]
			}
			got, seen := counter.Usage()
			if got != c.want || seen != c.seen || counter.Events() != c.events {
				t.Errorf("%s, %d bytes at once: want %v %v %d, got %v %v %d", name, size, c.want, c.seen, c.events, got, seen,
					counter.Events())
			}
		}
	}
}

// A stream of any length is counted without taking memory.
func TestCounterKeepsNothing(t *testing.T) {
	counter := NewCounter(true)
	chunk := []byte("data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 4000) + "\"}}]}\n\n")
	if n := testing.AllocsPerRun(100, func() { _, _ = counter.Write(chunk) }); n != 0 {
		t.Errorf("want no allocation, got %v", n)
	}
}

func FuzzCounter(f *testing.F) {
	f.Add([]byte(`{"usage":{"prompt_tokens":3}}`), true)
	f.Add([]byte("data: {\"usage\":{}}\n\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, stream bool) {
		whole, parts := NewCounter(stream), NewCounter(stream)
		_, _ = whole.Write(text)
		for i := range text {
			_, _ = parts.Write(text[i : i+1])
		}
		if *whole != *parts {
			t.Errorf("the bytes in one piece and one by one give %+v and %+v", whole, parts)
		}
		if u, _ := whole.Usage(); u.Prompt < 0 || u.Completion < 0 {
			t.Errorf("got %v", u)
		}
	})
}
