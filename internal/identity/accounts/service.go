package accounts

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store keeps all of it. Faults: NotFound for what does not exist or is somebody else's, Unavailable when the database
// is away.
type Store interface {
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
	// Everybody lists those who have signed in and are not disabled.
	Everybody(ctx context.Context) ([]identity.Person, error)
	// Disable and Enable change nothing, and write no event, when that is how it is already.
	Disable(ctx context.Context, id identity.PersonID, note string, event audit.Event) error
	Enable(ctx context.Context, id identity.PersonID, event audit.Event) error

	// Acknowledge keeps a mark of what need not be shown to somebody again.
	Acknowledge(ctx context.Context, id identity.PersonID, mark string) error

	// SessionsOf lists the portal's sessions that end after a time, newest first.
	SessionsOf(ctx context.Context, id identity.PersonID, after time.Time) ([]identity.Session, error)
	EndSessionOf(ctx context.Context, id identity.PersonID, session string, event audit.Event) error
	// EndSessionsOf ends all sessions but one, "" for all; no event where there is none.
	EndSessionsOf(ctx context.Context, id identity.PersonID, but string, event audit.Event) error

	// TokensOf lists tokens, newest first.
	TokensOf(ctx context.Context, id identity.PersonID) ([]identity.Token, error)
	CreateToken(ctx context.Context, t identity.Token, event audit.Event) error
	RevokeToken(ctx context.Context, id identity.PersonID, token string, event audit.Event) error
	// RevokeTokensOf revokes all; no event where there is none.
	RevokeTokensOf(ctx context.Context, id identity.PersonID, event audit.Event) error

	Workloads(ctx context.Context, f workload.Filter) ([]workload.Workload, string, error)
	Volumes(ctx context.Context, f workload.VolumeFilter) ([]workload.Volume, error)
	Requests(ctx context.Context, f request.Filter) ([]request.Request, string, error)
	DecideExclusively(ctx context.Context, fn func(request.Tx) error) error
}

// Service is safe for use by many goroutines. All fields are needed.
type Service struct {
	Store  Store
	Actor  func(identity.Person, identity.Via) identity.Actor // with the roles of now
	Limits identity.TokenLimits
	Idle   time.Duration // of a session
	Now    func() time.Time
}

// Me is the actor's own id in calls.
const Me identity.PersonID = "me"

// maxNote bounds in characters why somebody is disabled.
const maxNote = 300

// of is a person to whose account the actor may do something. NotFound for one whom they may not see, Forbidden for one
// whom they may only look at.
func (s *Service) of(ctx context.Context, a identity.Actor, id identity.PersonID,
	action identity.Action) (identity.Person, error) {
	if err := identity.Known(a); err != nil {
		return identity.Person{}, err
	}
	if id == Me {
		id = a.Person.ID
	}
	thing := identity.Resource{Owner: id}
	if !identity.Can(a, identity.ReadAccount, thing) {
		return identity.Person{}, fault.New(fault.NotFound, i18n.T("store.no_person"))
	}
	p, err := s.Store.Person(ctx, id)
	if err == nil && !identity.Can(a, action, thing) {
		err = fault.New(fault.Forbidden, i18n.T("accounts.admins_only"))
	}
	return p, err
}

// Person is somebody with the roles that they have now.
func (s *Service) Person(ctx context.Context, a identity.Actor, id identity.PersonID) (identity.Actor, error) {
	p, err := s.of(ctx, a, id, identity.ReadAccount)
	return s.Actor(p, identity.ViaSession), err
}

// Disable shuts somebody out until Enable: their sessions end, their tokens are refused. Nobody disables themself, so
// an administrator is always left.
func (s *Service) Disable(ctx context.Context, a identity.Actor, id identity.PersonID, note string) error {
	p, err := s.of(ctx, a, id, identity.ManagePeople)
	if err != nil {
		return err
	}
	note = strings.TrimSpace(note)
	switch {
	case p.ID == a.Person.ID:
		return fault.New(fault.Conflict, i18n.T("accounts.not_yourself"))
	case utf8.RuneCountInString(note) > maxNote:
		return fault.InvalidFields([]fault.Field{{Name: "note", Reason: i18n.T("accounts.note_too_long", "Most", maxNote)}})
	}
	e := s.about(a, audit.PersonDisabled, p)
	if note != "" {
		e.Detail = i18n.T("accounts.audit_note", "Name", p.Name, "Email", p.Email, "Note", note)
	}
	e.Changes = append(e.Changes, audit.Changed("disabled", false, true)...)
	return s.Store.Disable(ctx, p.ID, note, e)
}

// Enable lets somebody in again whom Disable shut out.
func (s *Service) Enable(ctx context.Context, a identity.Actor, id identity.PersonID) error {
	p, err := s.of(ctx, a, id, identity.ManagePeople)
	if err != nil {
		return err
	}
	e := s.about(a, audit.PersonEnabled, p)
	e.Changes = append(e.Changes, audit.Changed("disabled", true, false)...)
	return s.Store.Enable(ctx, p.ID, e)
}

// Acknowledge keeps a mark of what need not be shown to the actor again.
func (s *Service) Acknowledge(ctx context.Context, a identity.Actor, mark string) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	return s.Store.Acknowledge(ctx, a.Person.ID, mark)
}

// about begins an event that names whose account it is about.
func (s *Service) about(a identity.Actor, kind audit.Kind, p identity.Person) audit.Event {
	e := audit.By(a, kind, s.Now())
	e.Detail = i18n.T("accounts.audit_person", "Name", p.Name, "Email", p.Email)
	e.Changes = audit.Changed("person", "", p.ID)
	return e
}
