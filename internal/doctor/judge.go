package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// State is how a check ended.
type State string

// The states, from the best to the worst; NotApplicable is for what this site or this process has no use for.
const (
	NotApplicable State = "notApplicable"
	OK            State = "ok"
	Warning       State = "warning"
	Failed        State = "failed"
)

// States lists them, the worst first.
func States() []State { return []State{Failed, Warning, OK, NotApplicable} }

func (s State) rank() int { return slices.Index(States(), s) }

// Finding is one check with its outcome.
type Finding struct {
	Check   string // one of Checks
	Subject string // cluster or license server; "" where there is one thing only
	State   State
	Found   i18n.Text
	Detail  []string  // names and messages as they were told
	Cost    i18n.Text // zero: nothing
	Mend    i18n.Text // zero: nothing is to be done
	Value   string    // what is to be written into the configuration, to copy; "" for nothing
	// Optional: of a right that the portal can do without; Cost says what is lost.
	Optional bool
	Process  string // where it is so; "" in every process that looked
}

// Title names the check.
func (f Finding) Title() i18n.Text { return i18n.T("doctor.check." + f.Check) }

// Bounds of what is well.
const (
	mostSkew    = 15 * time.Second
	expiresSoon = 21 * 24 * time.Hour
	connections = 20 // of each process, as docs/install.md says
	leastMinor  = 30 // of Kubernetes 1.x
	leastServer = 13 // of PostgreSQL
	mostDetails = 12
)

// Judge is every check in the order in which one would mend them.
func Judge(f Facts) []Finding {
	j := &judge{now: f.At}
	j.settings(f.Settings)
	j.database(f.Database)
	j.provider(f.Provider)
	j.host("address.portal", f.Portal, cost{"doctor.portal_cost", "doctor.portal_cost_after"},
		i18n.T("doctor.portal_dns_mend", "Name", f.Portal.Name))
	j.host("address.apps", f.Apps, cost{"doctor.apps_cost", "doctor.apps_cost_after"},
		i18n.T("doctor.apps_dns_mend", "Name", f.Apps.Name))
	for _, c := range f.Clusters {
		j.cluster(c)
	}
	j.licenses(f.Licenses)
	j.registries(f.Registries)
	return j.all
}

type judge struct {
	now time.Time
	all []Finding
}

func (j *judge) add(f Finding) {
	if len(f.Detail) > mostDetails {
		more := len(f.Detail) - mostDetails
		f.Detail = append(slices.Clone(f.Detail[:mostDetails]), fmt.Sprintf("… +%d", more))
	}
	j.all = append(j.all, f)
}

func (j *judge) ok(check, subject string, found i18n.Text) {
	j.add(Finding{Check: check, Subject: subject, State: OK, Found: found})
}

func (j *judge) skip(check, subject string, why i18n.Text) {
	j.add(Finding{Check: check, Subject: subject, State: NotApplicable, Found: why})
}

func (j *judge) settings(s Settings) {
	switch {
	case len(s.Problems) > 0:
		j.add(Finding{Check: "settings", State: Failed, Found: i18n.T("doctor.settings_wrong", "Count", len(s.Problems)),
			Detail: s.Problems, Cost: i18n.T("doctor.no_start"), Mend: i18n.T("doctor.settings_mend")})
	case len(s.Warnings) > 0:
		j.add(Finding{Check: "settings", State: Warning, Found: i18n.T("doctor.settings_doubt", "Count", len(s.Warnings)),
			Detail: s.Warnings, Cost: i18n.T("doctor.settings_cost"), Mend: i18n.T("doctor.settings_mend")})
	default:
		j.ok("settings", "", i18n.T("doctor.settings_ok"))
	}
}

