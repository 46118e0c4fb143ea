package gpumetrics

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// lastError is an exposition of one card whose last error is this one.
func lastError(code int) string {
	return rows(whole, usedName, 1, freeName, 1, "DCGM_FI_DEV_XID_ERRORS", code)
}

// sinceRow is a row of the answer to since when errors are there: the card of lastError had its code, or another one,
// so long ago.
func sinceRow(f *fakePrometheus, part string, code int, ago time.Duration) answered {
	return answered{map[string]string{"UUID": "GPU-bbbb", partLabel: fmt.Sprintf("%s/%d", part, code)},
		fmt.Sprint(seconds(f.clock().Add(-ago)))}
}

// TestSinceWhenAnErrorIsThere: the gauge keeps its value forever, so that only the samples before tell whether it is
// news.
func TestSinceWhenAnErrorIsThere(t *testing.T) {
	const hour = time.Hour
	for sentence, c := range map[string]struct {
		other, first time.Duration // ago; 0 for none
		since        time.Duration // ago; 0 for unknown
		before, old  bool
	}{
		"it came three hours ago": {other: 3*hour + 5*time.Minute, first: 3 * hour,
			since: 3 * hour},
		"another one came between two of the same": {other: 2*hour + 5*time.Minute, first: 20 * hour,
			since: 2 * hour},
		"it came just now, after the last step": {other: time.Minute, first: time.Second,
			since: time.Nanosecond},
		"it came the day before yesterday": {other: 40*hour + 5*time.Minute, first: 40 * hour,
			since: 40 * hour, old: true},
		"it was there all the time that is looked at":        {first: 48 * hour, since: 48 * hour, before: true, old: true},
		"it was there when Prometheus began, an hour ago":    {first: hour, since: hour, before: true},
		"it was there when Prometheus began, 25 hours ago":   {first: 25 * hour, since: 25 * hour, before: true, old: true},
		"Prometheus has nothing: it may have come right now": {},
	} {
		clock := newClock()
		f := newFake(t, clock.Now)
		f.scrape(lastError(79), true)
		if c.other > 0 {
			f.since = append(f.since, sinceRow(f, partOther, 79, c.other))
		}
		if c.first > 0 {
			f.since = append(f.since, sinceRow(f, partFirst, 79, c.first))
		}
		p := newPoller(t, f.URL, clock)
		if err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		card := p.Report().Health[0]
		want := XIDReading{Code: 79, Count: Reading{Unit: Count}, Before: c.before, Old: c.old}
		if c.since > 0 {
			want.Since = clock.Now().Add(-c.since.Truncate(time.Second))
		}
		if len(card.XIDs) != 1 || card.XIDs[0] != want {
			t.Errorf("%s: want %+v, got %+v", sentence, want, card.XIDs)
		}
		severity := Danger
		if c.old {
			severity = Info
		}
		if worst, any := card.Worst(); !any || worst != severity {
			t.Errorf("%s: want %s, got %s: %+v", sentence, severity, worst, card.Issues)
		}
	}
}

// TestRecentIsASetting: what is news for one site is old for another.
func TestRecentIsASetting(t *testing.T) {
	for recent, old := range map[time.Duration]bool{time.Hour: true, 0: false, 7 * 24 * time.Hour: false} {
		clock := newClock()
		f := newFake(t, clock.Now)
		f.scrape(lastError(79), true)
		f.since = []answered{sinceRow(f, partFirst, 79, 3*time.Hour)}
		p := newPoller(t, f.URL, clock, func(c *Config) { c.Recent = recent })
		if err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.Report().Health[0].XIDs[0].Old; got != old {
			t.Errorf("recent %s: want old %v, got %v", recent, old, got)
		}
	}
}

// sinceCalls counts what was asked about times of errors.
func (f *fakePrometheus) sinceCalls() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if strings.Contains(r, partOther+"/") {
			n++
		}
	}
	return n
}

