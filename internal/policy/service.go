package policy

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/revision"
)

// Revision is one version of the rules.
type Revision struct {
	Version    int64  // 1 and up; 0 is the configuration's
	Text       string // YAML; empty in lists
	Author     identity.PersonID
	AuthorName string    // of the author, as it was then
	Note       i18n.Text // the author's own words, or what was done
	At         time.Time // when it was saved; zero for version 0
}

// Store keeps revisions. Faults: NotFound for a version that does not exist, Unavailable when the database is away.
type Store interface {
	LatestRules(ctx context.Context) (Revision, error)
	RulesAt(ctx context.Context, version int64) (Revision, error)
	// RulesRevisions lists revisions without their texts, newest first; before is a version, 0 for the newest.
	RulesRevisions(ctx context.Context, before int64, limit int) ([]Revision, error)
	// SaveRules keeps a revision, its events and an outbox row in one transaction. Conflict when the version below it
	// is not the newest.
	SaveRules(ctx context.Context, r Revision, events ...audit.Event) error
}

// Options holds the dependencies and settings of a Service.
type Options struct {
	Store   Store
	Initial *Policy // version 0: the configuration's
	Now     func() time.Time
	Logger  *slog.Logger // nil: nothing is logged
}

// Service reads, checks and saves the rules, and knows which ones are in effect. It is safe for use by many goroutines.
type Service struct {
	o       Options
	refresh sync.Mutex
	status  atomic.Pointer[Status]
}

// Status is the revision in effect in this process, and problems with newer ones.
type Status struct {
	Active   Revision
	Policy   *Policy   // of Active
	Newest   Revision  // the one that was saved last
	Problems []Problem // what is wrong with Newest; then Active is an older one
	// Unreadable says that no revision can be read: everything needs an approval until somebody saves one that can.
	Unreadable bool
}

// NewService begins with version 0; Refresh loads what was saved since.
func NewService(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o}
	first := s.initial()
	s.status.Store(&Status{Active: first, Newest: first, Policy: o.Initial})
	return s
}

func (s *Service) initial() Revision { return Revision{Text: Write(s.o.Initial.Rules())} }

// Policy is what decides now.
func (s *Service) Policy() *Policy { return s.status.Load().Policy }

// Refresh loads the newest revision. One that this program cannot read, after an upgrade, changes nothing: the saved
// rules that decided go on, after a start the newest that can be read, and where there are none everything needs an
// approval. The configuration's rules never come back by that: administrators have replaced them.
func (s *Service) Refresh(ctx context.Context) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	newest, err := s.newest(ctx)
	if err != nil {
		return err
	}
	now := *s.status.Load()
	if newest.Version == now.Newest.Version {
		return nil
	}
	now.Newest = newest
	p, problems := Parse(newest.Text)
	if now.Problems = problems; p != nil {
		now.Active, now.Policy, now.Unreadable = newest, p, false
	} else if now, err = s.older(ctx, now); err != nil {
		return err
	}
	s.status.Store(&now)
	return nil
}

// older keeps the saved rules that decide, or looks for some.
func (s *Service) older(ctx context.Context, now Status) (Status, error) {
	s.o.Logger.WarnContext(ctx, "the newest rules cannot be read, older ones decide", "version",
		now.Newest.Version, "problem", now.Problems[0].Error())
	if now.Active.Version > 0 {
		return now, nil
	}
	r, p, found, err := revision.Readable(ctx, now.Newest.Version, s.o.Store.RulesAt, func(r Revision) (*Policy, bool) {
		p, _ := Parse(r.Text)
		return p, p != nil
	})
	if now.Active, now.Policy = r, p; !found {
		now.Active, now.Policy, now.Unreadable = Revision{}, Unreadable(), true
		s.o.Logger.ErrorContext(ctx, "no saved rules can be read, every request needs an approval", "version",
			now.Newest.Version)
	}
	return now, err
}

func (s *Service) newest(ctx context.Context) (Revision, error) {
	r, err := s.o.Store.LatestRules(ctx)
	if fault.Is(err, fault.NotFound) {
		return s.initial(), nil
	}
	return r, err
}

// permit: what somebody may not read does not exist for them.
func permit(a identity.Actor, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	switch {
	case !identity.Can(a, identity.ReadRules, identity.Resource{}):
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case !identity.Can(a, action, identity.Resource{}):
		return fault.New(fault.Forbidden, i18n.T("policy.admins_only"))
	}
	return nil
}

// Status gives the active revision, the newest one, and what is wrong with that.
func (s *Service) Status(a identity.Actor) (Status, error) {
	if err := permit(a, identity.ReadRules); err != nil {
		return Status{}, err
	}
	return *s.status.Load(), nil
}

// Revision gives one version; 0 is the configuration's.
func (s *Service) Revision(ctx context.Context, a identity.Actor, version int64) (Revision, error) {
	if err := permit(a, identity.ReadRules); err != nil {
		return Revision{}, err
	}
	return s.revision(ctx, version)
}

func (s *Service) revision(ctx context.Context, version int64) (Revision, error) {
	if version == 0 {
		return s.initial(), nil
	}
	return s.o.Store.RulesAt(ctx, version)
}