func (j *judge) database(d Database) {
	reach := Finding{Check: "database", State: OK, Found: i18n.Literal(strings.TrimSpace(d.Engine + " " + d.Version))}
	switch {
	case d.Err != "":
		j.add(Finding{Check: "database", State: Failed, Found: i18n.T("doctor.no_answer"), Detail: []string{d.Err},
			Cost: i18n.T("doctor.no_start"), Mend: i18n.T("doctor.database_mend")})
		return
	case d.InUse:
		j.ok("database", "", i18n.T("doctor.database_in_use"))
		return
	case d.Absent:
		j.ok("database", "", i18n.T("doctor.database_absent"))
		return
	case d.Engine == "PostgreSQL" && major(d.Version) < leastServer:
		reach.State, reach.Cost = Failed, i18n.T("doctor.no_start")
		reach.Mend = i18n.T("doctor.database_old", "Least", strconv.Itoa(leastServer))
	}
	j.add(reach)
	j.schema(d)
	if d.Engine == "PostgreSQL" {
		j.server(d)
	}
	j.clock("clock.database", "", d.Skew)
}

func (j *judge) schema(d Database) {
	have, want := strconv.FormatInt(d.Have, 10), strconv.FormatInt(d.Want, 10)
	switch {
	case d.Have == 0:
		j.ok("schema", "", i18n.T("doctor.schema_empty"))
	case d.Have < d.Want:
		j.add(Finding{Check: "schema", State: Warning, Found: i18n.T("doctor.schema_old", "Have", have, "Want", want),
			Cost: i18n.T("doctor.schema_cost"), Mend: i18n.T("doctor.schema_mend")})
	case d.Have > d.Want:
		j.add(Finding{Check: "schema", State: Failed, Found: i18n.T("doctor.schema_new", "Have", have, "Want", want),
			Cost: i18n.T("doctor.no_start"), Mend: i18n.T("doctor.schema_new_mend")})
	default:
		j.ok("schema", "", i18n.T("doctor.schema_ok", "Have", have))
	}
}

// server is how PostgreSQL is set.
func (j *judge) server(d Database) {
	wrong := false
	add := func(state State, id string, detail ...string) {
		wrong = true
		j.add(Finding{Check: "server", State: state, Found: i18n.T("doctor.server_" + id), Detail: detail,
			Cost: i18n.T("doctor.server_" + id + "_cost"), Mend: i18n.T("doctor.server_" + id + "_mend")})
	}
	if d.ReadOnly {
		add(Failed, "read_only")
	}
	if len(d.Unsafe) > 0 {
		add(Warning, "unsafe", d.Unsafe...)
	}
	if d.Encoding != "UTF8" {
		add(Failed, "encoding", "server_encoding = "+d.Encoding)
	}
	if d.Most < 2*connections {
		add(Warning, "connections", "max_connections = "+strconv.Itoa(d.Most))
	}
	if !wrong {
		j.ok("server", "", i18n.T("doctor.server_ok", "Most", strconv.Itoa(d.Most)))
	}
}

func (j *judge) clock(check, subject string, skew time.Duration) {
	found := i18n.T("doctor.clock", "Seconds", strconv.FormatFloat(skew.Seconds(), 'f', 0, 64))
	if skew.Abs() <= mostSkew {
		j.ok(check, subject, i18n.T("doctor.clock_ok"))
		return
	}
	j.add(Finding{Check: check, Subject: subject, State: Warning, Found: found, Cost: i18n.T("doctor.clock_cost"),
		Mend: i18n.T("doctor.clock_mend")})
}

func (j *judge) provider(p Provider) {
	if p.Issuer == "" {
		j.skip("signin", "", i18n.T("doctor.other_process"))
		return
	}
	if p.Err != "" {
		j.add(Finding{Check: "signin", State: Failed, Found: i18n.T("doctor.no_answer"), Detail: []string{p.Err},
			Cost: i18n.T("doctor.signin_cost"), Mend: i18n.T("doctor.signin_mend")})
	} else {
		j.discovered(p)
	}
	if p.NoAdmins {
		j.add(Finding{Check: "admins", State: Warning, Found: i18n.T("doctor.admins"), Cost: i18n.T("doctor.admins_cost"),
			Mend: i18n.T("doctor.admins_mend")})
	}
}

