package usage

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// PriceStore keeps the price list. Faults: NotFound for an entry that is not there or is over, Unavailable when the
// database is away.
type PriceStore interface {
	Prices(ctx context.Context) (PriceList, error)
	SavePrices(ctx context.Context, prices []Price, events ...audit.Event) error
	// EndPrice ends an entry; one that has not begun never will.
	EndPrice(ctx context.Context, id string, until time.Time, events ...audit.Event) error
}

// PricesOptions are the dependencies of Prices.
type PricesOptions struct {
	Store    PriceStore
	Known    func() Known // what a price can be for now
	Zone     *time.Location
	Currency string
	Now      func() time.Time
	NewID    func(prefix string) string
	Logger   *slog.Logger // nil: nothing is logged
}

// Prices is the price list and who may write to it. It is safe for use by many goroutines.
type Prices struct {
	o    PricesOptions
	list atomic.Pointer[PriceList]
}

// NewPrices begins with an empty list; Refresh reads it.
func NewPrices(o PricesOptions) *Prices {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	p := &Prices{o: o}
	p.list.Store(&PriceList{})
	return p
}

// List is what counts, counted and will count, as this process knows it. Callers must not change it.
func (p *Prices) List() PriceList { return *p.list.Load() }

// Currency is the ISO 4217 code of the portal's only currency.
func (p *Prices) Currency() string { return p.o.Currency }

// Known lists what a new price can name, from the catalog and the license pools.
func (p *Prices) Known() Known { return p.o.Known() }

// Zone is the time zone in which a price begins and ends at midnight.
func (p *Prices) Zone() *time.Location { return p.o.Zone }

// Refresh reads the price list from the database into memory.
func (p *Prices) Refresh(ctx context.Context) error {
	list, err := p.o.Store.Prices(ctx)
	if err == nil {
		p.list.Store(&list)
	}
	return err
}

// Follow keeps the list fresh until the context ends: at once when told, and every so often.
func (p *Prices) Follow(ctx context.Context, changed <-chan struct{}, every time.Duration) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := p.Refresh(ctx); err != nil && ctx.Err() == nil {
			p.o.Logger.Warn("the price list could not be read, the last known one goes on", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-ticker.C:
		}
	}
}

// Read gives the list to somebody, in the order of people.
func (p *Prices) Read(ctx context.Context, a identity.Actor) (PriceList, error) {
	if err := mayPrice(a, identity.ReadPrices); err != nil {
		return nil, err
	}
	err := p.Refresh(ctx)
	return p.List().Sorted(), err
}

// Add writes a price down. What is wrong with it is Invalid, with its fields.
func (p *Prices) Add(ctx context.Context, a identity.Actor, d PriceDraft) (Price, error) {
	list, err := p.AddAll(ctx, a, []PriceDraft{d})
	if err != nil {
		return Price{}, err
	}
	return list[0], nil
}

// AddAll writes prices down, all or none. What is wrong with one of several is Invalid with its fields, each after the
// number of the draft and a point: "0.amount". That of a single one stands alone.
func (p *Prices) AddAll(ctx context.Context, a identity.Actor, drafts []PriceDraft) ([]Price, error) {
	prices, err := p.Check(a, drafts)
	if err != nil {
		return nil, err
	}
	var events []audit.Event
	list := p.List()
	for _, price := range prices {
		event := p.event(a, audit.PriceAdded, price, price.At)
		was := ""
		if rate, ok := list.Before(price); ok {
			was = rate.Amount(p.o.Currency)
		}
		event.Changes = audit.Changed(price.field(), was, price.Rate.Amount(p.o.Currency))
		events, list = append(events, event), list.With(price)
	}
	err = p.o.Store.SavePrices(ctx, prices, events...)
	return prices, p.after(ctx, err)
}

// mostDrafts bounds how many prices are written down at once.
const mostDrafts = 200

// Check reads drafts as AddAll would, and writes nothing.
func (p *Prices) Check(a identity.Actor, drafts []PriceDraft) ([]Price, error) {
	if err := mayPrice(a, identity.ChangePrices); err != nil {
		return nil, err
	}
	if len(drafts) == 0 || len(drafts) > mostDrafts {
		return nil, fault.InvalidFields([]fault.Field{{Name: "text", Reason: i18n.T("prices.bad_count", "Most",
			mostDrafts)}})
	}
	now := p.o.Now().Truncate(time.Microsecond)
	prices, problems := make([]Price, len(drafts)), []fault.Field(nil)
	for i, d := range drafts {
		price, fields := d.Price(p.o.Known(), p.o.Currency, p.o.Zone, now)
		for _, f := range fields {
			if len(drafts) > 1 {
				f.Name = strconv.Itoa(i) + "." + f.Name
			}
			problems = append(problems, f)
		}
		price.ID, price.Author, price.AuthorName = p.o.NewID("p-"), string(a.Person.ID), a.Person.Name
		prices[i] = price
	}
	return prices, fault.InvalidFields(problems)
}

// End lets a price end now; what was held before keeps it.
func (p *Prices) End(ctx context.Context, a identity.Actor, id string) error {
	if err := mayPrice(a, identity.ChangePrices); err != nil {
		return err
	}
	if err := p.Refresh(ctx); err != nil {
		return err
	}
	list, now := p.List(), p.o.Now().Truncate(time.Microsecond)
	at := slices.IndexFunc(list, func(q Price) bool { return q.ID == id })
	if at < 0 {
		return fault.New(fault.NotFound, i18n.T("prices.not_found"))
	}
	event := p.event(a, audit.PriceEnded, list[at], now)
	event.Changes = audit.Changed(list[at].field()+".until", stamp(list[at].Until), stamp(later(list[at].From, now)))
	return p.after(ctx, p.o.Store.EndPrice(ctx, id, now, event))
}

// field is what the record calls a price: what it is for.
func (p Price) field() string { return strings.Trim(string(p.Kind)+"."+p.Subject, ".") }

// stamp is a moment as the record says it, "" for none.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func (p *Prices) after(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return p.Refresh(ctx)
}

func (p *Prices) event(a identity.Actor, kind audit.Kind, price Price, now time.Time) audit.Event {
	e := audit.By(a, kind, now)
	e.Tenant = price.Tenant
	e.Detail = i18n.T("prices.event", "What", strings.TrimSpace(string(price.Kind)+" "+price.Subject), "Amount",
		price.Rate.Amount(p.o.Currency), "Currency", p.o.Currency,
		"From", price.From.In(p.o.Zone).Format("2006-01-02 15:04"))
	return e
}

// mayPrice: what somebody may not read does not exist for them.
func mayPrice(a identity.Actor, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	switch {
	case !identity.Can(a, identity.ReadPrices, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, action, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("prices.admins_only"))
	}
	return nil
}
