package endpointkey

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Store keeps keys and what was taken with them. Faults: NotFound for a key that does not exist, is another endpoint's
// or was revoked.
type Store interface {
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	// EndpointKeys lists the keys that open an endpoint but those that were revoked, newest first.
	EndpointKeys(ctx context.Context, id workload.ID) ([]Key, error)
	// CreateEndpointKey is a Conflict where the endpoint has that many already.
	CreateEndpointKey(ctx context.Context, k Key, most int, event audit.Event) error
	RotateEndpointKey(ctx context.Context, k Key, event audit.Event) error
	RevokeEndpointKey(ctx context.Context, k Key, event audit.Event) error
	// DetachEndpointKey takes one of Key.Also away.
	DetachEndpointKey(ctx context.Context, k Key, id workload.ID, event audit.Event) error
	// KeyTraffic sums what was taken since a time, by key; also of revoked ones.
	KeyTraffic(ctx context.Context, id workload.ID, since time.Time) ([]Traffic, error)
}

// Traffic is what was taken with a key, in an hour or since a time.
type Traffic struct {
	Key          string
	Workload     workload.ID
	Hour         time.Time // zero for a sum
	Name         string    // of a sum
	Revoked      bool      // of a sum
	Requests     int
	Refused      int // over a limit
	Usage        Usage
	WithoutUsage int // requests whose answers reported no token usage
	LastAt       time.Time
}

// Service is for those who may change an endpoint. All fields are needed.
type Service struct {
	Store   Store
	MaxLife time.Duration
	Now     func() time.Time
}

// Bounds of keys.
const (
	Most           = 10_000 // keys of an endpoint
	MaxName        = 60     // characters
	MaxAlso        = 50     // further endpoints of a key
	maxLimit       = 1_000_000_000
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 7 * 24 * time.Hour
)

// Draft is a key as somebody wants it.
type Draft struct {
	Name    string
	Expires time.Time // zero: as late as may be
	Limits  Limits
	Also    []workload.ID // further endpoints that it opens
}

// List gives the keys of an endpoint, newest first, for those who may change it.
func (s *Service) List(ctx context.Context, a identity.Actor, id workload.ID) ([]Key, error) {
	w, err := s.endpoint(ctx, a, id, identity.ChangeWorkload)
	if err != nil {
		return nil, err
	}
	return s.Store.EndpointKeys(ctx, w.ID)
}

// Traffic says what was taken since a time, by key, for everybody who may read the endpoint.
func (s *Service) Traffic(ctx context.Context, a identity.Actor, id workload.ID, since time.Time) ([]Traffic, error) {
	w, err := s.endpoint(ctx, a, id, identity.ReadWorkload)
	if err != nil {
		return nil, err
	}
	return s.Store.KeyTraffic(ctx, w.ID, since)
}

// Create makes a key and gives what is shown once.
func (s *Service) Create(ctx context.Context, a identity.Actor, id workload.ID, d Draft) (Key, string, error) {
	w, err := s.endpoint(ctx, a, id, identity.ChangeWorkload)
	if err != nil {
		return Key{}, "", err
	}
	now := s.Now()
	d.Name = strings.TrimSpace(d.Name)
	if d.Expires.IsZero() {
		d.Expires = now.Add(s.MaxLife)
	}
	also, problems, err := s.also(ctx, a, w, d.Also)
	if err != nil {
		return Key{}, "", err
	}
	if err := fault.InvalidFields(append(s.problems(d, now), problems...)); err != nil {
		return Key{}, "", err
	}
	credential := newCredential()
	k := Key{ID: credential.ID, Workload: w.ID, Name: d.Name, SecretHash: credential.Hash(), Limits: d.Limits,
		CreatedBy: a.Person.ID, CreatorName: a.Person.Name, CreatedAt: now, ExpiresAt: d.Expires}
	e := s.event(a, audit.KeyCreated, w, k)
	made := map[string]any{"expires": d.Expires.UTC().Format(time.RFC3339),
		"requestsPerMinute": d.Limits.RequestsPerMinute, "tokensPerMinute": d.Limits.TokensPerMinute,
		"concurrency": d.Limits.Concurrency}
	var names []string
	for _, other := range also {
		k.Also, names = append(k.Also, other.ID), append(names, other.Name)
	}
	if len(names) > 0 {
		made["endpoints"] = strings.Join(names, ", ")
	}
	e.Changes = audit.Diff(map[string]any{}, made)
	return k, Prefix + credential.String(), s.Store.CreateEndpointKey(ctx, k, Most, e)
}

// also reads the further endpoints of a key: of the same team, and the maker must have the right to change each, as
// with the first. What is wrong is a problem of the field "endpoints".
func (s *Service) also(ctx context.Context, a identity.Actor, first workload.Workload,
	wanted []workload.ID) (list []workload.Workload, problems []fault.Field, err error) {
	wrong := func(reason i18n.Text) []fault.Field { return []fault.Field{{Name: "endpoints", Reason: reason}} }
	if len(wanted) > MaxAlso {
		return nil, wrong(i18n.T("keys.endpoints_many", "Most", MaxAlso)), nil
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(wanted))) {
		if id == first.ID {
			continue
		}
		w, err := s.endpoint(ctx, a, id, identity.ChangeWorkload)
		switch {
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Forbidden), fault.Is(err, fault.Conflict),
			err == nil && w.Tenant != first.Tenant:
			return nil, wrong(i18n.T("keys.endpoint_unknown", "Endpoint", clip(string(id)))), nil
		case err != nil:
			return nil, nil, err
		}
		list = append(list, w)
	}
	return list, nil, nil
}

