package renewal

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/oidc"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var limits = Limits{Refresh: 10 * time.Minute, Grace: time.Hour, Overtime: 5 * time.Minute}

// fake is store, provider and clock in one. The provider rotates its one refresh token.
type fake struct {
	mu       sync.Mutex
	at       time.Time
	sessions map[string]identity.Session
	groups   []string // in the person's row
	refused  bool
	events   []audit.Event
	saveErr  error

	token   string   // that the provider takes next
	told    []string // what it tells
	err     error    // or says instead
	asked   int
	reached chan struct{} // told when a call has come
	hold    chan struct{} // a call waits for this
}

func newFake() *fake {
	return &fake{at: noon, sessions: map[string]identity.Session{}, groups: []string{"old"}, token: "token-1",
		told: []string{"new"}}
}

func (f *fake) now() time.Time       { f.mu.Lock(); defer f.mu.Unlock(); return f.at }
func (f *fake) pass(d time.Duration) { f.mu.Lock(); defer f.mu.Unlock(); f.at = f.at.Add(d) }
func (f *fake) service() *Service {
	return &Service{Store: f, Provider: f, Limits: limits, Key: bytes.Repeat([]byte{7}, 32), Now: f.now,
		Logger: slog.New(slog.DiscardHandler), Patience: time.Minute}
}

// begun is a session of somebody who has just signed in.
func (f *fake) begun(t *testing.T, s *Service) identity.Session {
	t.Helper()
	n, err := s.Begin(identity.Session{ID: "s-1", Person: "p-ada", SeenAt: f.now(),
		EndsAt: f.now().Add(7 * 24 * time.Hour)},
		oidc.SignedIn{RefreshToken: f.token, ExpiresAt: f.now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	f.sessions[n.ID] = n
	return n
}

func (f *fake) Session(_ context.Context, id string) (identity.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.sessions[id]; ok {
		return s, nil
	}
	return identity.Session{}, fault.New(fault.NotFound, i18n.T("store.session_over"))
}

func (f *fake) Person(_ context.Context, id identity.PersonID) (identity.Person, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return identity.Person{ID: id, Subject: "ada", Name: "Ada", Groups: f.groups}, nil
}

func (f *fake) AskingSession(_ context.Context, _ identity.PersonID) (identity.Session, error) {
	return f.Session(context.Background(), "s-1")
}

func (f *fake) ClaimRenewal(_ context.Context, id string, told, now, older time.Time) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.sessions[id]
	if !ok || !s.GroupsAt.Equal(told) || !s.AskedAt.IsZero() && s.AskedAt.After(older) {
		return false, nil
	}
	s.AskedAt = now
	f.sessions[id] = s
	return true, nil
}

func (f *fake) SaveRenewal(_ context.Context, n identity.Session, groups []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.sessions[n.ID]
	switch {
	case f.saveErr != nil:
		return f.saveErr
	case !ok || !s.AskedAt.Equal(n.AskedAt):
		return fault.New(fault.NotFound, i18n.T("store.session_over"))
	}
	n.AskedAt, f.groups = time.Time{}, groups
	f.sessions[n.ID] = n
	return nil
}

func (f *fake) CloseSession(_ context.Context, id string, why audit.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, id)
	f.events = append(f.events, why)
	return nil
}

func (f *fake) RefusePerson(_ context.Context, _ identity.PersonID, why audit.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.sessions)
	f.refused, f.events = true, append(f.events, why)
	return nil
}

func (f *fake) Renew(ctx context.Context, subject, token string) (oidc.Renewed, error) {
	f.mu.Lock()
	f.asked++
	reached, hold := f.reached, f.hold
	f.mu.Unlock()
	if hold != nil {
		reached <- struct{}{}
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return oidc.Renewed{}, f.err
	case subject != "ada" || token != f.token:
		return oidc.Renewed{}, fault.Wrap(fault.Forbidden, errors.New("reused"), i18n.T("oidc.renewal_refused"))
	}
	f.token += "+"
	return oidc.Renewed{Groups: f.told, RefreshToken: f.token}, nil
}

