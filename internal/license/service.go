package license

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/memo"
)

// Store keeps what was entered and what was last said. Faults: NotFound for an entitlement that is not there,
// Unavailable when the database is away.
type Store interface {
	Entitlements(ctx context.Context) ([]Entitlement, error)
	// SaveEntitlements keeps all of them or none. Check sees those that are there, in the same transaction.
	SaveEntitlements(ctx context.Context, list []Entitlement, check func(there []Entitlement) error,
		events ...audit.Event) error
	DeleteEntitlement(ctx context.Context, id string, events ...audit.Event) error
	// LicensePoolSettings are what administrators decided about pools in the portal.
	LicensePoolSettings(ctx context.Context) ([]PoolSetting, error)
	SaveLicensePoolSetting(ctx context.Context, c PoolSetting, events ...audit.Event) error
	LicenseAnswers(ctx context.Context) ([]Answer, error)
	SaveLicenseAnswer(ctx context.Context, a Answer) error
	LicenseDevices(ctx context.Context) ([]Device, error)
	// SaveLicenseDevices replaces what is known of all devices; those not seen since the time are forgotten. Changed
	// says that a state changed, for open pages.
	SaveLicenseDevices(ctx context.Context, list []Device, forget time.Time, changed bool, events ...audit.Event) error
	// Checkouts are the workloads that hold seats, oldest first.
	Checkouts(ctx context.Context) ([]Checkout, error)
	// Spans are the metered stretches, since a time, of workloads that hold or held seats, by pool.
	Spans(ctx context.Context, since time.Time) (map[string][]Span, error)
}

// Changes counts what is written: LastChange is the number of the last change in the database. Faults: Unavailable when
// it is away.
type Changes interface {
	LastChange(ctx context.Context) (int64, error)
}

// Options are the dependencies of a Service.
type Options struct {
	Store   Store
	Changes Changes // nil: an overview is worked out for each who asks
	Pools   []Pool  // of the settings
	Sources []Source
	// Virtual are the nodes with vGPUs of each cluster; Seen is what the devices of these nodes say now.
	Virtual func(ctx context.Context) map[string][]string
	Seen    func(ctx context.Context, virtual map[string][]string) []Device
	VGPUs   func(ctx context.Context) map[NodeKey]VGPUs // of the nodes that show vGPUs; nil: not known
	Now     func() time.Time
	NewID   func(prefix string) string
	Logger  *slog.Logger // nil: nothing is logged
}

// Book is the last known state: entitlements, server answers, machines, settings of pools.
type Book struct {
	Entitlements []Entitlement
	Answers      map[string]Answer
	Machines     []Machine
	PoolSettings []PoolSetting
	VGPUs        map[NodeKey]VGPUs
}

// PoolSetting is an administrator's setting of a pool; it overrides the configuration.
type PoolSetting struct {
	Pool         string
	OnExhaustion ExhaustionPolicy
	Author       string // who decided it
	AuthorName   string
	At           time.Time
}

// Service keeps a Book in memory, for every page and every start asks it.
type Service struct {
	o           Options
	reading     sync.Mutex
	pollTrigger chan struct{}
	book        atomic.Pointer[Book]
	overviews   memo.Memo[overviewOf, []PoolOverview]
}

// overviewOf is what an overview was made of.
type overviewOf struct {
	change int64
	book   *Book
}

// overviewLasts is how old an overview may be while nothing is written: what has expired since is in it.
const overviewLasts = 10 * time.Second

// New begins with the settings alone; Refresh reads what is kept.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Virtual == nil {
		o.Virtual = func(context.Context) map[string][]string { return nil }
	}
	if o.Seen == nil {
		o.Seen = func(context.Context, map[string][]string) []Device { return nil }
	}
	if o.VGPUs == nil {
		o.VGPUs = func(context.Context) map[NodeKey]VGPUs { return nil }
	}
	s := &Service{o: o, pollTrigger: make(chan struct{}, 1)}
	s.book.Store(&Book{})
	return s
}

// Refresh reads the book anew.
func (s *Service) Refresh(ctx context.Context) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	entered, err := s.o.Store.Entitlements(ctx)
	if err != nil {
		return err
	}
	answers, err := s.o.Store.LicenseAnswers(ctx)
	if err != nil {
		return err
	}
	devices, err := s.o.Store.LicenseDevices(ctx)
	if err != nil {
		return err
	}
	choices, err := s.o.Store.LicensePoolSettings(ctx)
	if err != nil {
		return err
	}
	book := Book{Entitlements: entered, Answers: map[string]Answer{}, PoolSettings: choices,
		VGPUs: s.o.VGPUs(ctx)}
	for _, a := range answers {
		book.Answers[a.Source] = a
	}
	book.Machines = Machines(s.o.Virtual(ctx), devices)
	s.book.Store(&book)
	return nil
}

