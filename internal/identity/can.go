package identity

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Action is something one may want to do. Every route and every service method names one.
type Action string

// The actions of the portal.
const (
	ReadCatalog     Action = "catalog.read"
	ReadInventory   Action = "inventory.read"
	ReadTenant      Action = "tenant.read"
	SubmitRequest   Action = "request.submit"
	ReadRequest     Action = "request.read"
	DecideRequest   Action = "request.decide"
	WithdrawRequest Action = "request.withdraw"
	EditRequest     Action = "request.edit"
	ReadWorkload    Action = "workload.read"
	ChangeWorkload  Action = "workload.change" // stop, start, extend, share, delete
	OpenWorkload    Action = "workload.open"
	// take away that an endpoint is reached from outside the company network
	CloseReach         Action = "workload.close_reach"
	ReadLogs           Action = "workload.logs" // what its containers write
	ReadVolume         Action = "volume.read"
	DeleteVolume       Action = "volume.delete"
	KeepVolume         Action = "volume.keep"
	AddVolume          Action = "volume.add"
	ExpandVolume       Action = "volume.expand"
	SnapshotVolume     Action = "volume.snapshot"
	ReadLicenses       Action = "license.read"
	ChangeLicenses     Action = "license.change"
	ReadBought         Action = "license.bought"    // which licenses were bought, and who entered them
	ReadAccount        Action = "account.read"      // sign-ins, tokens, and what somebody holds
	ManageTokens       Action = "token.manage"      // end sign-ins and tokens, make tokens of one's own
	ReadEmbeds         Action = "embed.read"        // which panels somebody shows in pages of other sites
	ManageEmbeds       Action = "embed.manage"      // make such addresses, and end them
	ReadSecrets        Action = "secret.read"       // names and kinds, never values
	ManageSecrets      Action = "secret.manage"     // make, replace, delete
	ManageDelegations  Action = "delegation.manage" // let others decide in one's place
	ReadAudit          Action = "audit.read"
	ReadPlatform       Action = "platform.read"       // the fleet in numbers: allocation, money, queue, alerts
	ReadMetrics        Action = "metrics.read"        // how well the metrics are, and what is the matter with cards
	QuarantineHardware Action = "hardware.quarantine" // cordon a node or card off for new starts, and lift that
	ReadHolders        Action = "inventory.holders"   // names of people on other teams' GPUs
	// what somebody, or a team, held and what it cost; without either: of everybody
	ReadUsage      Action = "usage.read"
	ReadOffer      Action = "offer.read" // the catalog as it is written, its history, and what the nodes say to it
	ChangeOffer    Action = "offer.change"
	ReadRules      Action = "rules.read"
	ChangeRules    Action = "rules.change"
	ReadTenants    Action = "tenants.read" // every team with where it comes from, and everybody who has signed in
	ChangeTenants  Action = "tenants.change"
	ReadMembers    Action = "members.read"
	ChangeMembers  Action = "members.change" // members by hand, their tokens, the team's defaults
	ChangeAssets   Action = "team.assets"    // the team's own images
	ReadPeople     Action = "people.read"
	ManagePeople   Action = "people.manage" // disable, enable, hand over what somebody holds
	Impersonate    Action = "people.act_as" // see the portal as somebody else
	ReadBudget     Action = "budget.read"
	ChangeBudget   Action = "budget.change"
	ReadPrices     Action = "price.read"
	ChangePrices   Action = "price.change"
	ChangeNotices  Action = "notice.change" // what one hears of oneself, and the addresses of a team
	ReadDeliveries Action = "delivery.read"
	RetryDelivery  Action = "delivery.retry"
	// what database and clusters do not agree on, such as after a restore
	ReadDifferences   Action = "difference.read"
	DecideDifferences Action = "difference.decide"
	ReadLogLevel      Action = "loglevel.read"
	ChangeLogLevel    Action = "loglevel.change"
	// what the portal stands on, and having it looked at anew
	ReadSystem  Action = "system.read"
	CheckSystem Action = "system.check"
	// the clusters, and adding, replacing and removing those that are kept in the portal
	ReadClusters   Action = "cluster.read"
	ManageClusters Action = "cluster.manage"
)

// Resource is what an action is about. Empty fields do not matter to the action.
type Resource struct {
	Tenant string
	Owner  PersonID
	// Grants let members of the tenant in besides the owner; those that have ended are left out.
	Grants []Grant
	// Asked are the principals whose approval a request needs; empty for a request that names nobody, which approvers
	// decide.
	Asked []string
}

// Grant lets members of a tenant in: all of them, one, or those of a group. Exactly one of the three is set.
type Grant struct {
	Everybody bool
	Person    PersonID
	Group     string // of the sign-in provider
	Use       bool   // not to read alone
}

func (g Grant) includes(p Person) bool {
	return g.Everybody || g.Person != "" && g.Person == p.ID || g.Group != "" && slices.Contains(p.Groups, g.Group)
}

type rule func(a Actor, t Resource) bool

func signedIn(a Actor, _ Resource) bool { return !a.IsZero() }
func member(a Actor, t Resource) bool   { return a.Member(t.Tenant) }
func starter(a Actor, t Resource) bool {
	return a.In(t.Tenant, Developer) || a.In(t.Tenant, Owner)
}
func self(a Actor, t Resource) bool    { return t.Owner != "" && a.Person.ID == t.Owner }
func owner(a Actor, t Resource) bool   { return a.In(t.Tenant, Owner) }
func admin(a Actor, _ Resource) bool   { return a.Is(Admin) }
func seesAll(a Actor, _ Resource) bool { return a.SeesAll() }
func system(a Actor, _ Resource) bool  { return a.Via == ViaSystem }