// Revisions lists versions without their texts, newest first, down to version 0. More says that there are older ones.
func (s *Service) Revisions(ctx context.Context, a identity.Actor, before int64,
	limit int) (list []Revision, more bool, err error) {
	if err := permit(a, identity.ReadRules); err != nil {
		return nil, false, err
	}
	list, err = s.o.Store.RulesRevisions(ctx, before, limit+1)
	if len(list) > limit {
		return list[:limit], true, err
	}
	return append(list, Revision{}), false, err
}

// Check reads a text without keeping it. What is wrong with it is no error but the list.
// It ends with the context.
func (s *Service) Check(ctx context.Context, a identity.Actor, text string) (*Policy, []Problem, error) {
	if err := permit(a, identity.ChangeRules); err != nil {
		return nil, nil, err
	}
	p, problems := parse(ctx, normal(text))
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return p, problems, nil
}

// Draft is a text to save as the next revision.
type Draft struct {
	Text string
	Base int64  // the version that it was written from
	Note string // why
}

const (
	maxText = 60_000 // bytes
	maxNote = 300    // characters
)

// normal has the line ends of a file and not those of a form.
func normal(text string) string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), " \n\t")
	if text == "" {
		return ""
	}
	return text + "\n"
}

// Save keeps a text as the next version and puts it into effect. Invalid with every problem; Conflict, saying who was
// faster.
func (s *Service) Save(ctx context.Context, a identity.Actor, d Draft) (Revision, error) {
	if err := permit(a, identity.ChangeRules); err != nil {
		return Revision{}, err
	}
	note := strings.TrimSpace(d.Note)
	if utf8.RuneCountInString(note) > maxNote || !utf8.ValidString(note) {
		return Revision{}, fault.InvalidFields([]fault.Field{{Name: "note", Reason: i18n.T("policy.note_too_long", "Most",
			maxNote)}})
	}
	return s.save(ctx, a, d, i18n.Literal(note))
}

// Revert makes an older version the next one.
func (s *Service) Revert(ctx context.Context, a identity.Actor, version, base int64) (Revision, error) {
	if err := permit(a, identity.ChangeRules); err != nil {
		return Revision{}, err
	}
	old, err := s.revision(ctx, version)
	if err != nil {
		return Revision{}, err
	}
	return s.save(ctx, a, Draft{Text: old.Text, Base: base}, i18n.T("policy.reverted", "Version", version))
}

func (s *Service) save(ctx context.Context, a identity.Actor, d Draft, note i18n.Text) (Revision, error) {
	newest, err := s.newest(ctx)
	if err != nil {
		return Revision{}, err
	}
	text := normal(d.Text)
	switch {
	case newest.Version != d.Base:
		return Revision{}, conflict(newest)
	case len(text) > maxText:
		return Revision{}, fault.InvalidFields([]fault.Field{{Name: "text", Reason: i18n.T("policy.text_too_long", "Most",
			maxText)}})
	case text == newest.Text:
		return Revision{}, fault.New(fault.Invalid, i18n.T("policy.unchanged"))
	}
	if _, problems := parse(ctx, text); len(problems) > 0 {
		return Revision{}, refused(problems)
	}
	now := s.o.Now()
	r := Revision{Version: newest.Version + 1, Text: text, Author: a.Person.ID, AuthorName: a.Person.Name, Note: note,
		At: now}
	event := audit.By(a, audit.RulesSaved, now)
	event.Detail = i18n.T("policy.audit", "Version", r.Version, "Note", note)
	event.Changes = changesBetween(newest.Text, text)
	err = s.o.Store.SaveRules(ctx, r, event)
	if fault.Is(err, fault.Conflict) {
		if newest, again := s.newest(ctx); again == nil {
			return Revision{}, conflict(newest)
		}
	}
	if err != nil {
		return Revision{}, err
	}
	return r, s.Refresh(ctx)
}

// changesBetween tells what differs between two texts, rule by rule. A text that cannot be read has no rules.
func changesBetween(old, new string) []audit.Change {
	type placed struct {
		Place int `json:"place"` // the first rule that says something decides
		Rule
	}
	byName := func(text string) map[string]placed {
		rules := map[string]placed{}
		if p, problems := Parse(text); len(problems) == 0 {
			for i, r := range p.Rules() {
				rules[r.Name] = placed{i + 1, r}
			}
		}
		return rules
	}
	return audit.Diff(byName(old), byName(new))
}

func refused(problems []Problem) error {
	fields := make([]fault.Field, len(problems))
	for i, p := range problems {
		fields[i] = fault.Field{Name: "text", Reason: i18n.Literal(p.Error())}
	}
	return fault.InvalidFields(fields)
}

func conflict(newest Revision) error {
	return fault.New(fault.Conflict, i18n.T("policy.conflict", "Version", newest.Version, "Name", newest.AuthorName, "At",
		newest.At.UTC().Format(time.RFC3339)))
}

// Follow loads what other replicas save, until the context ends. changed tells that there may be something new;
// every so often it is looked at anyway.
func (s *Service) Follow(ctx context.Context, changed <-chan struct{}, every time.Duration) error {
	return revision.Follow(ctx, changed, every, s.Refresh, func(err error) {
		s.o.Logger.WarnContext(ctx, "the rules could not be read, the last known ones go on", "error", err)
	})
}