var away = fault.Wrap(fault.Unavailable, errors.New("no answer"), i18n.T("oidc.unavailable"))

// TestAges: how old groups may be, and until when a watcher need not look again.
func TestAges(t *testing.T) {
	with := identity.Session{RefreshToken: "x", GroupsAt: noon, EndsAt: noon.Add(24 * time.Hour)}
	without := with
	without.RefreshToken = ""
	short := with
	short.EndsAt = noon.Add(5 * time.Minute)
	for name, c := range map[string]struct {
		s     identity.Session
		after time.Duration
		want  Age
		until time.Duration
	}{
		"fresh":                       {with, 0, Current, 10 * time.Minute},
		"just before they are due":    {with, 10*time.Minute - 1, Current, 10 * time.Minute},
		"due":                         {with, 10 * time.Minute, Due, 10*time.Minute + retry},
		"almost too old":              {with, time.Hour - time.Second, Due, time.Hour},
		"too old":                     {with, time.Hour, Stale, time.Hour},
		"nobody can ask":              {without, 20 * time.Hour, Current, 24 * time.Hour},
		"it ends before they are due": {short, 0, Current, 5 * time.Minute},
		"it has ended":                {short, 3 * time.Hour, Current, 5 * time.Minute},
	} {
		now := noon.Add(c.after)
		if got := limits.Look(c.s, now); got != c.want {
			t.Errorf("%s: want %d, got %d", name, c.want, got)
		}
		if got := limits.Until(c.s, now); !got.Equal(noon.Add(c.until)) {
			t.Errorf("%s: want until %s, got %s", name, noon.Add(c.until), got)
		}
	}
}

// TestASessionEndsWithTheProvidersToken: when nobody can ask again (T-SESS-3).
func TestASessionEndsWithTheProvidersToken(t *testing.T) {
	for name, c := range map[string]struct {
		absolute, token time.Duration
		refresh         string
		want            time.Duration
	}{
		"a refresh token":                 {24 * time.Hour, time.Hour, "r", 24 * time.Hour},
		"none":                            {24 * time.Hour, time.Hour, "", time.Hour + limits.Overtime},
		"none, and the absolute is first": {30 * time.Minute, time.Hour, "", 30 * time.Minute},
	} {
		n, err := newFake().service().Begin(identity.Session{ID: "s-1", EndsAt: noon.Add(c.absolute)},
			oidc.SignedIn{RefreshToken: c.refresh, ExpiresAt: noon.Add(c.token)})
		if err != nil || !n.EndsAt.Equal(noon.Add(c.want)) {
			t.Errorf("%s: want %s, got %s, %v", name, noon.Add(c.want), n.EndsAt, err)
		}
		if (n.RefreshToken != "") != (c.refresh != "") || strings.Contains(n.RefreshToken, "r-") ||
			n.RefreshToken == c.refresh && c.refresh != "" {
			t.Errorf("%s: kept %q", name, n.RefreshToken)
		}
	}
}