// reads and uses are for those whom the owner granted it, as long as they are members of the tenant.
func reads(a Actor, t Resource) bool {
	return a.Member(t.Tenant) && slices.ContainsFunc(t.Grants, func(g Grant) bool { return g.includes(a.Person) })
}
func uses(a Actor, t Resource) bool {
	return a.Member(t.Tenant) && slices.ContainsFunc(t.Grants, func(g Grant) bool { return g.Use && g.includes(a.Person) })
}
func approver(a Actor, t Resource) bool {
	return a.Is(Approver) || a.Is(Admin) || a.In(t.Tenant, Approver)
}

// asked is who may speak on a request: one of those it names, or somebody who stands in for one, but not for the owner
// of the thing.
func asked(a Actor, t Resource) bool {
	if len(t.Asked) == 0 {
		return Approvers{Role: Approver}.IncludesFor(a, t.Tenant, t.Owner)
	}
	if intersects(a.PrincipalsFor(t.Owner), t.Asked) {
		return true
	}
	return slices.ContainsFunc(a.Delegators, func(p Actor) bool {
		return !p.Person.Disabled && !self(p, t) && intersects(p.PrincipalsFor(t.Owner), t.Asked)
	})
}
func notOwn(r rule) rule { return func(a Actor, t Resource) bool { return !self(a, t) && r(a, t) } }

// table is the one place where rights are decided: any rule of an action that says yes is enough.
var table = map[Action][]rule{
	ReadCatalog:        {signedIn},
	ReadInventory:      {signedIn},
	ReadTenant:         {member, seesAll},
	SubmitRequest:      {starter},
	ReadRequest:        {self, member, approver, asked, seesAll},
	DecideRequest:      {notOwn(asked)},
	WithdrawRequest:    {self, owner},
	EditRequest:        {self},
	ReadWorkload:       {self, member, seesAll},
	ChangeWorkload:     {self, owner, admin, system},
	OpenWorkload:       {self, uses},
	CloseReach:         {self, owner, approver, admin},
	ReadLogs:           {self, reads, owner, admin},
	ReadVolume:         {self, member, seesAll},
	DeleteVolume:       {self, owner},
	KeepVolume:         {self, owner},
	AddVolume:          {starter},
	ExpandVolume:       {self, owner},
	SnapshotVolume:     {self, owner},
	ReadLicenses:       {signedIn},
	ChangeLicenses:     {admin},
	ReadBought:         {seesAll},
	ReadAccount:        {self, seesAll},
	ManageTokens:       {self, admin},
	ReadEmbeds:         {self, seesAll},
	ManageEmbeds:       {self, admin},
	ReadSecrets:        {self, member, admin},
	ManageSecrets:      {self, owner},
	ManageDelegations:  {self},
	ReadAudit:          {seesAll},
	ReadPlatform:       {seesAll},
	ReadMetrics:        {seesAll},
	QuarantineHardware: {admin},
	ReadDifferences:    {seesAll},
	DecideDifferences:  {admin},
	ReadLogLevel:       {seesAll},
	ChangeLogLevel:     {admin},
	ReadSystem:         {seesAll},
	CheckSystem:        {admin},
	ReadClusters:       {seesAll},
	ManageClusters:     {admin},
	ReadHolders:        {seesAll},
	ReadUsage:          {self, member, seesAll},
	ReadOffer:          {seesAll},
	ChangeOffer:        {admin},
	ReadRules:          {seesAll},
	ChangeRules:        {admin},
	ReadTenants:        {seesAll},
	ChangeTenants:      {admin},
	ReadMembers:        {member, seesAll},
	ChangeMembers:      {owner, admin},
	ChangeAssets:       {owner, admin},
	ReadPeople:         {seesAll},
	ManagePeople:       {admin},
	Impersonate:        {admin},
	ReadBudget:         {member, approver, seesAll},
	ChangeBudget:       {admin},
	ReadPrices:         {seesAll},
	ChangePrices:       {admin},
	ChangeNotices:      {self, owner},
	ReadDeliveries:     {seesAll},
	RetryDelivery:      {admin},
}

// notImpersonating is what nobody does or sees in somebody else's place, not even to look: their sign-ins and tokens,
// and what runs in their notebooks.
var notImpersonating = []Action{ReadAccount, ManageTokens, OpenWorkload, ReadLogs, ChangeMembers,
	ManageSecrets, ManageClusters, Impersonate}

// embeddable is all that an embedded panel may do in the name of whoever made its address: read what panels show.
var embeddable = []Action{ReadWorkload, ReadUsage, ReadInventory, ReadLicenses, ReadTenant, ReadBudget}

// Can reports whether the actor may do the action to the resource. A disabled person may do nothing.
func Can(a Actor, action Action, t Resource) bool {
	if a.Person.Disabled || a.IsZero() || a.Impersonator != nil && slices.Contains(notImpersonating, action) ||
		a.Via == ViaEmbed && !slices.Contains(embeddable, action) {
		return false
	}
	return slices.ContainsFunc(table[action], func(r rule) bool { return r(a, t) })
}

// Known is Unauthenticated when nobody is signed in, or somebody who has been shut out. Services ask it before they
// look for what belongs to the actor: what belongs to nobody would be everything.
func Known(a Actor) error {
	if a.IsZero() || a.Person.Disabled {
		return fault.New(fault.Unauthenticated, i18n.T("problem.sign_in_first"))
	}
	return nil
}

// Actions lists every action that has a rule, for guards that walk them.
func Actions() []Action {
	actions := make([]Action, 0, len(table))
	for a := range table {
		actions = append(actions, a)
	}
	slices.Sort(actions)
	return actions
}
