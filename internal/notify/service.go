package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store keeps preferences, addresses and deliveries. Faults: NotFound for what is not there, Unavailable while the
// database is away.
type Store interface {
	// NotifyCursor is the number of the last event that was looked at.
	NotifyCursor(ctx context.Context) (int64, error)
	EventsAfter(ctx context.Context, seq int64, limit int) ([]audit.Event, error)
	// QueueDeliveries writes deliveries and moves the cursor from one number to another, in one transaction; false when
	// somebody else has moved it.
	QueueDeliveries(ctx context.Context, from, to int64, list []Delivery) (bool, error)
	DueDeliveries(ctx context.Context, now time.Time, limit int) ([]Delivery, error)
	// ClaimDelivery makes a due one the caller's until a time; false when somebody else was faster.
	ClaimDelivery(ctx context.Context, d Delivery, until time.Time) (bool, error)
	// MarkDelivery writes what came of the attempt, unless it is not the latest any more.
	MarkDelivery(ctx context.Context, d Delivery) error
	SaveDelivery(ctx context.Context, d Delivery) error
	// RetryDelivery makes a failed one of an event due now, with the audit event that says so; NotFound for any other.
	RetryDelivery(ctx context.Context, id string, now time.Time, event audit.Event) error
	Deliveries(ctx context.Context, state State, cursor string, limit int) ([]Delivery, string, error)
	// DeliveriesOf are those of one event, the oldest first.
	DeliveriesOf(ctx context.Context, event int64) ([]Delivery, error)
	Events(ctx context.Context, f audit.Filter) ([]audit.Event, string, error)

	Preferences(ctx context.Context) (map[identity.PersonID]Preferences, error)
	PreferencesOf(ctx context.Context, p identity.PersonID) (Preferences, error)
	SavePreferences(ctx context.Context, p identity.PersonID, preferences Preferences) error
	Addresses(ctx context.Context) ([]Address, error)
	SaveAddress(ctx context.Context, a Address, event audit.Event) error
	DeleteAddress(ctx context.Context, id string, event audit.Event) error

	Everybody(ctx context.Context) ([]identity.Person, error)
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	Request(ctx context.Context, id request.ID) (request.Request, error)
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	Volume(ctx context.Context, name string) (workload.Volume, error)
}

// Sender sends one message. An error that Permanent knows is not tried again.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Options are the dependencies of a Service.
type Options struct {
	Store Store
	Actor func(identity.Person, identity.Via) identity.Actor
	// Delegators are the people whose delegate somebody is now; nil: there are no delegations.
	Delegators func(ctx context.Context, id identity.PersonID) ([]identity.Actor, error)
	Words      *Words
	Guard      Guard
	Mail       *MailServer // nil: the site has none
	Seal       func(id, text string) (string, error)
	Open       func(id, sealed string) (string, error)
	URL        string // of the portal
	Language   string
	Now        func() time.Time
	NewID      func(prefix string) string
	Logger     *slog.Logger
}

// Service turns audit events into messages, delivers them with retries, and keeps everybody's preferences.
type Service struct {
	o       Options
	senders map[Channel]Sender
}

// New makes the service; Run is what sends.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	client := o.Guard.Client()
	s := &Service{o: o, senders: map[Channel]Sender{Chat: Chats{client}, Webhook: Hooks{client, o.Now}}}
	if o.Mail != nil {
		s.senders[Mail] = Mails{*o.Mail}
	}
	return s
}

// HasMail reports whether the site has a mail server.
func (s *Service) HasMail() bool { return s.o.Mail != nil }

// Hosts are those that addresses may name; none: every public one.
func (s *Service) Hosts() []string { return s.o.Guard.Hosts }

const (
	eventsAtOnce = 100
	sendAtOnce   = 20
	claimFor     = 2 * time.Minute // far longer than an attempt may take
)

// waits are how long after an attempt the next one comes; when they are used up, the delivery has failed.
var waits = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour,
	6 * time.Hour}