// Follow refreshes after each change that is told, and every so often.
func (s *Service) Follow(ctx context.Context, changed <-chan struct{}, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick.C:
		}
		if err := s.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.Warn("read the licenses", "error", err)
		}
	}
}

// Pools are the pools with the seats that count now.
func (s *Service) Pools() []Pool { return s.poolsOf(s.book.Load()) }

func (s *Service) poolsOf(book *Book) []Pool {
	pools := Fill(s.o.Pools, book.Entitlements, book.Answers, s.o.Now())
	for i := range pools {
		pools[i].VGPUs = book.VGPUs
		for _, c := range book.PoolSettings {
			if c.Pool == pools[i].Name {
				pools[i].OnExhaustion = c.OnExhaustion
			}
		}
	}
	return pools
}

// Unlicensed are the nodes, by cluster, on which a vGPU is known to lack its license.
func (s *Service) Unlicensed() map[string][]string {
	book, now := s.book.Load(), s.o.Now()
	nodes := map[string][]string{}
	for _, m := range book.Machines {
		if m.State(now).Missing() {
			nodes[m.Cluster] = append(nodes[m.Cluster], m.Node)
		}
	}
	return nodes
}

// Machines are the nodes with vGPUs, for everyone: they name no person.
func (s *Service) Machines() []Machine { return s.book.Load().Machines }

// Answers gives the newest answer of each license server, by its name.
func (s *Service) Answers() map[string]Answer { return s.book.Load().Answers }

// PoolOverview is a pool with its seats, entitlements, the server's last answer and a forecast.
type PoolOverview struct {
	Status       PoolStatus
	Origin       Origin
	Entitlements []Entitlement
	Answer       Answer // of its server; zero where it has none
	Forecast     Forecast
}

// LeasesOn is how many leases of the pool the machine of a node holds, as the license server tells; known is false
// where it does not.
func (l PoolOverview) LeasesOn(node string) (count int, known bool) {
	if !l.Answer.LeasesKnown || l.Answer.At.IsZero() {
		return 0, false
	}
	for _, x := range l.Answer.leases(l.Status.Pool) {
		if host(x.Client) == host(node) {
			count += max(0, x.Count)
		}
	}
	return count, true
}

// Leases are those of the pool, by machine, as the license server tells.
func (l PoolOverview) Leases() []Lease { return l.Answer.leases(l.Status.Pool) }

// History is how far back a forecast looks.
const History = 90 * 24 * time.Hour

// Overview is every pool. Those who do not see everything get numbers and no names. What is in the list is shared and
// must not be changed.
func (s *Service) Overview(ctx context.Context, a identity.Actor) ([]PoolOverview, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	lines, err := s.overview(ctx)
	if err != nil || a.SeesAll() {
		return lines, err
	}
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i] = lines[i].anonymous()
	}
	return lines, nil
}

// overview is what everybody's is made of, which takes a walk through months of use: it is worked out once for each
// change.
func (s *Service) overview(ctx context.Context) ([]PoolOverview, error) {
	book := s.book.Load()
	if s.o.Changes == nil {
		return s.newOverview(ctx, book)
	}
	change, err := s.o.Changes.LastChange(ctx)
	if err != nil {
		return nil, err
	}
	return s.overviews.Get(overviewOf{change, book}, s.o.Now(), overviewLasts, func() ([]PoolOverview, error) {
		return s.newOverview(ctx, book)
	})
}

func (s *Service) newOverview(ctx context.Context, book *Book) ([]PoolOverview, error) {
	checkouts, err := s.o.Store.Checkouts(ctx)
	if err != nil {
		return nil, err
	}
	now := s.o.Now()
	spans, err := s.o.Store.Spans(ctx, now.Add(-History))
	if err != nil {
		return nil, err
	}
	var lines []PoolOverview
	for _, p := range s.poolsOf(book) {
		l := PoolOverview{Answer: book.Answers[p.Server]}
		if p.Server != "" {
			l.Answer.Source = p.Server
		}
		l.Entitlements, l.Origin = p.Entitlements(book.Entitlements, book.Answers)
		l.Status = Reconcile(p, checkouts, l.Answer, now)
		l.Forecast = NewForecast(p, spans[p.Name], l.Entitlements, l.Status.CheckedOut(), now, time.UTC)
		lines = append(lines, l)
	}
	return lines, nil
}

// anonymous takes away what only those may know who see everything.
func (l PoolOverview) anonymous() PoolOverview {
	l.Status.Tenants, l.Status.Checkouts, l.Status.Difference = nil, nil, nil
	l.Forecast.Peak.Holders, l.Answer.Leases, l.Entitlements = nil, nil, nil
	return l
}