// clip shortens what somebody sent to what a sentence has room for.
func clip(text string) string { return text[:min(len(text), 64)] }

// Rotate gives a key another secret, for as long as it was made for. The previous one opens for the overlap, but not
// longer than it would have.
func (s *Service) Rotate(ctx context.Context, a identity.Actor, id workload.ID, key string,
	overlap time.Duration) (Key, string, error) {
	w, k, err := s.key(ctx, a, id, key)
	if err != nil {
		return Key{}, "", err
	}
	if k.Workload != w.ID {
		return Key{}, "", fault.New(fault.Conflict, i18n.T("keys.made_elsewhere"))
	}
	if overlap < 0 || overlap > MaxOverlap {
		return Key{}, "", fault.InvalidFields([]fault.Field{{Name: "overlap", Reason: i18n.T("keys.overlap_wrong", "Days",
			int(MaxOverlap/(24*time.Hour)))}})
	}
	now, life := s.Now(), min(k.life(), s.MaxLife)
	credential := identity.Credential{ID: k.ID, Secret: newCredential().Secret}
	k.FormerHash, k.FormerUntil = k.SecretHash, now.Add(overlap)
	if k.ExpiresAt.Before(k.FormerUntil) {
		k.FormerUntil = k.ExpiresAt
	}
	k.SecretHash, k.RotatedAt, k.ExpiresAt = credential.Hash(), now, now.Add(life)
	e := s.event(a, audit.KeyRotated, w, k)
	e.Changes = audit.Changed("formerUntil", "", k.FormerUntil.UTC().Format(time.RFC3339))
	return k, Prefix + credential.String(), s.Store.RotateEndpointKey(ctx, k, e)
}

// Revoke ends a key for good. At an endpoint where it was not made, it opens that one no longer, and the others still.
func (s *Service) Revoke(ctx context.Context, a identity.Actor, id workload.ID, key string) error {
	w, k, err := s.key(ctx, a, id, key)
	if err != nil {
		return err
	}
	if k.Workload != w.ID {
		e := s.event(a, audit.KeyRevoked, w, k)
		e.Changes = audit.Changed("endpoints", w.Name, "")
		return s.Store.DetachEndpointKey(ctx, k, w.ID, e)
	}
	k.RevokedAt = s.Now()
	return s.Store.RevokeEndpointKey(ctx, k, s.event(a, audit.KeyRevoked, w, k))
}

// Key is one key of an endpoint, for those who may change it.
func (s *Service) Key(ctx context.Context, a identity.Actor, id workload.ID, key string) (Key, error) {
	_, k, err := s.key(ctx, a, id, key)
	return k, err
}

func (s *Service) key(ctx context.Context, a identity.Actor, id workload.ID,
	key string) (workload.Workload, Key, error) {
	w, err := s.endpoint(ctx, a, id, identity.ChangeWorkload)
	if err != nil {
		return w, Key{}, err
	}
	keys, err := s.Store.EndpointKeys(ctx, w.ID)
	if err != nil {
		return w, Key{}, err
	}
	for _, k := range keys {
		if k.ID == strings.TrimPrefix(key, Prefix) {
			return w, k, nil
		}
	}
	return w, Key{}, fault.New(fault.NotFound, i18n.T("keys.not_found"))
}

func (s *Service) endpoint(ctx context.Context, a identity.Actor, id workload.ID,
	action identity.Action) (workload.Workload, error) {
	if err := identity.Known(a); err != nil {
		return workload.Workload{}, err
	}
	w, err := s.Store.Workload(ctx, id)
	if err != nil {
		return w, err
	}
	if err := workload.Permit(a, action, w); err != nil {
		return w, err
	}
	if w.Kind != catalog.Endpoint {
		return w, fault.New(fault.Conflict, i18n.T("keys.endpoints_only"))
	}
	return w, nil
}

func (s *Service) problems(d Draft, now time.Time) []fault.Field {
	var problems []fault.Field
	add := func(field string, reason i18n.Text) {
		problems = append(problems, fault.Field{Name: field, Reason: reason})
	}
	switch {
	case d.Name == "":
		add("name", i18n.T("keys.name_missing"))
	case !utf8.ValidString(d.Name) || utf8.RuneCountInString(d.Name) > MaxName ||
		strings.ContainsFunc(d.Name, unicode.IsControl):
		add("name", i18n.T("keys.name_wrong", "Most", MaxName))
	}
	if !d.Expires.After(now) || d.Expires.Sub(now) > s.MaxLife+time.Minute { // whoever wrote a date has another clock
		add("expires", i18n.T("keys.expires_wrong", "Days", int(s.MaxLife/(24*time.Hour))))
	}
	for _, l := range []struct {
		name  string
		value int
	}{{"requestsPerMinute", d.Limits.RequestsPerMinute}, {"tokensPerMinute", d.Limits.TokensPerMinute},
		{"concurrency", d.Limits.Concurrency}} {
		if l.value < 0 || l.value > maxLimit {
			add("limits."+l.name, i18n.T("keys.limit_wrong", "Most", maxLimit))
		}
	}
	return problems
}

func (s *Service) event(a identity.Actor, kind audit.Kind, w workload.Workload, k Key) audit.Event {
	e := audit.By(a, kind, s.Now())
	e.Tenant, e.Workload = w.Tenant, string(w.ID)
	e.Detail = i18n.T("keys.audit", "Name", k.Name, "Key", k.Shown())
	return e
}
