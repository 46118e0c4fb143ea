package embed

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Path is where panels are shown; the token is a parameter, for queries are in no log.
const Path = "/embed"

// Most is how many addresses that have not ended one person may have.
const Most = 50

// Embed is the record of an address.
type Embed struct {
	ID        string
	Panel     Panel
	Subject   string
	Title     string // of the subject, as it was when the embed was made
	Theme     Theme
	Person    identity.PersonID // who made it, and whose rights count
	CreatedAt time.Time
	ExpiresAt time.Time
}

func (e Embed) address() Address {
	return Address{ID: e.ID, Panel: e.Panel, Subject: e.Subject, Theme: e.Theme, Maker: e.Person,
		Until: e.ExpiresAt.Unix()}
}

// Store keeps embeds. Faults: NotFound for what does not exist or is somebody else's, Unavailable when the database is
// away.
type Store interface {
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	Embed(ctx context.Context, id string) (Embed, error)
	// EmbedsOf lists those of a person, newest first.
	EmbedsOf(ctx context.Context, person identity.PersonID) ([]Embed, error)
	// CreateEmbed is a Conflict for somebody who has so many that have not ended at now.
	CreateEmbed(ctx context.Context, e Embed, most int, event audit.Event) error
	RevokeEmbed(ctx context.Context, person identity.PersonID, id string, event audit.Event) error
}

// Workloads gives a workload to those who may see it; NotFound otherwise.
type Workloads interface {
	Get(ctx context.Context, a identity.Actor, id workload.ID) (workload.Workload, error)
}

// Options are all needed but Origins and Owner.
type Options struct {
	Store     Store
	Workloads Workloads
	Team      func(name string) (title string, ok bool)
	Actor     func(identity.Person, identity.Via) identity.Actor // with the roles of now
	// Owner gives somebody as the sign-in provider knows them now, or as far as can be told; nil: as told last.
	Owner   func(context.Context, identity.Person) (identity.Person, error)
	Limits  identity.TokenLimits // the maker has to be known as recently as the owner of an API token
	Origins []string             // sites whose pages may show panels; none: nothing is embedded
	MaxLife time.Duration
	URL     string // of the portal
	Key     []byte // for signatures
	Now     func() time.Time
	NewID   func(prefix string) string
}

// Service is safe for use by many goroutines.
type Service struct {
	o      Options
	signer Signer
}

// New makes the service.
func New(o Options) *Service { return &Service{o: o, signer: Signer{Key: o.Key}} }

// Origins are the sites whose pages may show panels; none where embedding is off.
func (s *Service) Origins() []string { return slices.Clone(s.o.Origins) }

// MaxLife is how long an address may live.
func (s *Service) MaxLife() time.Duration { return s.o.MaxLife }

// Draft is an address as somebody wants it.
type Draft struct {
	Panel   Panel
	Subject string
	Theme   Theme
	Life    time.Duration
}

// Me is the actor's own id in calls.
const Me identity.PersonID = "me"

// Subject is the title of what a panel shows. NotFound for those who may not see it.
func (s *Service) Subject(ctx context.Context, a identity.Actor, panel Panel, subject string) (string, error) {
	none := fault.New(fault.NotFound, i18n.T("embed.no_panel"))
	if err := identity.Known(a); err != nil {
		return "", err
	}
	switch {
	case panel == Workload:
		item, err := s.o.Workloads.Get(ctx, a, workload.ID(subject))
		return item.Name, err
	case panel == Team:
		title, ok := s.o.Team(subject)
		if !ok || !identity.Can(a, identity.ReadUsage, identity.Resource{Tenant: subject}) {
			return "", none
		}
		return title, nil
	case subject != "":
		return "", none
	case panel == Fleet && identity.Can(a, identity.ReadInventory, identity.Resource{}),
		panel == Licenses && identity.Can(a, identity.ReadLicenses, identity.Resource{}):
		return "", nil
	}
	return "", none
}

// Create makes an address of something that the actor may see. Conflict where embedding is off.
func (s *Service) Create(ctx context.Context, a identity.Actor, d Draft) (Embed, string, error) {
	title, err := s.Subject(ctx, a, d.Panel, d.Subject)
	if err != nil {
		return Embed{}, "", err
	}
	if !identity.Can(a, identity.ManageEmbeds, identity.Resource{Owner: a.Person.ID}) || a.Impersonator != nil {
		return Embed{}, "", fault.New(fault.Forbidden, i18n.T("accounts.admins_only"))
	}
	if len(s.o.Origins) == 0 {
		return Embed{}, "", fault.New(fault.Conflict, i18n.T("embed.off"))
	}
	if problems := s.check(d); len(problems) > 0 {
		return Embed{}, "", fault.InvalidFields(problems)
	}
	now := s.o.Now()
	e := Embed{ID: s.o.NewID("e-"), Panel: d.Panel, Subject: d.Subject, Title: title, Theme: d.Theme, Person: a.Person.ID,
		CreatedAt: now, ExpiresAt: now.Add(d.Life).Truncate(time.Second)}
	address, err := s.Address(e)
	if err != nil {
		return Embed{}, "", err
	}
	return e, address, s.o.Store.CreateEmbed(ctx, e, Most, s.event(ctx, a, audit.EmbedCreated, e))
}

