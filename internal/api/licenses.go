package api

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// LicensePool is a pool with everything that is known of it. Names of teams, machines and workloads are for admins and
// auditors.
type LicensePool struct {
	Pool         string              `json:"pool"`
	Title        string              `json:"title"`
	Feature      string              `json:"feature" doc:"As the license server spells it"`
	Product      string              `json:"product,omitempty" doc:"Decides how seats are counted; one a workload when absent"`
	Source       string              `json:"source" enum:"configured,manual,csv,server" doc:"Who says how many there are"`
	Known        bool                `json:"known" doc:"False while nobody has told how many there are; then total and free mean nothing, and nobody is kept out"`
	Total        int                 `json:"total" doc:"Seats that the site may use now: entitled"`
	Used         int                 `json:"used" doc:"Seats of workloads that are on a node"`
	Reserved     int                 `json:"reserved" doc:"Seats that are granted and on no node yet"`
	Free         int                 `json:"free"`
	OnExhaustion string              `json:"onExhaustion" enum:"refuse,queue" doc:"What becomes of a start that finds too few seats"`
	Waiting      int                 `json:"waiting" doc:"Requests that are decided and wait for seats"`
	Server       *LicenseServer      `json:"server,omitempty" doc:"Absent where the pool has no license server"`
	Tenants      []TenantSeats       `json:"tenants" doc:"For admins and auditors"`
	Rules        []LicenseRule       `json:"rules" doc:"How seats are counted, by kind of device"`
	Warnings     []string            `json:"warnings,omitempty" doc:"Sizes whose vGPU the pool does not license; for admins and auditors"`
	Differences  []LicenseDifference `json:"differences" doc:"Where portal, license server and machines do not agree; for admins and auditors"`
}

// LicenseRule is how seats are counted for one kind of device.
type LicenseRule struct {
	Device string `json:"device" enum:"vgpu,mig-vgpu,vgpu-share,card,part"`
	Unit   string `json:"unit" enum:"none,workload,machine,vgpu,gpu,user" doc:"What takes one seat"`
	UpTo   int    `json:"upTo,omitempty" doc:"Devices of one workload that one seat covers; 1 when absent"`
	Source string `json:"source" doc:"Who says so; empty where no rule is known and each workload takes one"`
	Own    bool   `json:"own" doc:"A rule of the site's, in the configuration"`
}

func licenseRules(p license.Pool) []LicenseRule {
	var list []LicenseRule
	for _, d := range license.DeviceKinds() {
		r := p.Rule(d)
		list = append(list, LicenseRule{Device: string(d), Unit: string(cmp.Or(r.Unit, "none")), UpTo: r.UpTo,
			Source: r.Source, Own: p.OwnRule(d)})
	}
	return list
}

// LicenseServer is what the license server of a pool said last.
type LicenseServer struct {
	Name        string         `json:"name"`
	InUse       *int           `json:"inUse,omitempty" doc:"Seats that are leased, as it counts; absent while it has said nothing of the pool"`
	AnsweredAt  *time.Time     `json:"answeredAt,omitempty" doc:"Absent for never"`
	Failure     string         `json:"failure,omitempty" doc:"Why it gave nothing when it was last asked"`
	FailedSince *time.Time     `json:"failedSince,omitempty"`
	LeasesKnown bool           `json:"leasesKnown" doc:"Whether it tells who holds leases"`
	Leases      []LicenseLease `json:"leases,omitempty" doc:"For admins and auditors, where it tells"`
}

// LicenseLease is one lease in use. A license server knows machines, no pods.
type LicenseLease struct {
	Client string     `json:"client" doc:"Host name of the machine that holds it"`
	Count  int        `json:"count"`
	Until  *time.Time `json:"until,omitempty"`
}

// TenantSeats is a team's part of a pool.
type TenantSeats struct {
	Tenant   string `json:"tenant" doc:"Empty for what the portal knows nothing of"`
	Reserved int    `json:"reserved"`
	Used     int    `json:"used"`
	Leased   int    `json:"leased" doc:"As the license server tells"`
}