// TestFresh: what becomes of a session by its age and by what the provider says.
func TestFresh(t *testing.T) {
	disabled := fault.Wrap(fault.Forbidden, oidc.ErrDisabled, i18n.T("oidc.account_off"))
	noGroups := fault.Wrap(fault.Forbidden, errors.New("no claim"), i18n.T("oidc.renewal_no_groups"))
	for name, c := range map[string]struct {
		after   time.Duration
		says    error
		lost    bool // our key is another one
		asked   int
		groups  string
		kind    fault.Kind // of the refusal; "" for none
		why     string     // in the record
		refused bool
	}{
		"young":                  {after: 9 * time.Minute, groups: "old"},
		"due":                    {after: 10 * time.Minute, asked: 1, groups: "new"},
		"too old":                {after: 11 * time.Hour, asked: 1, groups: "new"},
		"due, provider away":     {after: 59 * time.Minute, says: away, asked: 1, groups: "old"},
		"too old, provider away": {after: time.Hour, says: away, asked: 1, groups: "old", kind: fault.Unavailable},
		"due, sign-in ended there": {after: 10 * time.Minute, says: fault.Wrap(fault.Forbidden, errors.New("x"),
			i18n.T("oidc.renewal_refused")), asked: 1, groups: "old", kind: fault.Unauthenticated, why: "oidc.renewal_refused"},
		"due, no groups in the answer": {after: 10 * time.Minute, says: noGroups, asked: 1, groups: "old",
			kind: fault.Unauthenticated, why: "oidc.renewal_no_groups"},
		"due, person disabled": {after: 10 * time.Minute, says: disabled, asked: 1, groups: "old",
			kind: fault.Unauthenticated, why: "oidc.account_off", refused: true},
		"due, but sealed by another key": {after: 10 * time.Minute, lost: true, groups: "old", kind: fault.Unauthenticated,
			why: "store.session_over"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			s := f.service()
			n := f.begun(t, s)
			f.pass(c.after)
			f.err = c.says
			if c.lost {
				s.Key = bytes.Repeat([]byte{8}, 32)
			}
			got, err := s.Fresh(t.Context(), n)
			if (c.kind == "") != (err == nil) || err != nil && !fault.Is(err, c.kind) {
				t.Fatalf("want %q, got %v", c.kind, err)
			}
			if f.asked != c.asked || strings.Join(f.groups, " ") != c.groups || f.refused != c.refused {
				t.Errorf("asked %d times, groups %v, refused %v", f.asked, f.groups, f.refused)
			}
			if c.kind == "" && c.groups == "new" && (!got.GroupsAt.Equal(f.now()) || !got.AskedAt.IsZero()) {
				t.Errorf("want a session as of now, got %+v", got)
			}
			var want []audit.Event
			if c.why != "" {
				want = []audit.Event{{Kind: audit.SessionClosed, At: f.now(), Actor: "p-ada", ActorName: "Ada",
					Detail: i18n.T(c.why)}}
			}
			if diff := cmp.Diff(want, f.events); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneAsks: however many calls and replicas find the groups due, one asks; the others go on with what is known, or,
// when that is too old, with the one's answer.
func TestOneAsks(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		other fault.Kind // what another replica says meanwhile
	}{"due": {10 * time.Minute, ""}, "too old": {2 * time.Hour, fault.Unavailable}} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.reached, f.hold = make(chan struct{}), make(chan struct{})
			one, two := f.service(), f.service()
			n := f.begun(t, one)
			f.pass(c.after)
			var group sync.WaitGroup
			for range 50 {
				group.Go(func() {
					if _, err := one.Fresh(t.Context(), n); err != nil {
						t.Error(err)
					}
				})
			}
			<-f.reached
			if _, err := two.Fresh(t.Context(), n); (c.other == "") != (err == nil) || err != nil && !fault.Is(err, c.other) {
				t.Errorf("the other replica: want %q, got %v", c.other, err)
			}
			close(f.hold)
			group.Wait()
			if f.asked != 1 || f.groups[0] != "new" {
				t.Errorf("asked %d times, groups %v", f.asked, f.groups)
			}
			if _, err := two.Fresh(t.Context(), n); err != nil || f.asked != 1 { // with what it read before
				t.Errorf("afterwards: asked %d times, %v", f.asked, err)
			}
		})
	}
}

// TestASlowProviderHoldsNobodyUp: while the groups still count, a call goes on with them; the answer is written down
// all the same.
func TestASlowProviderHoldsNobodyUp(t *testing.T) {
	f := newFake()
	f.reached, f.hold = make(chan struct{}, 1), make(chan struct{})
	s := f.service()
	s.Patience = time.Nanosecond
	n := f.begun(t, s)
	f.pass(10 * time.Minute)
	if _, err := s.Fresh(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	<-f.reached
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.Fresh(left, n); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who leaves: want to hear of that, got %v", err)
	}
	close(f.hold)
	s.Patience = time.Minute
	if _, err := s.Fresh(t.Context(), n); err != nil || f.groups[0] != "new" || f.asked != 1 {
		t.Errorf("groups %v after asking %d times, %v", f.groups, f.asked, err)
	}
}