// EntitlementState is an entitlement, and whether it counts: it is valid now, and nothing overrides it.
type EntitlementState struct {
	Entitlement
	Counts bool
}

// ListEntitlements lists what was entered and what license servers tell, by pool.
func (s *Service) ListEntitlements(a identity.Actor) ([]EntitlementState, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	if !identity.Can(a, identity.ReadBought, identity.Resource{}) {
		return nil, fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	var list []EntitlementState
	book, now := s.book.Load(), s.o.Now()
	for _, p := range s.o.Pools {
		own, origin := p.Entitlements(book.Entitlements, book.Answers)
		for _, e := range own {
			list = append(list, EntitlementState{e, e.Holds(now)})
		}
		for _, e := range book.Entitlements {
			if origin == FromServer && e.Pool == p.Name {
				list = append(list, EntitlementState{e, false})
			}
		}
	}
	return list, nil
}

// EntitlementDraft is an entitlement as typed, unchecked.
type EntitlementDraft struct{ Pool, Reference, Seats, From, Until string }

// AddEntitlement keeps a purchase that an administrator typed in.
func (s *Service) AddEntitlement(ctx context.Context, a identity.Actor, f EntitlementDraft) (Entitlement, error) {
	if err := permit(a); err != nil {
		return Entitlement{}, err
	}
	e, fields := f.entitlement(s.o.Pools)
	e.ID, e.Author, e.AuthorName, e.At = s.o.NewID("l-"), string(a.Person.ID), a.Person.Name, s.o.Now()
	if len(fields) > 0 {
		return e, fault.InvalidFields(fields)
	}
	event := audit.By(a, audit.LicenseEntered, e.At)
	event.Detail = i18n.T("licenses.entered_detail", "Pool", e.Pool, "Count", e.Seats)
	err := s.o.Store.SaveEntitlements(ctx, []Entitlement{e}, func(there []Entitlement) error {
		if fields := Check(e, there); len(fields) > 0 {
			return fault.InvalidFields(fields)
		}
		return nil
	}, event)
	return e, s.refreshAfter(ctx, err)
}

func (f EntitlementDraft) entitlement(pools []Pool) (Entitlement, []fault.Field) {
	e := Entitlement{Pool: f.Pool, Reference: strings.TrimSpace(f.Reference), Origin: Manual}
	var fields []fault.Field
	no := func(name string, reason i18n.Text) {
		fields = append(fields, fault.Field{Name: name, Reason: reason})
	}
	if !slices.ContainsFunc(pools, func(p Pool) bool { return p.Name == f.Pool }) {
		no("pool", i18n.T("licenses.csv_pool", "Pool", short(f.Pool)))
	}
	seats, ok := whole(f.Seats)
	if !ok {
		no("seats", i18n.T("licenses.csv_number", "Value", short(f.Seats)))
	}
	e.Seats = seats
	for _, d := range []struct {
		name, text string
		last       bool
		into       *time.Time
	}{{"from", f.From, false, &e.From}, {"until", f.Until, true, &e.Until}} {
		if *d.into, ok = ParseDay(strings.TrimSpace(d.text), d.last); !ok {
			no(d.name, i18n.T("licenses.csv_date", "Value", short(d.text)))
		}
	}
	for _, c := range Check(e, nil) {
		if !slices.ContainsFunc(fields, func(f fault.Field) bool { return f.Name == c.Name }) {
			fields = append(fields, c)
		}
	}
	return e, fields
}

// SetExhaustionPolicy says what becomes of starts that find a pool full, from now on.
func (s *Service) SetExhaustionPolicy(ctx context.Context, a identity.Actor, pool string, full ExhaustionPolicy) error {
	if err := permit(a); err != nil {
		return err
	}
	at := slices.IndexFunc(s.o.Pools, func(p Pool) bool { return p.Name == pool })
	if at < 0 || !slices.Contains(ExhaustionPolicies(), full) {
		return fault.New(fault.NotFound, i18n.T("licenses.csv_pool", "Pool", short(pool)))
	}
	now := s.o.Now()
	event := audit.By(a, audit.LicenseChosen, now)
	event.Detail = i18n.T("licenses.chosen_detail", "Pool", s.o.Pools[at].Title, "Choice",
		i18n.T("licenses.on_exhaustion_"+string(full)))
	return s.refreshAfter(ctx, s.o.Store.SaveLicensePoolSetting(ctx, PoolSetting{Pool: pool, OnExhaustion: full,
		Author:     string(a.Person.ID),
		AuthorName: a.Person.Name, At: now}, event))
}

// Import reads a file. With keep false nothing is kept: the answer says what would be. A file with any problem is not
// kept in part.
func (s *Service) Import(ctx context.Context, a identity.Actor, data []byte, keep bool) (Parsed, error) {
	if err := permit(a); err != nil {
		return Parsed{}, err
	}
	there, err := s.o.Store.Entitlements(ctx)
	if err != nil {
		return Parsed{}, err
	}
	p := ParseCSV(data, s.o.Pools, there)
	if len(p.Problems) > 0 || !keep {
		return p, nil
	}
	if len(p.Entitlements) == 0 { // all of it is there
		return p, nil
	}
	now := s.o.Now()
	list, seats := slices.Clone(p.Entitlements), 0
	for i := range list {
		e := &list[i]
		e.Author, e.AuthorName, e.At = string(a.Person.ID), a.Person.Name, now
		if !slices.ContainsFunc(there, func(o Entitlement) bool { return o.ID == e.ID }) {
			e.ID = s.o.NewID("l-")
		}
		seats += e.Seats
	}
	event := audit.By(a, audit.LicenseEntered, now)
	event.Detail = i18n.T("licenses.imported_detail", "Lines", len(list), "Count", seats)
	err = s.o.Store.SaveEntitlements(ctx, list, func(there []Entitlement) error {
		for _, e := range list { // somebody may have been faster
			if fields := Check(e, there); len(fields) > 0 {
				return fault.InvalidFields(fields)
			}
		}
		return nil
	}, event)
	return p, s.refreshAfter(ctx, err)
}

// RemoveEntitlement takes a purchase out. What runs goes on; the pool is smaller from now on.
func (s *Service) RemoveEntitlement(ctx context.Context, a identity.Actor, id string) error {
	if err := permit(a); err != nil {
		return err
	}
	event := audit.By(a, audit.LicenseRemoved, s.o.Now())
	event.Detail = i18n.Literal(id)
	for _, e := range s.book.Load().Entitlements {
		if e.ID == id {
			event.Detail = i18n.T("licenses.entered_detail", "Pool", e.Pool, "Count", e.Seats)
		}
	}
	return s.refreshAfter(ctx, s.o.Store.DeleteEntitlement(ctx, id, event))
}

func (s *Service) refreshAfter(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return s.Refresh(ctx)
}

func permit(a identity.Actor) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	if !identity.Can(a, identity.ChangeLicenses, identity.Resource{}) {
		return fault.New(fault.Forbidden, i18n.T("licenses.admins_only"))
	}
	return nil
}