// LicenseDifference is one thing on which not all agree.
type LicenseDifference struct {
	Kind     string `json:"kind" enum:"no_lease,foreign,more,fewer,over,server,expired"`
	Node     string `json:"node,omitempty"`
	Workload string `json:"workload,omitempty"`
	Name     string `json:"name,omitempty"`
	Tenant   string `json:"tenant,omitempty"`
	Count    int    `json:"count"`
	Sentence string `json:"sentence"`
}

func (a *API) licenses(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[LicensePool]], error) {
	lines, err := a.deps.Licenses.Overview(ctx, actor)
	var views []LicensePool
	if err != nil {
		return nil, err
	}
	waiting, err := a.deps.Seats.Lengths(ctx)
	for _, l := range lines {
		v := licensePoolView(l, i18n.From(ctx))
		for _, m := range a.deps.Catalog.Mismatches() {
			if m.Pool.Name == v.Pool && actor.SeesAll() {
				v.Warnings = append(v.Warnings, i18n.From(ctx).Say(m.Sentence()))
			}
		}
		v.Waiting = waiting[v.Pool]
		views = append(views, v)
	}
	return reply(list(views, ""), err)
}

func licensePoolView(line license.PoolOverview, l *i18n.Localizer) LicensePool {
	account, pool := line.Status, line.Status.Pool
	v := LicensePool{Pool: pool.Name, Title: pool.Title, Feature: pool.Feature, Product: string(pool.Product),
		Source: string(line.Origin), Known: !pool.Unknown, Total: pool.Seats,
		Used: account.Used, Reserved: account.Reserved, Free: account.Free(),
		OnExhaustion: string(cmp.Or(pool.OnExhaustion, license.RefuseStarts)), Tenants: []TenantSeats{},
		Differences: []LicenseDifference{},
		Rules:       licenseRules(pool)}
	if pool.Server != "" {
		v.Server = &LicenseServer{Name: pool.Server, AnsweredAt: moment(line.Answer.At),
			FailedSince: moment(line.Answer.Since), LeasesKnown: line.Answer.LeasesKnown}
		for _, x := range line.Leases() {
			v.Server.Leases = append(v.Server.Leases, LicenseLease{Client: x.Client, Count: x.Count, Until: moment(x.Until)})
		}
		if account.ServerOK {
			v.Server.InUse = &account.InUse
		}
		if !line.Answer.Failed.IsZero() {
			v.Server.Failure = l.Say(line.Answer.Failed)
		}
	}
	for _, t := range account.Tenants {
		v.Tenants = append(v.Tenants, TenantSeats(t))
	}
	for _, d := range account.Difference {
		v.Differences = append(v.Differences, LicenseDifference{Kind: string(d.Kind), Node: d.Node, Workload: d.Workload,
			Name: d.Name, Tenant: d.Tenant, Count: d.Count, Sentence: l.Say(d.Sentence())})
	}
	return v
}

// moment is absent where it is not known.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// LicenseNode is a node with vGPUs.
type LicenseNode struct {
	Cluster string        `json:"cluster"`
	Node    string        `json:"node"`
	State   string        `json:"state" enum:"unknown,licensed,unlicensed,unrestricted,restricted" doc:"The worst of its devices"`
	Since   *time.Time    `json:"since,omitempty" doc:"When the first of its devices that have no license lost it"`
	Devices []LicenseVGPU `json:"devices" doc:"Empty where nobody tells of them"`
}

// LicenseVGPU is what one vGPU says of its own license.
type LicenseVGPU struct {
	UUID       string     `json:"uuid"`
	Index      string     `json:"index"`
	Model      string     `json:"model"`
	State      string     `json:"state" enum:"unknown,licensed,unlicensed,unrestricted,restricted"`
	Since      *time.Time `json:"since,omitempty" doc:"From when on it is known to be in this state"`
	SeenAt     *time.Time `json:"seenAt,omitempty"`
	GraceUntil *time.Time `json:"graceUntil,omitempty" doc:"Until when it runs at full speed without a license"`
	Expires    *time.Time `json:"expires,omitempty" doc:"End of the lease, where it is told"`
}

