package serve

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

const (
	refusalWindow = time.Minute
	mostAddresses = 10_000 // that are counted one by one; all others together are one
)

// refusals keeps somebody who tries again and again from filling the record: of each address the first refused sign-in
// is written at once, and then one row a minute with how many there were more. IPv6 addresses count by their /64, which
// is one customer's.
type refusals struct {
	now   func() time.Time
	write func(ctx context.Context, events ...audit.Event) error

	mu   sync.Mutex
	open map[string]*tally
}

// tally is what one address did since a moment, beside what is in the record.
type tally struct {
	since   time.Time
	more    int
	address string
	last    i18n.Text
}

func newRefusals(now func() time.Time, write func(context.Context, ...audit.Event) error) *refusals {
	return &refusals{now: now, write: write, open: map[string]*tally{}}
}

// note records a refusal or counts it.
func (r *refusals) note(ctx context.Context, address string, why i18n.Text) error {
	if r.first(address, why) {
		return r.write(ctx, audit.Event{Kind: audit.SignInRefused, At: r.now(), Address: address, Detail: why})
	}
	return nil
}

// first reports whether nothing was heard of the address for a while; else it counts.
func (r *refusals) first(address string, why i18n.Text) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := neighbourhood(address)
	if _, known := r.open[key]; !known && len(r.open) >= mostAddresses {
		key = ""
	}
	t := r.open[key]
	if t == nil {
		r.open[key] = &tally{since: r.now(), address: address}
		return true
	}
	t.more++
	t.address, t.last = address, why
	return false
}

// neighbourhood is an IPv4 address, or the /64 of an IPv6 one.
func neighbourhood(address string) string {
	ip := net.ParseIP(address)
	if ip == nil || ip.To4() != nil {
		return address
	}
	return ip.Mask(net.CIDRMask(64, 128)).String()
}

// flush writes one row for each address that was refused more often, when its minute is over, or all of them at once.
func (r *refusals) flush(ctx context.Context, all bool) error {
	if events := r.due(all); len(events) > 0 {
		return r.write(ctx, events...)
	}
	return nil
}

func (r *refusals) due(all bool) []audit.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	var events []audit.Event
	for key, t := range r.open {
		switch {
		case !all && now.Sub(t.since) < refusalWindow:
		case t.more == 0:
			delete(r.open, key)
		default:
			events = append(events, audit.Event{Kind: audit.SignInRefused, At: now, Address: t.address,
				Detail: i18n.T("signin.refused_more", "Count", t.more, "Reason", t.last)})
			t.since, t.more = now, 0
		}
	}
	return events
}

// FlushRefusals writes down how many sign-ins were refused beside those in the record, of each address whose minute is
// over, or of all. The app calls it now and then, and at the end.
func (s *Server) FlushRefusals(ctx context.Context, all bool) error {
	return s.refusals.flush(ctx, all)
}
