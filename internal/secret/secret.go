package secret

import (
	"regexp"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Owner is whose a secret is: one of the two is set.
type Owner struct {
	Person identity.PersonID
	Tenant string
}

// Resource is by what rights are decided.
func (o Owner) Resource() identity.Resource {
	return identity.Resource{Owner: o.Person, Tenant: o.Tenant}
}

// OfTeam reports whether a team has it.
func (o Owner) OfTeam() bool { return o.Tenant != "" }

// Secret is all that is known of one but its values.
type Secret struct {
	Owner
	ID    string
	Name  string // unique among those of its owner; the directory of its files
	Kind  Kind
	About map[string]string // fields that are no secret, and beginnings of those that are
	Env   []string          // variables that workloads get
	Files []string          // files that workloads get
	// Sealed is the values, encrypted.
	Sealed      string
	CreatedBy   identity.PersonID
	CreatorName string
	CreatedAt   time.Time
	ReplacedAt  time.Time // when its values were last replaced; zero for never
	UsedAt      time.Time // when a workload was last started with it; zero for never
	Version     int64     // optimistic lock
}

// CheckedKey is the entry of About that says what came of asking a registry: Accepted or Unchecked.
const CheckedKey = "checked"

// What came of asking a registry. One that refuses is not kept.
const (
	Accepted  = "accepted"
	Unchecked = "unchecked" // it did not answer; nodes may reach it all the same
)

// Use is how a workload has it.
func (s Secret) Use() workload.SecretUse {
	return workload.SecretUse{ID: s.ID, Name: s.Name, Kind: string(s.Kind), Team: s.OfTeam(), Env: s.Env, Files: s.Files}
}

// usableBy reports whether a workload may have the values now.
func (s Secret) usableBy(w workload.Workload) bool {
	if s.OfTeam() {
		return s.Tenant == w.Tenant
	}
	return s.Person != "" && s.Person == w.Owner
}

// TeamPrefix begins a reference to a secret of the team, where one of one's own has the same name.
const TeamPrefix = "team:"

// Reference is what a start calls the secret.
func (s Secret) Reference() string { return ReferenceTo(s.Use()) }

// ReferenceTo is what a start calls a secret that a workload has.
func ReferenceTo(u workload.SecretUse) string {
	if u.Team {
		return TeamPrefix + u.Name
	}
	return u.Name
}

// MaxName is the longest name, in characters.
const MaxName = 40

var names = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Find looks up what a start calls a secret: among all that the person may use in the team. Without TeamPrefix one's
// own comes first.
func Find(all []Secret, reference string) (Secret, bool) {
	var found Secret
	ok := false
	for _, s := range all {
		if s.Kind == Registry {
			continue // it is no workload's to read
		}
		if s.Reference() == reference {
			return s, true
		}
		if s.Name == reference && s.OfTeam() {
			found, ok = s, true
		}
	}
	return found, ok
}