func (a *API) licenseNodes(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[LicenseNode]], error) {
	if err := identity.Known(actor); err != nil {
		return nil, err
	}
	now := a.deps.Now()
	var views []LicenseNode
	for _, m := range a.deps.Licenses.Machines() {
		v := LicenseNode{Cluster: m.Cluster, Node: m.Node, State: string(m.State(now)), Since: moment(m.Since(now)),
			Devices: []LicenseVGPU{}}
		for _, d := range m.Devices {
			row := LicenseVGPU{UUID: d.UUID, Index: d.Index, Model: d.Model, State: string(d.StateAt(now)),
				Since:  moment(d.Since),
				SeenAt: moment(d.SeenAt), Expires: moment(d.Expires)}
			if until, in := d.GracePeriod(now); in {
				row.GraceUntil = moment(until)
			}
			v.Devices = append(v.Devices, row)
		}
		views = append(views, v)
	}
	return reply(list(views, ""), nil)
}

// Entitlement is a number of seats that the site may use for a time, as it was bought.
type Entitlement struct {
	ID        string     `json:"id,omitempty" doc:"Absent for what a license server tells, and for lines that are not kept"`
	Pool      string     `json:"pool"`
	Reference string     `json:"reference,omitempty"`
	Seats     int        `json:"seats"`
	From      *time.Time `json:"from,omitempty" doc:"Since ever when absent"`
	Until     *time.Time `json:"until,omitempty" doc:"The first moment at which it does not hold any more; for good when absent"`
	Source    string     `json:"source" enum:"manual,csv,server"`
	Counts    bool       `json:"counts" doc:"Whether it counts now: it holds, and nothing stands above it"`
	Author    string     `json:"author,omitempty"`
}

func entitlementView(e license.Entitlement) Entitlement {
	return Entitlement{ID: e.ID, Pool: e.Pool, Reference: e.Reference, Seats: e.Seats, From: moment(e.From),
		Until: moment(e.Until), Source: string(e.Origin), Author: e.AuthorName}
}

func (a *API) entitlements(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[List[Entitlement]], error) {
	bought, err := a.deps.Licenses.ListEntitlements(actor)
	var views []Entitlement
	for _, b := range bought {
		v := entitlementView(b.Entitlement)
		v.Counts = b.Counts
		views = append(views, v)
	}
	return reply(list(views, ""), err)
}

type enterLicenseInput struct {
	Body struct {
		Pool      string `json:"pool" maxLength:"100"`
		Seats     int    `json:"seats" doc:"Above zero"`
		From      string `json:"from,omitempty" maxLength:"40" example:"2026-12-01" doc:"A day or a time; since ever when absent"`
		Until     string `json:"until,omitempty" maxLength:"40" example:"2027-11-30" doc:"The last day, or a time; for good when absent"`
		Reference string `json:"reference,omitempty" maxLength:"400" doc:"An order or a number of the vendor. The same one cannot be entered twice for the same time"`
	}
}

func (a *API) enterLicense(ctx context.Context, actor identity.Actor,
	in *enterLicenseInput) (*output[Entitlement], error) {
	e, err := a.deps.Licenses.AddEntitlement(ctx, actor, license.EntitlementDraft{Pool: in.Body.Pool,
		Reference: in.Body.Reference,
		Seats:     strconv.Itoa(in.Body.Seats), From: in.Body.From, Until: in.Body.Until})
	if err != nil {
		return nil, err
	}
	return reply(entitlementView(e), nil)
}

type entitlementInput struct {
	ID string `path:"id" maxLength:"64"`
}

func (a *API) removeLicense(ctx context.Context, actor identity.Actor,
	in *entitlementInput) (*output[List[Entitlement]], error) {
	if err := a.deps.Licenses.RemoveEntitlement(ctx, actor, in.ID); err != nil {
		return nil, err
	}
	return a.entitlements(ctx, actor, nil)
}