// TestAProviderThatIsAwayIsNotAskedByEveryCall: once in a while is enough; and it heals.
func TestAProviderThatIsAwayIsNotAskedByEveryCall(t *testing.T) {
	f := newFake()
	s := f.service()
	f.begun(t, s)
	f.pass(20 * time.Minute)
	f.err = away
	for range 100 {
		if _, err := s.Fresh(t.Context(), f.sessions["s-1"]); err != nil {
			t.Fatal(err)
		}
	}
	if f.asked != 1 {
		t.Errorf("asked %d times", f.asked)
	}
	f.err = nil
	f.pass(retry)
	if _, err := s.Fresh(t.Context(), f.sessions["s-1"]); err != nil || f.asked != 2 || f.groups[0] != "new" {
		t.Errorf("back again: asked %d times, groups %v, %v", f.asked, f.groups, err)
	}
}

// TestALostRotationMeansToSignInAgain: the new token was given and never written down, by a crash or a database that is
// away. The next asker brings the old one, which the provider takes no more: the session ends, and the record says why.
func TestALostRotationMeansToSignInAgain(t *testing.T) {
	f := newFake()
	s := f.service()
	f.begun(t, s)
	f.pass(10 * time.Minute)
	f.saveErr = errors.New("crash")
	if _, err := s.Fresh(t.Context(), f.sessions["s-1"]); err == nil {
		t.Fatal("want the trouble told")
	}
	f.saveErr = nil
	if _, err := f.service().Fresh(t.Context(), f.sessions["s-1"]); err != nil || f.asked != 1 {
		t.Fatalf("while the claim holds: asked %d times, %v", f.asked, err)
	}
	f.pass(retry)
	if _, err := f.service().Fresh(t.Context(), f.sessions["s-1"]); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("want to be sent to sign in, got %v", err)
	}
	if len(f.events) != 1 || f.events[0].Detail.ID != "oidc.renewal_refused" || len(f.sessions) != 0 {
		t.Errorf("left %v, record %v", f.sessions, f.events)
	}
}

// TestOwnersOfTokens: what becomes of a token's owner whose session may have ended long ago.
func TestOwnersOfTokens(t *testing.T) {
	refused := fault.Wrap(fault.Forbidden, errors.New("invalid_grant"), i18n.T("oidc.renewal_refused"))
	for name, c := range map[string]struct {
		after  time.Duration
		says   error
		none   bool // no session to ask with
		asked  int
		groups string
		closed bool
	}{
		"told just now":          {after: 9 * time.Minute, groups: "old"},
		"told a while ago":       {after: 10 * time.Minute, asked: 1, groups: "new"},
		"the session is over":    {after: 30 * 24 * time.Hour, asked: 1, groups: "new"},
		"nobody can ask":         {after: time.Hour, none: true, groups: "old"},
		"the provider is away":   {after: 2 * time.Hour, says: away, asked: 1, groups: "old"},
		"the provider has ended": {after: time.Hour, says: refused, asked: 1, groups: "old", closed: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			s := f.service()
			f.begun(t, s)
			if c.none {
				clear(f.sessions)
			}
			owner := identity.Person{ID: "p-ada", Subject: "ada", Groups: []string{"old"}, ConfirmedAt: f.now()}
			f.pass(c.after)
			f.err = c.says
			p, err := s.Owner(t.Context(), owner)
			if err != nil || strings.Join(p.Groups, " ") != c.groups || f.asked != c.asked || (len(f.events) > 0) != c.closed {
				t.Errorf("got %q after asking %d times, record %v, %v", p.Groups, f.asked, f.events, err)
			}
		})
	}
}