// discovered judges the provider's own document (OpenID Connect Discovery 1.0, section 3).
func (j *judge) discovered(p Provider) {
	if p.Says != p.Issuer {
		j.add(Finding{Check: "signin", State: Failed, Found: i18n.T("doctor.issuer", "Says", p.Says, "Issuer", p.Issuer),
			Cost: i18n.T("doctor.signin_cost"), Mend: i18n.T("doctor.issuer_mend"), Value: p.Says})
	} else {
		j.ok("signin", "", i18n.Literal(p.Says))
	}
	// a provider that lists no methods may know PKCE all the same, and must ignore what it does not know (RFC 7636)
	if len(p.Methods) > 0 && !slices.Contains(p.Methods, "S256") {
		j.add(Finding{Check: "pkce", State: Warning, Found: i18n.T("doctor.pkce"), Detail: p.Methods,
			Cost: i18n.T("doctor.pkce_cost"), Mend: i18n.T("doctor.pkce_mend")})
	} else if len(p.Methods) > 0 {
		j.ok("pkce", "", i18n.Literal("S256"))
	} else {
		j.skip("pkce", "", i18n.T("doctor.not_listed"))
	}
	j.scopes(p)
	if len(p.Claims) == 0 {
		j.skip("groups", "", i18n.T("doctor.not_listed"))
	} else if slices.Contains(p.Claims, p.Group) {
		j.ok("groups", "", i18n.Literal(p.Group))
	} else {
		j.add(Finding{Check: "groups", State: Warning, Found: i18n.T("doctor.groups", "Claim", p.Group),
			Cost: i18n.T("doctor.groups_cost"), Mend: i18n.T("doctor.groups_mend", "Claim", p.Group)})
	}
}

func (j *judge) scopes(p Provider) {
	asked := p.Asked
	if len(asked) == 0 {
		asked = []string{"openid", "profile", "email"}
	}
	if len(p.Scopes) == 0 {
		j.skip("scopes", "", i18n.T("doctor.not_listed"))
		return
	}
	missing := slices.DeleteFunc(slices.Clone(asked), func(s string) bool { return slices.Contains(p.Scopes, s) })
	if len(missing) == 0 {
		j.ok("scopes", "", i18n.Literal(strings.Join(asked, " ")))
		return
	}
	j.add(Finding{Check: "scopes", State: Warning, Found: i18n.T("doctor.scopes"), Detail: missing,
		Cost: i18n.T("doctor.scopes_cost"), Mend: i18n.T("doctor.scopes_mend")})
}

// cost is what a failure means, as ids of messages: now, and after the day on which the certificate expires.
type cost struct{ now, after string }

// host judges a name and its certificate; cost and record are what differs between portal and workloads.
func (j *judge) host(check string, h Host, c cost, record i18n.Text) {
	switch {
	case h.Name == "":
		j.skip(check, "", i18n.T("doctor.other_process"))
	case h.Local:
		j.skip(check, "", i18n.T("doctor.local", "Name", h.Name))
	case h.DNSErr != "":
		j.add(Finding{Check: check, State: Failed, Found: i18n.T("doctor.dns", "Name", h.Name), Detail: []string{h.DNSErr},
			Cost: i18n.T(c.now), Mend: record})
	case h.Plain:
		j.ok(check, "", i18n.T("doctor.plain", "Name", h.Name))
	case h.TLSErr != "":
		j.add(Finding{Check: check, State: Warning, Found: i18n.T("doctor.tls", "Name", h.Name), Detail: []string{h.TLSErr},
			Cost: i18n.T("doctor.tls_cost"), Mend: i18n.T("doctor.tls_mend")})
	default:
		j.certificate(check, h, c)
	}
}

func (j *judge) certificate(check string, h Host, c cost) {
	until := i18n.Date(h.Until.UTC())
	costs := i18n.T(c.now)
	add := func(state State, id string, detail ...string) {
		j.add(Finding{Check: check, State: state, Found: i18n.T("doctor.cert_"+id, "Name", h.Name, "Until", until),
			Detail: detail, Cost: costs, Mend: i18n.T("doctor.cert_"+id+"_mend", "Name", h.Name)})
	}
	switch left := h.Until.Sub(j.now); {
	case !h.Fits:
		add(Failed, "names", h.Names...)
	case left <= 0:
		add(Failed, "over")
	case !h.Trusted:
		add(Warning, "untrusted")
	case left < expiresSoon:
		costs = i18n.T(c.after, "Until", until)
		add(Warning, "soon")
	default:
		j.ok(check, "", i18n.T("doctor.cert_ok", "Name", h.Name, "Until", until))
	}
}

