// Package limit is the rate limiter: a token bucket for each Class of call and each address, person or token, in
// bounded memory. Limiter.Take counts one call, or answers TooMany with the time until the next.
package limit

import (
	"container/list"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Class is what is bounded.
type Class string

// The classes; see Defaults.
const (
	SignIn   Class = "signIn"   // begun and ended, by address
	BadToken Class = "badToken" // tokens that were refused, by address; a valid one is never counted
	Flow     Class = "flow"     // answers of the provider for one begun sign-in
	Call     Class = "call"     // calls of one session's person or one token
	Preview  Class = "preview"  // what would become of a request, of rules, of a catalog; by person
	Notice   Class = "notice"   // notifications sent as a test, by person
	Embed    Class = "embed"    // embedded panels that are drawn, by network address
)

// Rate is so many a minute in the long run, and so many at once. PerMinute below 0 bounds nothing.
type Rate struct {
	PerMinute int `json:"perMinute,omitempty"` // in the long run; below 0: no limit
	Burst     int `json:"burst,omitempty"`     // how many at once
}

// Rates are those of each class.
type Rates map[Class]Rate

// Defaults are far above what people and their programs do: a company behind one address signs in on a Monday morning,
// a form that is filled in asks for a preview with each change.
func Defaults() Rates {
	return Rates{SignIn: {300, 100}, BadToken: {60, 60}, Flow: {1, 5}, Call: {6000, 2000}, Preview: {600, 200},
		Notice: {6, 10}, Embed: {1200, 400}}
}

// Names are those of the classes, in order.
func Names() []string {
	var names []string
	for class := range Defaults() {
		names = append(names, string(class))
	}
	slices.Sort(names)
	return names
}

// mostKeys are remembered; of more, those that were not heard of for the longest time begin anew.
const mostKeys = 20_000

// Limiter counts. A nil one allows everything.
type Limiter struct {
	rates Rates
	now   func() time.Time

	mu      sync.Mutex
	buckets map[key]*list.Element
	recent  list.List // of *bucket, the last used first
}

type key struct {
	class Class
	who   string
}

type bucket struct {
	key   key
	count *rate.Limiter
}

// New bounds by the given rates; a class that is left out has its default.
func New(rates Rates, now func() time.Time) *Limiter {
	l := &Limiter{rates: Defaults(), now: now, buckets: map[key]*list.Element{}}
	for class, r := range rates {
		d := l.rates[class]
		if r.PerMinute == 0 {
			r.PerMinute = d.PerMinute
		}
		if r.Burst == 0 {
			r.Burst = d.Burst
		}
		l.rates[class] = r
	}
	return l
}

// Take counts one. TooMany, with the time until the next, when there are none left; then nothing is counted.
func (l *Limiter) Take(class Class, who string) error {
	if l == nil || l.rates[class].PerMinute < 0 {
		return nil
	}
	now, b := l.now(), l.bucket(key{class, who})
	if b.AllowN(now, 1) {
		return nil
	}
	wait := max(time.Duration((1-b.TokensAt(now))/float64(b.Limit())*float64(time.Second)), time.Millisecond)
	f := fault.New(fault.TooMany, i18n.T("limit.too_often", "Seconds", int(math.Ceil(wait.Seconds()))))
	f.RetryAfter = wait
	return f
}

func (l *Limiter) bucket(k key) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, known := l.buckets[k]; known {
		l.recent.MoveToFront(e)
		return e.Value.(*bucket).count
	}
	if len(l.buckets) >= mostKeys {
		last := l.recent.Back()
		delete(l.buckets, l.recent.Remove(last).(*bucket).key)
	}
	r := l.rates[k.class]
	b := &bucket{k, rate.NewLimiter(rate.Limit(float64(r.PerMinute)/60), r.Burst)}
	l.buckets[k] = l.recent.PushFront(b)
	return b.count
}