func (s *Service) check(d Draft) []fault.Field {
	var problems []fault.Field
	if d.Theme != "" && d.Theme != Light && d.Theme != Dark {
		problems = append(problems, fault.Field{Name: "theme", Reason: i18n.T("embed.theme_wrong")})
	}
	if d.Life < time.Minute || d.Life > s.o.MaxLife {
		problems = append(problems, fault.Field{Name: "lasts",
			Reason: i18n.T("embed.lasts_wrong", "Days", max(1, int(s.o.MaxLife/(24*time.Hour))))})
	}
	return problems
}

// Address is what an embed is looked at with.
func (s *Service) Address(e Embed) (string, error) {
	token, err := s.signer.Sign(e.address())
	if err != nil {
		return "", fmt.Errorf("sign an embed address: %w", err)
	}
	return strings.TrimRight(s.o.URL, "/") + Path + "?token=" + url.QueryEscape(token), nil
}

func (s *Service) event(ctx context.Context, a identity.Actor, kind audit.Kind, e Embed) audit.Event {
	event := audit.By(a, kind, s.o.Now())
	event.Detail = i18n.T("embed.audit", "Panel", string(e.Panel), "Subject", cmp.Or(e.Title, e.Subject),
		"ID", e.ID)
	switch e.Panel {
	case Workload:
		event.Workload = e.Subject
		item, err := s.o.Workloads.Get(ctx, a, workload.ID(e.Subject))
		if err != nil { // ended, or no longer for this person to see: recorded without its team
			return event
		}
		event.Tenant = item.Tenant
	case Team:
		event.Tenant = e.Subject
	}
	return event
}

// List gives the embeds of a person, newest first; those of others to administrators and auditors.
func (s *Service) List(ctx context.Context, a identity.Actor, person identity.PersonID) ([]Embed, error) {
	person, err := s.of(a, person, identity.ReadEmbeds)
	if err != nil {
		return nil, err
	}
	return s.o.Store.EmbedsOf(ctx, person)
}

// Revoke ends an address permanently; those of others are ended by administrators.
func (s *Service) Revoke(ctx context.Context, a identity.Actor, person identity.PersonID, id string) error {
	person, err := s.of(a, person, identity.ManageEmbeds)
	if err != nil {
		return err
	}
	e, err := s.o.Store.Embed(ctx, id)
	if err == nil && e.Person != person {
		err = fault.New(fault.NotFound, i18n.T("embed.not_found"))
	}
	if err != nil {
		return err
	}
	return s.o.Store.RevokeEmbed(ctx, person, id, s.event(ctx, a, audit.EmbedRevoked, e))
}

func (s *Service) of(a identity.Actor, person identity.PersonID, action identity.Action) (identity.PersonID, error) {
	if err := identity.Known(a); err != nil {
		return "", err
	}
	if person == Me {
		person = a.Person.ID
	}
	thing := identity.Resource{Owner: person}
	switch {
	case !identity.Can(a, identity.ReadEmbeds, thing):
		return "", fault.New(fault.NotFound, i18n.T("embed.not_found"))
	case !identity.Can(a, action, thing):
		return "", fault.New(fault.Forbidden, i18n.T("accounts.admins_only"))
	}
	return person, nil
}

// Open says what a token shows, and in whose name. NotFound for one that is not ours, Forbidden for one that has ended
// or was revoked, or whose maker may not see it any more.
func (s *Service) Open(ctx context.Context, token string) (Embed, identity.Actor, error) {
	if len(s.o.Origins) == 0 {
		return Embed{}, identity.Actor{}, fault.New(fault.NotFound, i18n.T("embed.not_valid"))
	}
	address, err := s.signer.Verify(token, s.o.Now())
	switch {
	case err == ErrEnded:
		return Embed{Theme: address.Theme}, identity.Actor{}, fault.New(fault.Forbidden, i18n.T("embed.ended"))
	case err != nil:
		return Embed{}, identity.Actor{}, fault.Wrap(fault.NotFound, err, i18n.T("embed.not_valid"))
	}
	e, actor, err := s.opened(ctx, address)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) {
		err = fault.Wrap(fault.Forbidden, err, i18n.T("embed.no_longer"))
	}
	return e, actor, err
}

func (s *Service) opened(ctx context.Context, address Address) (Embed, identity.Actor, error) {
	e, err := s.o.Store.Embed(ctx, address.ID)
	if err != nil {
		return Embed{Theme: address.Theme}, identity.Actor{}, err
	}
	gone := fault.New(fault.NotFound, i18n.T("embed.not_found"))
	if e.address() != address {
		return e, identity.Actor{}, gone
	}
	p, err := s.o.Store.Person(ctx, e.Person)
	if err == nil && !p.Disabled && s.o.Owner != nil {
		p, err = s.o.Owner(ctx, p)
	}
	switch {
	case err != nil:
		return e, identity.Actor{}, err
	case p.Disabled || !s.o.Limits.Standing(p, s.o.Now()):
		return e, identity.Actor{}, gone
	}
	actor := s.o.Actor(p, identity.ViaEmbed)
	_, err = s.Subject(ctx, actor, e.Panel, e.Subject)
	return e, actor, err
}