func (j *judge) licenses(list []License) {
	if len(list) == 0 {
		j.skip("licenses", "", i18n.T("doctor.licenses_none"))
	}
	for _, l := range list {
		if l.Err != "" {
			j.add(Finding{Check: "licenses", Subject: l.Name, State: Warning, Found: i18n.T("doctor.no_answer"),
				Detail: []string{l.Err}, Cost: i18n.T("doctor.licenses_cost"), Mend: i18n.T("doctor.licenses_mend")})
			continue
		}
		j.ok("licenses", l.Name, i18n.T("doctor.licenses_ok", "Count", l.Features))
	}
}

func (j *judge) registries(list []Registry) {
	for _, r := range list {
		if r.Err != "" {
			j.add(Finding{Check: "images", Subject: r.Name, State: Warning, Found: i18n.T("doctor.no_answer"),
				Detail: []string{r.Err}, Cost: i18n.T("doctor.images_cost"), Mend: i18n.T("doctor.images_mend")})
			continue
		}
		j.ok("images", r.Name, i18n.T("doctor.answers"))
	}
}

// major is the first number of a version, 0 for none.
func major(version string) int {
	digits, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(strings.TrimFunc(digits, func(r rune) bool { return r < '0' || r > '9' }))
	return n
}

// Worst is the worst state of some findings.
func Worst(list []Finding) State {
	worst := NotApplicable
	for _, f := range list {
		if f.State.rank() < worst.rank() {
			worst = f.State
		}
	}
	return worst
}

// Count is how many findings are in each state.
func Count(list []Finding) map[State]int {
	n := map[State]int{}
	for _, f := range list {
		n[f.State]++
	}
	return n
}

// Merge makes one list of what several processes found: of each check and subject the worst, and where it is so unless
// it is so everywhere. What one of them has no use for, another may have looked at.
func Merge(all []Facts) []Finding {
	type key struct{ check, subject, found string }
	var order []key
	best := map[key][]Finding{}
	for _, f := range all {
		for _, one := range Judge(f) {
			one.Process = f.Process.Name
			k := key{check: one.Check, subject: one.Subject}
			if one.State == Warning || one.State == Failed {
				k.found = one.Found.ID // of one check several things may be wrong
			}
			if best[k] == nil {
				order = append(order, k)
			}
			best[k] = append(best[k], one)
		}
	}
	bad := map[key]bool{}
	for k := range maps.Keys(best) {
		if k.found != "" {
			bad[key{check: k.check, subject: k.subject}] = true
		}
	}
	var out []Finding
	for _, k := range order {
		if k.found == "" && bad[k] {
			continue
		}
		list := best[k]
		one := slices.MinFunc(list, func(a, b Finding) int { return a.State.rank() - b.State.rank() })
		if len(list) == len(all) || one.State == OK || one.State == NotApplicable {
			one.Process = ""
		}
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return slices.Index(Checks(), a.Check) - slices.Index(Checks(), b.Check)
	})
	return out
}

// Checks lists what is looked at, in the order in which one would mend it.
func Checks() []string {
	return []string{"settings", "database", "schema", "server", "clock.database", "signin", "pkce", "scopes", "groups",
		"admins", "address.portal", "address.apps", "cluster", "clock.cluster", "rights.cluster", "rights.tenant",
		"rights.proxy", "rights.logs", "rights.terminal", "rights.runtimes", "rights.agents",
		"api.dra", "api.gpu", "api.kueue", "api.kserve", "api.jobset", "api.leaderworkerset", "api.snapshots",
		"api.gateway", "api.inference", "api.kuadrant", "api.envoyaigateway", "api.keda", "api.route",
		"nodes", "storage", "prometheus", "clock.prometheus",
		"series", "logstore", "licenses", "images"}
}