// Run composes and sends until the context ends.
func (s *Service) Run(ctx context.Context, every time.Duration) error {
	for {
		if _, err := s.Derive(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.WarnContext(ctx, "could not compose notifications", "error", err)
		}
		if _, err := s.Deliver(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.WarnContext(ctx, "could not send notifications", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// Derive looks at the events that nobody has looked at, and queues what follows from them. It says how many it looked
// at.
func (s *Service) Derive(ctx context.Context) (int, error) {
	from, err := s.o.Store.NotifyCursor(ctx)
	if err != nil {
		return 0, err
	}
	events, err := s.o.Store.EventsAfter(ctx, from, eventsAtOnce)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	var list []Delivery
	var base *Facts
	for _, e := range events {
		if !Notifies(e.Kind) {
			continue
		}
		if base == nil {
			if base, err = s.facts(ctx); err != nil {
				return 0, err
			}
		}
		f, err := s.about(ctx, *base, e)
		if err != nil {
			return 0, err
		}
		found, err := Compose(e, f, s.o.Words)
		if err != nil {
			return 0, err
		}
		list = append(list, found...)
	}
	for i := range list {
		list[i].ID, list[i].State, list[i].CreatedAt = s.o.NewID("n-"), Due, s.o.Now()
		list[i].NextAt, list[i].UpdatedAt = list[i].CreatedAt, list[i].CreatedAt
	}
	if _, err := s.o.Store.QueueDeliveries(ctx, from, events[len(events)-1].Seq, list); err != nil {
		return 0, err
	}
	return len(events), nil
}

// facts are what all events of one look have in common.
func (s *Service) facts(ctx context.Context) (*Facts, error) {
	f := &Facts{Mail: s.HasMail(), Language: s.o.Language, URL: s.o.URL, Now: s.o.Now()}
	people, err := s.o.Store.Everybody(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range people {
		a := s.o.Actor(p, identity.ViaSession)
		if s.o.Delegators != nil {
			if a.Delegators, err = s.o.Delegators(ctx, p.ID); err != nil {
				return nil, err
			}
		}
		f.People = append(f.People, a)
	}
	if f.Preferences, err = s.o.Store.Preferences(ctx); err != nil {
		return nil, err
	}
	f.Addresses, err = s.o.Store.Addresses(ctx)
	return f, err
}

// about adds what an event names. What is gone since is told of without it.
func (s *Service) about(ctx context.Context, f Facts, e audit.Event) (Facts, error) {
	if e.Request != "" {
		r, err := s.o.Store.Request(ctx, request.ID(e.Request))
		if err == nil {
			f.Request = &r
		} else if !fault.Is(err, fault.NotFound) {
			return f, err
		}
	}
	if e.Workload != "" {
		w, err := s.o.Store.Workload(ctx, workload.ID(e.Workload))
		if err == nil {
			f.Workload = &w
		} else if !fault.Is(err, fault.NotFound) {
			return f, err
		}
	}
	if e.Volume != "" {
		v, err := s.o.Store.Volume(ctx, e.Volume)
		if err == nil {
			f.Volume = &v
		} else if !fault.Is(err, fault.NotFound) {
			return f, err
		}
	}
	return f, nil
}

// Deliver tries what is due, once each. It says how many attempts it made.
func (s *Service) Deliver(ctx context.Context) (int, error) {
	due, err := s.o.Store.DueDeliveries(ctx, s.o.Now(), sendAtOnce)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	// Side by side, so that a slow receiver holds up nobody else's messages of this round.
	var group sync.WaitGroup
	var tried atomic.Int64
	faults := make([]error, len(due))
	for i, d := range due {
		group.Go(func() {
			var mine bool
			if mine, faults[i] = s.attempt(ctx, d); mine {
				tried.Add(1)
			}
		})
	}
	group.Wait()
	return int(tried.Load()), errors.Join(faults...)
}

// attempt claims a delivery, sends it and marks it; mine is false when somebody else has claimed it.
func (s *Service) attempt(ctx context.Context, d Delivery) (mine bool, err error) {
	if mine, err = s.o.Store.ClaimDelivery(ctx, d, s.o.Now().Add(claimFor)); !mine || err != nil {
		return false, err
	}
	d.Attempts++
	d = outcome(d, s.send(ctx, d), s.o.Now())
	// An attempt that was made is marked also when the portal is being stopped: else it would be made twice.
	marking, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return true, s.o.Store.MarkDelivery(marking, d)
}

// outcome is what an attempt makes of a delivery.
func outcome(d Delivery, err error, now time.Time) Delivery {
	d.UpdatedAt, d.Problem, d.Error = now, i18n.Text{}, ""
	if err == nil {
		d.State = Sent
		return d
	}
	d.Problem, d.Error = Reason(err), quoted(err)
	if Permanent(err) || d.Attempts > len(waits) {
		d.State = GaveUp
		return d
	}
	d.State, d.NextAt = Due, now.Add(waits[d.Attempts-1])
	return d
}

// send makes one attempt.
func (s *Service) send(ctx context.Context, d Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, 2*sendFor)
	defer cancel()
	sender, ok := s.senders[d.Channel]
	if !ok {
		return refusal{newDeliveryError("this portal does not send by this channel any more", "notify.failed.no_channel")}
	}
	m := Message{Notice: d.Notice, ID: d.ID, At: d.CreatedAt, ToName: d.Name}
	if d.Channel == Mail {
		p, err := s.o.Store.Person(ctx, d.Person)
		if err != nil {
			return err
		}
		if p.Disabled {
			return refusal{newDeliveryError("the person is shut out", "notify.failed.shut_out")}
		}
		m.To = p.Email
		return sender.Send(ctx, m)
	}
	target, err := s.target(ctx, d.Address)
	if err != nil {
		return err
	}
	m.Target = target
	return sender.Send(ctx, m)
}

func (s *Service) target(ctx context.Context, id string) (Target, error) {
	all, err := s.o.Store.Addresses(ctx)
	if err != nil {
		return Target{}, err
	}
	i := slices.IndexFunc(all, func(a Address) bool { return a.ID == id })
	if i < 0 {
		return Target{}, refusal{newDeliveryError("the address was taken out", "notify.failed.address_gone")}
	}
	text, err := s.o.Open(id, all[i].Sealed)
	var t Target
	if err == nil {
		err = json.Unmarshal([]byte(text), &t)
	}
	if err != nil {
		return t, refusal{newDeliveryError("the address cannot be read with the portal's key", "notify.failed.address_key")}
	}
	return t, nil
}

// Settings are what a person sees of their own.
type Settings struct {
	Preferences Preferences
	Chosen      bool
	Addresses   []Address // one's own, and of the teams that one leads
}

// Settings gives what somebody chose. Faults: Unauthenticated.
func (s *Service) Settings(ctx context.Context, a identity.Actor) (Settings, error) {
	if err := permit(a, identity.Resource{Owner: a.Person.ID}); err != nil {
		return Settings{}, err
	}
	preferences, err := s.o.Store.PreferencesOf(ctx, a.Person.ID)
	if err != nil {
		return Settings{}, err
	}
	out := Settings{Preferences: preferences, Chosen: preferences.Channels != nil}
	out.Preferences.Language = cmp.Or(preferences.Language, s.o.Language)
	all, err := s.o.Store.Addresses(ctx)
	for _, address := range all {
		if identity.Can(a, identity.ChangeNotices, thingOf(address)) {
			out.Addresses = append(out.Addresses, address)
		}
	}
	return out, err
}

func thingOf(a Address) identity.Resource {
	if a.Tenant != "" {
		return identity.Resource{Tenant: a.Tenant}
	}
	return identity.Resource{Owner: a.Person}
}

func permit(a identity.Actor, t identity.Resource) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	if !identity.Can(a, identity.ChangeNotices, t) {
		return fault.New(fault.NotFound, i18n.T("notify.no_address"))
	}
	return nil
}

// Choose keeps what somebody wants to hear of, and how. Faults: Unauthenticated, Invalid.
func (s *Service) Choose(ctx context.Context, a identity.Actor, preferences Preferences) error {
	if err := permit(a, identity.Resource{Owner: a.Person.ID}); err != nil {
		return err
	}
	if !slices.Contains(Languages(), preferences.Language) {
		return invalid("language", "notify.bad_language")
	}
	kept := Preferences{Language: preferences.Language, Channels: map[Kind][]Channel{}}
	for _, kind := range Kinds() {
		for _, channel := range Channels() {
			if slices.Contains(preferences.Channels[kind], channel) {
				kept.Channels[kind] = append(kept.Channels[kind], channel)
			}
		}
	}
	return s.o.Store.SavePreferences(ctx, a.Person.ID, kept)
}

func invalid(field, reason string) error {
	return fault.InvalidFields([]fault.Field{{Name: field, Reason: i18n.T(reason)}})
}

// Entry is an address as somebody enters it.
type Entry struct {
	Channel Channel
	Tenant  string // "" for one's own
	URL     string
	Kinds   []Kind
}

// mostAddresses bounds what one person or team has.
const mostAddresses = 10

// Check says what is wrong with an entry, as Enter would, and writes nothing.
func (s *Service) Check(a identity.Actor, e Entry) error {
	_, err := s.host(a, e)
	return err
}

func (s *Service) host(a identity.Actor, e Entry) (string, error) {
	if err := permit(a, thingOf(Address{Person: a.Person.ID, Tenant: e.Tenant})); err != nil {
		return "", err
	}
	host, err := s.check(e)
	if err != nil {
		return "", invalid("url", "notify.bad_url")
	}
	return host, nil
}

// Enter keeps an address. secret is what a webhook is signed with; it is shown this once. One's own replaces the one
// before of its channel. Faults: Unauthenticated, NotFound for a team that one does not lead, Invalid.
func (s *Service) Enter(ctx context.Context, a identity.Actor, e Entry) (secret string, err error) {
	address := Address{ID: s.o.NewID("na-"), Channel: e.Channel, Person: a.Person.ID, Tenant: e.Tenant,
		CreatedAt: s.o.Now()}
	if address.Host, err = s.host(a, e); err != nil {
		return "", err
	}
	all, err := s.o.Store.Addresses(ctx)
	if err != nil {
		return "", err
	}
	mine := 0
	for _, old := range all {
		if old.Tenant != e.Tenant || e.Tenant == "" && old.Person != a.Person.ID {
			continue
		}
		mine++
		if e.Tenant == "" && old.Channel == e.Channel {
			address.ID = old.ID
		}
	}
	if mine >= mostAddresses {
		return "", invalid("url", "notify.too_many")
	}
	if e.Tenant != "" {
		for _, kind := range Kinds() {
			if slices.Contains(e.Kinds, kind) {
				address.Kinds = append(address.Kinds, kind)
			}
		}
	}
	t := Target{URL: e.URL}
	if e.Channel == Webhook {
		secret = NewSecret()
		t.Secrets = []string{secret}
		if address.ID != "" {
			// the one before goes on for a rotation
			if old, err := s.target(ctx, address.ID); err == nil && len(old.Secrets) > 0 {
				t.Secrets = append(t.Secrets, old.Secrets[0])
			}
		}
	}
	text, err := json.Marshal(t)
	if err == nil {
		address.Sealed, err = s.o.Seal(address.ID, string(text))
	}
	if err != nil {
		return "", err
	}
	return secret, s.o.Store.SaveAddress(ctx, address, s.event(a, audit.AddressEntered, address))
}

// check gives the host that people see of an address.
func (s *Service) check(e Entry) (string, error) {
	switch e.Channel {
	case Webhook:
		u, err := s.o.Guard.CheckURL(e.URL)
		if err != nil {
			return "", err
		}
		return u.Hostname(), nil
	case Chat:
		if _, err := (Chats{}).open(e.URL, http.DefaultClient); err != nil {
			return "", err
		}
		u, err := url.Parse(e.URL)
		if err != nil {
			return "", err
		}
		switch u.Scheme {
		case "mattermost", "rocketchat": // the others name no host, or a token in its place
			return u.Scheme + ": " + u.Hostname(), nil
		}
		return u.Scheme, nil
	}
	return "", errNotAllowed
}

func (s *Service) event(a identity.Actor, kind audit.Kind, address Address) audit.Event {
	e := audit.By(a, kind, s.o.Now())
	e.Tenant, e.Detail = address.Tenant, i18n.Literal(string(address.Channel)+": "+address.Host)
	return e
}

// Remove takes an address out. Faults: Unauthenticated, NotFound.
func (s *Service) Remove(ctx context.Context, a identity.Actor, id string) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	all, err := s.o.Store.Addresses(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(address Address) bool { return address.ID == id })
	if i < 0 || !identity.Can(a, identity.ChangeNotices, thingOf(all[i])) {
		return fault.New(fault.NotFound, i18n.T("notify.no_address"))
	}
	return s.o.Store.DeleteAddress(ctx, id, s.event(a, audit.AddressRemoved, all[i]))
}

// Try sends a test to oneself at once. What went wrong is the delivery's error, no fault of the call. Faults:
// Unauthenticated, Invalid where there is no such way to oneself.
func (s *Service) Try(ctx context.Context, a identity.Actor, channel Channel) (Delivery, error) {
	settings, err := s.Settings(ctx, a)
	if err != nil {
		return Delivery{}, err
	}
	now := s.o.Now()
	d := Delivery{ID: s.o.NewID("n-"), Kind: Test, Recipient: string(a.Person.ID), Person: a.Person.ID,
		Name: a.Person.Name, Channel: channel, State: Sending, Attempts: 1, CreatedAt: now, NextAt: now}
	f := Facts{Mail: s.HasMail(), Addresses: settings.Addresses}
	if !slices.Contains(Channels(), channel) || !f.reach(&d, a.Person) {
		return Delivery{}, invalid("channel", "notify.no_way")
	}
	if d.Notice, err = s.o.Words.Notice(settings.Preferences.Language, Test, "test", Args{Who: a.Person.Name}, s.o.URL,
		"/account/notifications"); err != nil {
		return Delivery{}, err
	}
	d = outcome(d, s.send(ctx, d), s.o.Now())
	if d.State == Due { // a test is not tried again
		d.State = GaveUp
	}
	return d, s.o.Store.SaveDelivery(ctx, d)
}

// Again lets a message that has failed be sent once more, with the same id, so that a receiver that got it after all
// can tell. Where attempts are used up it has this one. Faults: Unauthenticated, Forbidden, NotFound for what has not
// failed, and for a test.
func (s *Service) Again(ctx context.Context, a identity.Actor, id string) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	switch {
	case !identity.Can(a, identity.ReadDeliveries, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, identity.RetryDelivery, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("notify.admins_only"))
	}
	e := audit.By(a, audit.DeliveryRetried, s.o.Now())
	e.Detail = i18n.Literal(id)
	return s.o.Store.RetryDelivery(ctx, id, s.o.Now(), e)
}

// History is a page of deliveries, newest first, for those who may see all; state "" for every one. Faults: NotFound.
func (s *Service) History(ctx context.Context, a identity.Actor, state State,
	cursor string, limit int) ([]Delivery, string, error) {
	if err := identity.Known(a); err != nil {
		return nil, "", err
	}
	if !identity.Can(a, identity.ReadDeliveries, identity.Resource{}) {
		return nil, "", fault.New(fault.NotFound, i18n.T("problem.no_page"))
	}
	return s.o.Store.Deliveries(ctx, state, cursor, limit)
}
