package identity

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"time"
)

// PersonID is derived from issuer and subject, never from an e-mail address, which can change owner.
type PersonID string

// NewPersonID is the id of the person whom this issuer calls by this subject.
func NewPersonID(issuer, subject string) PersonID {
	sum := sha256.Sum256([]byte(issuer + "\x00" + subject))
	return PersonID("p-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])[:16]))
}

// Person is what the provider last said of someone.
type Person struct {
	ID      PersonID
	Issuer  string
	Subject string
	Name    string
	Email   string
	Groups  []string
	SeenAt  time.Time // last sign-in or token use
	// ConfirmedAt is when the provider last told of them: at a sign-in or a refresh of their groups. It is zero once the
	// provider has ended the last session that could ask. API tokens count by it; see TokenLimits.
	ConfirmedAt time.Time
	Disabled    bool // by an administrator, or by the provider
	// By an administrator; zero where the provider did.
	DisabledAt   time.Time
	DisabledBy   string // name
	DisabledNote string
	// Acknowledged are marks of what the portal need not show them again, oldest first.
	Acknowledged []string
}

// Short is the part of the name that fits into an object name: before the @ of the e-mail, else the name.
func (p Person) Short() string {
	if at := strings.IndexByte(p.Email, '@'); at > 0 {
		return p.Email[:at]
	}
	return p.Name
}

// Role is what someone may be, in one tenant or for the whole platform.
type Role string

// The roles. Developer and Owner belong to a tenant; Approver to a tenant or the platform; Admin and Auditor to the
// platform.
const (
	Developer Role = "developer"
	Owner     Role = "owner"
	Approver  Role = "approver"
	Admin     Role = "admin"
	Auditor   Role = "auditor"
)

// Via says how someone came in.
type Via string

// The ways in.
const (
	ViaSession Via = "session"
	ViaToken   Via = "token"
	ViaEmbed   Via = "embed"   // a panel in another site's page, with the rights of whoever made its address
	ViaSystem  Via = "system"  // the portal itself: lease end, expiry
	ViaConsole Via = "console" // the OpenShift console, which sends its user's token of the cluster
)

// Actor is someone doing something now: the person, their roles, and how they came in. Serve puts it into the context
// once.
type Actor struct {
	Person  Person
	Global  []Role            // platform-wide roles: Approver, Admin, Auditor
	Tenants map[string][]Role // roles by tenant name
	// Granted is who gave a role that comes by hand alone, by its RolePrincipal: the granter first, then who had granted
	// the granter the role by which they could. What the sign-in provider's groups give has no entry.
	Granted map[string][]PersonID
	Via     Via
	Session string // id of the session or token, for ending it; never the secret
	Address string // where the call came from, for the audit
	// Credential is what the person called the token that the call came with, for the audit; "" for a session.
	Credential string
	// Delegators are those who asked this person to decide requests for them, now. Only deciding requests looks at it.
	Delegators []Actor
	// Impersonator is the administrator who sees the portal as Person, read only, until ImpersonationUntil; nil for those
	// who are themselves.
	Impersonator       *Person
	ImpersonationUntil time.Time
}

// System is the portal acting by its own rules, such as at the end of a lease.
func System() Actor {
	return Actor{Person: Person{ID: "system", Name: "GPU Portal"}, Via: ViaSystem}
}

// IsZero reports whether nobody is signed in.
func (a Actor) IsZero() bool { return a.Person.ID == "" }

// Is reports whether the actor has a platform-wide role.
func (a Actor) Is(role Role) bool { return slices.Contains(a.Global, role) }

// In reports whether the actor has this role in the tenant.
func (a Actor) In(tenant string, role Role) bool { return slices.Contains(a.Tenants[tenant], role) }

// Member reports whether the actor belongs to the tenant in any role.
func (a Actor) Member(tenant string) bool { return len(a.Tenants[tenant]) > 0 }

// TenantNames lists the tenants the actor belongs to, sorted.
func (a Actor) TenantNames() []string {
	names := make([]string, 0, len(a.Tenants))
	for name := range a.Tenants {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// SeesAll reports whether the actor may read everything: admins and auditors.
func (a Actor) SeesAll() bool { return a.Is(Admin) || a.Is(Auditor) || a.Via == ViaSystem }