type importLicensesInput struct {
	Body struct {
		CSV  string `json:"csv" doc:"The file's text, its first line naming the columns: feature, quantity, and if you like from, until, reference"`
		Keep bool   `json:"keep,omitempty" doc:"Keep all lines; a file with any problem is not kept in part. False: only say what would be kept"`
	}
}

// ImportedLicenses is what a file says.
type ImportedLicenses struct {
	Kept         bool             `json:"kept"`
	Entitlements []Entitlement    `json:"entitlements"`
	Ignored      []string         `json:"ignored" doc:"Columns that were not read"`
	Problems     []LicenseProblem `json:"problems" doc:"Only when nothing is to be kept: else a problem refuses the call, each with its line"`
	Added        int              `json:"added" doc:"Lines that are new; with keep they are kept now, else they would be, and so for changed"`
	Changed      int              `json:"changed" doc:"Lines that take the place of an entry with the same reference"`
	Unchanged    int              `json:"unchanged" doc:"Lines that are entered like this already"`
	Refused      int              `json:"refused" doc:"Lines with a problem; a file with one of them is not kept in part"`
	Lines        []ImportedLine   `json:"lines" doc:"Every line of the file, and what becomes of it"`
}

// ImportedLine is one line of a file.
type ImportedLine struct {
	Line      int      `json:"line"`
	Outcome   string   `json:"outcome" enum:"added,changed,unchanged,refused"`
	Pool      string   `json:"pool" doc:"This and what follows is as it is written"`
	Seats     string   `json:"seats"`
	From      string   `json:"from,omitempty"`
	Until     string   `json:"until,omitempty"`
	Reference string   `json:"reference,omitempty"`
	SeatsWere int      `json:"seatsWere,omitempty" doc:"Seats of the entry whose place it takes"`
	Reasons   []string `json:"reasons,omitempty" doc:"Why it is refused"`
}

// fill says what becomes of the lines of a file.
func (v *ImportedLicenses) fill(lines []license.ParsedLine, l *i18n.Localizer) {
	counts := map[license.ImportOutcome]*int{license.Added: &v.Added, license.Changed: &v.Changed,
		license.Unchanged: &v.Unchanged,
		license.Refused:   &v.Refused}
	for _, line := range lines {
		*counts[line.Outcome]++
		row := ImportedLine{Line: line.Line, Outcome: string(line.Outcome), Pool: line.Pool, Seats: line.Seats,
			From:  line.From,
			Until: line.Until, Reference: line.Reference, SeatsWere: line.Was.Seats}
		for _, r := range line.Reasons {
			row.Reasons = append(row.Reasons, l.Say(r))
		}
		v.Lines = append(v.Lines, row)
	}
}

// LicenseProblem is what is wrong with one line.
type LicenseProblem struct {
	Line   int    `json:"line" doc:"0 for the file as a whole"`
	Reason string `json:"reason"`
}

func (a *API) importLicenses(ctx context.Context, actor identity.Actor,
	in *importLicensesInput) (*output[ImportedLicenses], error) {
	p, err := a.deps.Licenses.Import(ctx, actor, []byte(in.Body.CSV), in.Body.Keep)
	if err != nil {
		return nil, err
	}
	v := ImportedLicenses{Kept: in.Body.Keep, Entitlements: []Entitlement{}, Ignored: append([]string{}, p.Ignored...),
		Problems: []LicenseProblem{}, Lines: []ImportedLine{}}
	v.fill(p.Lines, i18n.From(ctx))
	if in.Body.Keep && len(p.Problems) > 0 {
		var fields []fault.Field
		for _, problem := range p.Problems {
			fields = append(fields, fault.Field{Name: "csv", Reason: problem.Sentence()})
		}
		return nil, fault.InvalidFields(fields)
	}
	for _, problem := range p.Problems {
		v.Problems = append(v.Problems, LicenseProblem{Line: problem.Line, Reason: i18n.From(ctx).Say(problem.Reason)})
	}
	for _, e := range p.Entitlements {
		e.ID = "" // of the line, not of what is kept
		v.Entitlements = append(v.Entitlements, entitlementView(e))
	}
	return reply(v, nil)
}