// Poll asks every source once, each for as long as the limit, and looks at the devices. A source that fails keeps what
// it said before.
func (s *Service) Poll(ctx context.Context, limit time.Duration) error {
	before, err := s.o.Store.LicenseAnswers(ctx)
	if err != nil {
		return err
	}
	known := map[string]Answer{}
	for _, a := range before {
		known[a.Source] = a
	}
	var group sync.WaitGroup
	answers := make([]Answer, len(s.o.Sources))
	for i, source := range s.o.Sources {
		group.Go(func() {
			within, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			was := known[source.Name()]
			was.Source = source.Name()
			next, err := source.Fetch(within)
			if err != nil {
				s.o.Logger.Warn("ask the license server", "source", source.Name(), "error", err)
			}
			answers[i] = was.Merge(next, err, s.o.Now())
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	for _, a := range answers {
		if err := s.o.Store.SaveLicenseAnswer(ctx, a); err != nil {
			return err
		}
	}
	if err := s.pollDevices(ctx); err != nil {
		return err
	}
	return s.Refresh(ctx)
}

// DeviceRetention is how long a device that is not seen any more is remembered.
const DeviceRetention = 7 * 24 * time.Hour

// pollDevices records the state of the devices. It saves when a state changed, and else now and then, for the age.
func (s *Service) pollDevices(ctx context.Context) error {
	virtual := s.o.Virtual(ctx)
	seen := slices.DeleteFunc(s.o.Seen(ctx, virtual),
		func(d Device) bool { return !slices.Contains(virtual[d.Cluster], d.Node) })
	if len(seen) == 0 {
		return nil
	}
	before, err := s.o.Store.LicenseDevices(ctx)
	if err != nil {
		return err
	}
	after := MergeDevices(before, seen)
	events, err := s.events(ctx, Losses(before, after))
	if err != nil {
		return err
	}
	changed := !slices.EqualFunc(before, after, func(a, b Device) bool { return a.key() == b.key() && a.State == b.State })
	return s.o.Store.SaveLicenseDevices(ctx, after, s.o.Now().Add(-DeviceRetention), changed, events...)
}

// TriggerPoll asks once more without waiting for the time: somebody saw a license go or come.
func (s *Service) TriggerPoll() {
	select {
	case s.pollTrigger <- struct{}{}:
	default:
	}
}

// PollTrigger tells when somebody asked for a round before its time.
func (s *Service) PollTrigger() <-chan struct{} { return s.pollTrigger }
