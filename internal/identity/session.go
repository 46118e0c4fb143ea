package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Session is one signed-in browser. The cookie carries id and secret; the store keeps the secret's hash only.
type Session struct {
	ID         string
	SecretHash string
	Person     PersonID
	CreatedAt  time.Time
	SeenAt     time.Time
	EndsAt     time.Time // absolute limit
	IDToken    string    // sealed; for the provider's end_session_endpoint, not a credential for the portal
	// ProviderSession is the provider's own session (sid), which its logout tokens name; "" when it has no name.
	ProviderSession string
	Parent          string // for a gateway session: the portal session that it hangs on
	Workload        string // for a gateway session: the only workload it opens
	// RefreshToken asks the provider again, for the groups of now; sealed, "" when the provider gave none and the session
	// ends with what it gave.
	RefreshToken string
	GroupsAt     time.Time // when the provider last told the groups
	AskedAt      time.Time // when it was last asked for them without an answer so far
	// Impersonates is the person as whom an administrator sees the portal with this session, until ImpersonationUntil; ""
	// for the session's own.
	Impersonates       PersonID
	ImpersonationUntil time.Time
	// Roles is RolesHash of the person when the session was used last. When it changes the session gets another secret;
	// FormerHash is of the one before, which counts for calls that were under way at RenewedAt.
	Roles      string
	FormerHash string
	RenewedAt  time.Time
	// Where the sign-in came from, for its owner to recognize: network address and User-Agent header.
	Address string
	Agent   string
}

// ProviderLogout is what the provider says of sessions that have ended there: of one of its sessions, or, with Session
// empty, of all of a person.
type ProviderLogout struct {
	Person  PersonID  // "" when it names the session alone
	Session string    // sid
	ID      string    // jti: it works once
	Until   time.Time // when nobody can use it any more
}

// formerLife is how long the previous secret still counts after the roles changed: other calls of the same page may be
// under way with it.
const formerLife = time.Minute

// Opens reports whether a credential is this session's now.
func (s Session) Opens(c Credential, now time.Time) bool {
	return c.Matches(s.SecretHash) || s.FormerHash != "" && now.Sub(s.RenewedAt) < formerLife && c.Matches(s.FormerHash)
}

// RolesHash stands for all roles that somebody has; it is the same for the same roles.
func RolesHash(a Actor) string {
	var list []string
	for _, r := range a.Global {
		list = append(list, string(r))
	}
	for team, roles := range a.Tenants {
		for _, r := range roles {
			list = append(list, team+"/"+string(r)) // no name of a team has a slash
		}
	}
	slices.Sort(list)
	return HashSecret(strings.Join(list, "\n"))
}

// Token is an API token. The person sees it once; the store keeps the secret's hash only.
type Token struct {
	ID         string
	Name       string
	SecretHash string
	Person     PersonID
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastUsedAt time.Time
}

// TokenLimits bound API tokens beyond the end that each was made with. Both are positive.
type TokenLimits struct {
	// Lifetime is counted from a token's creation, so a shorter setting reaches the tokens that exist.
	Lifetime time.Duration
	// StandingAge is how long ago the provider may have told of the owner.
	StandingAge time.Duration
}

// Ends is when a token expires.
func (l TokenLimits) Ends(t Token) time.Time {
	if bound := t.CreatedAt.Add(l.Lifetime); bound.Before(t.ExpiresAt) {
		return bound
	}
	return t.ExpiresAt
}

// StandsUntil is until when tokens of a person count by what the provider last told of them; zero once it has told that
// it does not know them any more.
func (l TokenLimits) StandsUntil(p Person) time.Time {
	if p.ConfirmedAt.IsZero() {
		return time.Time{}
	}
	return p.ConfirmedAt.Add(l.StandingAge)
}

// Standing reports whether the provider vouches for a person recently enough for their tokens to count.
func (l TokenLimits) Standing(p Person, now time.Time) bool {
	return now.Before(l.StandsUntil(p))
}

// Credential is an id plus a secret, as it travels in a cookie or a bearer header: "<prefix><id>.<secret>".
type Credential struct{ ID, Secret string }

// TokenPrefix begins every API token, so that scanners for leaked secrets can find one.
const TokenPrefix = "gpup_"

// NewCredential draws a fresh id (96 bits) and secret (256 bits).
func NewCredential() Credential {
	return Credential{ID: randomText(12), Secret: randomText(32)}
}

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(b)
}

// String is the form that travels.
func (c Credential) String() string { return c.ID + "." + c.Secret }

// Hash is what is stored of the secret.
func (c Credential) Hash() string { return HashSecret(c.Secret) }

// HashSecret is a plain SHA-256: the secrets are 256 random bits, so a slow hash would add nothing.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// ParseCredential reads "<id>.<secret>"; ok is false for anything else.
func ParseCredential(text string) (c Credential, ok bool) {
	id, secret, found := strings.Cut(text, ".")
	if !found || id == "" || secret == "" || len(text) > 200 {
		return Credential{}, false
	}
	return Credential{ID: id, Secret: secret}, true
}

// Matches compares in constant time.
func (c Credential) Matches(hash string) bool {
	return subtle.ConstantTimeCompare([]byte(c.Hash()), []byte(hash)) == 1
}