// LicenseForecast is what the past of a pool says.
type LicenseForecast struct {
	Pool       string        `json:"pool"`
	From       *time.Time    `json:"from,omitempty" doc:"Where its history begins; absent without any"`
	Days       int           `json:"days" doc:"Whole days of history"`
	Week       []LicenseHour `json:"week" doc:"Mean seats by weekday and hour, UTC; hours that there has not been yet are absent"`
	PeakSeats  int           `json:"peakSeats"`
	PeakAt     *time.Time    `json:"peakAt,omitempty"`
	PeakHeld   []SeatHolder  `json:"peakHeld" doc:"Who held them; for admins and auditors"`
	FullKnown  bool          `json:"fullKnown" doc:"Whether there is enough history for a trend"`
	FullInDays *int          `json:"fullInDays,omitempty" doc:"When the daily peak reaches the pool if it goes on like this; absent when that is unknown or not within a year"`
	ValidUntil *time.Time    `json:"validUntil,omitempty" doc:"When the next entitlement ends; absent where none does"`
	ValidDays  *int          `json:"validDays,omitempty" doc:"Days from now until then, begun ones counted"`
	Expires    *time.Time    `json:"expires,omitempty" doc:"The first end of an entitlement after which fewer seats are left than are taken now"`
	LeftAfter  int           `json:"leftAfter,omitempty" doc:"Seats after that end"`
}

// LicenseHour is one hour of the week.
type LicenseHour struct {
	Weekday int     `json:"weekday" doc:"0 is Sunday"`
	Hour    int     `json:"hour"`
	Seats   float64 `json:"seats"`
}

// SeatHolder is a workload that held seats.
type SeatHolder struct {
	Workload string `json:"workload"`
	Name     string `json:"name"`
	Tenant   string `json:"tenant"`
	Seats    int    `json:"seats"`
}

func (a *API) licenseForecast(ctx context.Context, actor identity.Actor,
	_ *struct{}) (*output[List[LicenseForecast]], error) {
	lines, err := a.deps.Licenses.Overview(ctx, actor)
	now := a.deps.Now()
	var views []LicenseForecast
	for _, l := range lines {
		v := forecastView(l.Status.Pool.Name, l.Forecast)
		if ends := license.Ends(l.Entitlements, v.Pool, now); len(ends) > 0 {
			days := ends[0].Days(now)
			v.ValidUntil, v.ValidDays = moment(ends[0].Until), &days
		}
		views = append(views, v)
	}
	return reply(list(views, ""), err)
}

func forecastView(pool string, f license.Forecast) LicenseForecast {
	v := LicenseForecast{Pool: pool, From: moment(f.From), Days: f.Days, Week: []LicenseHour{}, PeakSeats: f.Peak.Seats,
		PeakAt: moment(f.Peak.At), PeakHeld: []SeatHolder{},
		FullKnown: f.FullKnown, Expires: moment(f.Expires), LeftAfter: f.LeftAfter}
	for day := range f.Week {
		for hour, seats := range f.Week[day] {
			if f.HoursSeen[day][hour] > 0 {
				v.Week = append(v.Week, LicenseHour{Weekday: day, Hour: hour, Seats: seats})
			}
		}
	}
	for _, h := range f.Peak.Holders {
		v.PeakHeld = append(v.PeakHeld, SeatHolder{Workload: h.Workload, Name: h.Name, Tenant: h.Tenant, Seats: h.Seats})
	}
	if f.FullKnown && !f.NotInSight {
		v.FullInDays = &f.FullIn
	}
	return v
}

// fileSized lets a whole file in, with what JSON adds to it.
func fileSized(o huma.Operation) huma.Operation {
	o.MaxBodyBytes = 2 * license.MaxCSV
	return o
}