// TestTimesOfErrorsAreAskedForRarely: one query for all cards, none where no card has an error, at once for a new
// error, and otherwise every five minutes; however many look.
func TestTimesOfErrorsAreAskedForRarely(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	p := newPoller(t, f.URL, clock)
	for _, step := range []struct {
		sentence string
		after    time.Duration
		code     int
		calls    int
	}{
		{"no error", 0, 0, 0}, {"still none", 10 * time.Minute, 0, 0}, {"an error", time.Minute, 79, 1},
		{"the same", time.Minute, 79, 1}, {"another", time.Minute, 31, 2},
		{"four minutes later", 4 * time.Minute, 31, 2}, {"six minutes later", 2 * time.Minute, 31, 3},
	} {
		clock.pass(step.after)
		f.scrape(lastError(step.code)+strings.ReplaceAll(lastError(step.code), "GPU-bbbb", "GPU-aaaa"), true)
		if err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			p.Report()
		}
		if got := f.sinceCalls(); got != step.calls {
			t.Errorf("%s: want %d calls by then, got %d", step.sentence, step.calls, got)
		}
	}
}

// TestTimesOfErrorsThatDoNotCome: without them an error counts, and nothing else is lost.
func TestTimesOfErrorsThatDoNotCome(t *testing.T) {
	clock := newClock()
	f := newFake(t, clock.Now)
	f.scrape(lastError(79), true)
	f.answerInstead(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.FormValue("query"), partOther+"/") {
			return false
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		return true
	})
	p := newPoller(t, f.URL, clock)
	for range 3 {
		if err := p.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.pass(31 * time.Second)
	}
	if x := p.Report().Health[0].XIDs; len(x) != 1 || !x[0].Since.IsZero() || x[0].Old {
		t.Errorf("want an error of which nobody knows since when, got %+v", x)
	}
	if got := f.sinceCalls(); got != 1 {
		t.Errorf("want a query that failed left alone for five minutes, got %d calls", got)
	}
}

// TestRealTimesOfErrors asks a Prometheus that has seen an error come, and one that it found there: only it can say
// that the query is PromQL.
func TestRealTimesOfErrors(t *testing.T) {
	program := realProgram(t)
	var code atomic.Int64
	old := strings.ReplaceAll(lastError(48), "GPU-bbbb", "GPU-aaaa")
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, lastError(int(code.Load()))+old)
	}))
	t.Cleanup(exporter.Close)
	p, err := New(Config{URL: scrapedBy(t, program, exporter.URL, true), HealthEvery: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	p.firstSeenWindow = 30 * time.Minute // two steps in each of the six seconds that there are
	errors := func() (byCard map[string]XIDReading) {
		p.firstSeen = firstSeenIndex{} // at once, not in five minutes
		if err := p.Poll(t.Context()); err != nil {
			return nil
		}
		byCard = map[string]XIDReading{}
		for _, c := range p.Report().Health {
			for _, x := range c.XIDs {
				byCard[c.UUID] = x
			}
		}
		return byCard
	}
	until := func(what string, is func(map[string]XIDReading) bool) map[string]XIDReading {
		t.Helper()
		var got map[string]XIDReading
		waittest.Until(t, what, func() error {
			if got = errors(); is(got) {
				return nil
			}
			return fmt.Errorf("got %+v", got)
		})
		return got
	}
	until("an error that was there from the first", func(m map[string]XIDReading) bool {
		return m["GPU-aaaa"].Before &&
			m["GPU-bbbb"].Code == 0
	})
	before := time.Now()
	code.Store(79)
	got := until("an error that came", func(m map[string]XIDReading) bool {
		return m["GPU-bbbb"].Code == 79 &&
			!m["GPU-bbbb"].Since.IsZero()
	})
	if x := got["GPU-bbbb"]; x.Before || x.Since.Before(before.Add(-10*time.Second)) || x.Since.After(time.Now()) {
		t.Errorf("want it since about %s, got %+v", before, x)
	}
	if x := got["GPU-aaaa"]; !x.Before || x.Since.After(before) {
		t.Errorf("want the other one from before %s, got %+v", before, x)
	}
}
