package app

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var update = flag.Bool("update", false, "write testdata/authz.yaml anew; read the difference with care")

// who are the columns of the table.
var who = []string{"nobody", developer, other, owner, approver, admin, auditor, closed}

// besideWho are two whose rights follow from those of others: a member who is not the owner of the thing, and somebody
// who was shut out.
var besideWho = []string{member, disabled}

// checkBesides: a member has at most what the owner of the thing has, and somebody who was shut out is nobody.
func checkBesides(t *testing.T, route string, statuses []int) {
	t.Helper()
	nobody, own := statuses[0], statuses[slices.Index(who, developer)]
	if got := statuses[len(who)]; got != own && got != http.StatusForbidden && got != http.StatusNotFound {
		t.Errorf("%s as %s: want %d as its owner, 403 or 404, got %d", route, member, own, got)
	}
	if got := statuses[len(who)+1]; got != nobody && route != "POST /signout" { // whoever has a session may end it
		t.Errorf("%s as %s: want %d as nobody, got %d", route, disabled, nobody, got)
	}
}

// mounts guard themselves: files that everybody may have, and the API, whose operations have rows of their own.
var mounts = []string{"/static/", "/static/*", "/favicon.ico", "/api/v1/", "/api/v1/*"}

// routes is everything that the portal answers, as "METHOD path".
func (w *world) routes() []string {
	var all []string
	for _, r := range w.server.Routes() {
		if !slices.Contains(mounts, r.Path) {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	for _, op := range api.New(api.Deps{}).Operations() {
		all = append(all, op.Method+" "+op.Path)
	}
	slices.Sort(all)
	return all
}

// form is what a page route is sent so that nothing but rights can be in its way.
func (w *world) form(route string) url.Values {
	switch _, path, _ := strings.Cut(route, " "); {
	case strings.HasPrefix(path, "/start"):
		return url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
			"lease": {"1h"}, "reason": {"a test"}, "name": {fmt.Sprintf("form-%d", w.next())}}
	case strings.HasSuffix(path, "/extend"), strings.HasSuffix(path, "/resume"), path == "/requests/:id/edit":
		return url.Values{"lease": {"1h"}, "reason": {"a test"}}
	case strings.HasPrefix(path, "/fleet/health/"):
		return url.Values{"cluster": {"main"}, "kind": {"node"}, "name": {"n-none"}, "note": {"a test"}}
	case path == "/account/tokens":
		return url.Values{"name": {"a test"}, "lasts": {"7d"}}
	case strings.Contains(path, "/secrets"):
		return url.Values{"kind": {"ngc"}, "name": {fmt.Sprintf("form-%d", w.next())}, "token": {"a-test"}}
	case strings.HasPrefix(path, "/admin/clusters"): // it does not answer
		return url.Values{"name": {"west"}, "kubeconfig": {nowhere}}
	case path == "/embeds":
		return url.Values{"panel": {"team"}, "subject": {"vision"}, "lasts": {"7d"}}
	case path == "/account/notifications":
		return url.Values{"language": {"en"}}
	case path == "/account/notifications/test":
		return url.Values{"channel": {"mail"}}
	case path == "/account/notifications/addresses":
		return url.Values{"channel": {"webhook"}, "url": {"https://hooks.example.org/x"}}
	case path == "/settings/language":
		return url.Values{"lang": {"de"}}
	case path == "/settings/nav":
		return url.Values{"part": {"system"}}
	case path == "/settings/theme":
		return url.Values{"theme": {"dark"}}
	case path == "/admin/sizes/form":
		return url.Values{"list": {"sizes"}, "name": {"cpu"}}
	case path == "/admin/tenants/check":
		return url.Values{"name": {"vision"}, "base": {"0"}, "quota": {"cpu: 3"}}
	case path == "/admin/tenants/edit":
		return url.Values{"name": {fmt.Sprintf("team-%d", w.next())}}
	case strings.HasSuffix(path, "/volumes/:volume/delete"):
		return url.Values{"confirm": {w.lastVolume()}}
	case strings.HasSuffix(path, "/volumes/:volume/expand"):
		return url.Values{"from": {"10"}, "gib": {"20"}}
	case path == "/storage/:name/expand":
		return url.Values{"from": {"10"}, "gib": {"20"}}
	case path == "/storage/:name/snapshots":
		return url.Values{"name": {fmt.Sprintf("s-%d", w.next())}}
	case path == "/storage/new":
		return url.Values{"name": {fmt.Sprintf("own-%d", w.next())}, "place": {"vision/main"}, "gib": {"10"}}
	case path == "/team/:name/volumes":
		return url.Values{"name": {fmt.Sprintf("data-%d", w.next())}, "class": {"main/nfs"}, "gib": {"10"}}
	case path == "/team/:name/datasets", path == "/team/:name/datasets/:dataset":
		return url.Values{"name": {fmt.Sprintf("set-%d", w.next())}, "source": {"claim/main"}, "claim": {"archive-nfs"}}
	case strings.HasPrefix(path, "/team/:name/images"):
		return w.imageForm(fmt.Sprintf("Image %d", w.next()))
	case strings.HasSuffix(path, "/members"):
		return w.membership(false)
	case path == "/workloads/:id/reach":
		return url.Values{"reason": {"a test"}}
	case strings.HasSuffix(path, "/quota"):
		return url.Values{"size": {"cpu"}, "amount": {"2000"}, "reason": {"a test"}}
	case path == "/settings/team":
		return url.Values{"team": {"vision"}}
	case path == "/admin/rules/rule":
		return url.Values{"name": {"new"}, "outcome": {"allow"}, "action": {"check"}}
	case strings.HasPrefix(path, "/admin/rules"): // the version that is newest now, and a text of its own
		return url.Values{"text": {w.rulesText()}, "base": {fmt.Sprint(w.rulesVersion())}}
	case path == "/approvals/delegations": // later, so that it changes nobody's rights here
		later := w.clock.now().AddDate(0, 0, 10).Format(time.DateOnly)
		return url.Values{"find": {"otto"}, "person": {string(w.person(other).ID)}, "from": {later}, "until": {later}}
	case path == "/licenses/full":
		return url.Values{"pool": {"nvidia-vws"}, "on_exhaustion": {"refuse"}}
	case path == "/admin/prices", path == "/admin/prices/check":
		return url.Values{"subject": {"cpu:"}, "amount": {"0.01"}}
	case strings.HasSuffix(path, "/refund"), strings.HasSuffix(path, "/budgets/:name/remove"):
		return url.Values{}
	case path == "/admin/budgets/:name":
		return url.Values{"amount": {"1000"}, "unit": {"EUR"}, "atLimit": {"stop"}, "version": {"0"}}
	case path == "/approvals/:id/reassign": // to the administrator, who cannot give it to themselves
		return url.Values{"person": {w.personID(admin)}, "reason": {"a test"}}
	case strings.HasSuffix(path, "/transfer"):
		return url.Values{"tenant": {"vision"}, "to": {w.personID(owner)}}
	case strings.HasPrefix(path, "/approvals/"):
		return url.Values{"note": {"a test"}, "seen": {"1"}}
	}
	return url.Values{}
}

// body is the same for an operation of the API.
func (w *world) body(route string) any {
	method, path, _ := strings.Cut(route, " ")
	switch {
	case strings.HasPrefix(path, "/api/v1/catalog") && method != http.MethodGet:
		return `{"sizes": []}`
	case path == "/api/v1/rules" && method == http.MethodPut:
		return map[string]any{"text": w.rulesText(), "base": w.rulesVersion()}
	case path == "/api/v1/tenants/{name}" && method == http.MethodPut:
		return map[string]any{"title": "Vision", "base": w.tenantVersion("vision"), "note": fmt.Sprint(w.next()),
			"quota": map[string]int{"cpu": 1000}}
	case path == "/api/v1/account/notifications" && method == http.MethodPut:
		return map[string]any{"language": "en", "choices": []any{}}
	case path == "/api/v1/budgets/{name}" && method == http.MethodPut:
		return map[string]any{"unit": "EUR", "amount": "1000", "atLimit": "stop", "version": w.budgetVersion("vision")}
	case strings.Contains(path, "/quarantine/") && method == http.MethodPut:
		return map[string]any{"note": "a test"}
	case path == "/api/v1/secrets" && method == http.MethodPost:
		return map[string]any{"name": fmt.Sprintf("body-%d", w.next()), "kind": "ngc",
			"values": map[string]string{"token": "x"}}
	case path == "/api/v1/secrets/{id}" && method == http.MethodPut:
		return map[string]any{"values": map[string]string{"token": "y"}}
	case strings.HasPrefix(path, "/api/v1/clusters") && method != http.MethodGet && method != http.MethodDelete:
		body := map[string]any{"kubeconfig": nowhere}
		if method == http.MethodPost {
			body["name"] = "west"
		}
		return body
	case path == "/api/v1/embeds" && method == http.MethodPost:
		return map[string]any{"panel": "team", "subject": "vision"}
	case path == "/api/v1/log-level":
		return map[string]any{"level": "debug", "for": "1h"}
	case strings.HasPrefix(path, "/api/v1/idle"):
		return map[string]any{"version": 0, "teams": map[string]any{"vision": map[string]any{"action": "off"}}}
	case path == "/api/v1/tenants/{name}/defaults":
		return map[string]any{"lease": "8h"}
	case path == "/api/v1/tenants/{name}/images/{image}" && method == http.MethodPut:
		return w.imageBody("")
	case path == "/api/v1/tenants/{name}/custom-images":
		return map[string]any{"allowed": true}
	case path == "/api/v1/tenants/{name}/datasets/{dataset}" && method == http.MethodPut:
		return map[string]any{"title": "Archive", "source": map[string]any{"claim": "archive-nfs"}}
	case strings.HasSuffix(path, "/{id}/schedule") && method == http.MethodPut:
		return map[string]any{"mode": "none"}
	case path == "/api/v1/tenants/{name}/schedule" && method == http.MethodPut:
		return map[string]any{"holidays": []map[string]any{{"date": "2026-12-25", "name": fmt.Sprint(w.next())}}}
	case strings.HasSuffix(path, "/scaling") && method == http.MethodPut:
		return map[string]any{"min": 1}
	case strings.HasSuffix(path, "/traffic-split"):
		return map[string]any{"percent": 10}
	case method != http.MethodPost:
		return nil
	case strings.HasSuffix(path, "/{id}/reach"):
		return map[string]any{"reason": "a test"}
	case strings.HasSuffix(path, "/disable"):
		return map[string]any{"note": "a test"}
	case strings.HasSuffix(path, "/transfer"):
		return map[string]any{"tenant": "vision", "to": w.personID(owner)}
	case strings.HasSuffix(path, "/volumes/{volume}/expand"):
		return map[string]any{"from": 10, "gib": 20}
	case path == "/api/v1/volumes/{name}/expand":
		return map[string]any{"from": 10, "gib": 20}
	case path == "/api/v1/volumes/{name}/snapshots":
		return map[string]any{"name": fmt.Sprintf("s-%d", w.next())}
	case path == "/api/v1/volumes":
		return map[string]any{"name": fmt.Sprintf("own-%d", w.next()), "tenant": "vision", "gib": 10}
	case path == "/api/v1/tenants/{name}/volumes":
		return map[string]any{"name": fmt.Sprintf("data-%d", w.next()), "cluster": "main", "class": "nfs", "gib": 10}
	case path == "/api/v1/tenants/{name}/datasets":
		return map[string]any{"name": fmt.Sprintf("set-%d", w.next()), "source": map[string]any{"claim": "archive-nfs"}}
	case path == "/api/v1/tenants/{name}/images":
		return w.imageBody(fmt.Sprintf("image-%d", w.next()))
	case path == "/api/v1/tenants":
		return map[string]any{"name": fmt.Sprintf("team-%d", w.next())}
	case path == "/api/v1/tenants/{name}/quota":
		return map[string]any{"size": "cpu", "amount": 2000, "reason": "a test"}
	case path == "/api/v1/tenants/{name}/members":
		m := w.membership(false)
		return map[string]any{"person": m.Get("person"), "role": m.Get("role")}
	case path == "/api/v1/delegations":
		return map[string]any{"person": w.person(owner).ID, "from": w.clock.now().AddDate(0, 0, 10),
			"until": w.clock.now().AddDate(0, 0, 11)}
	case strings.HasSuffix(path, "/approve"), strings.HasSuffix(path, "/reject"):
		return map[string]any{"seen": 1}
	case strings.HasSuffix(path, "/reassign"):
		return map[string]any{"person": w.personID(admin), "reason": "a test"}
	case path == "/api/v1/prices":
		return map[string]any{"kind": "cpu", "amount": "0.01"}
	case path == "/api/v1/differences/decide":
		return map[string]any{"cluster": "main", "decision": "adopt", "seen": "stale"}
	case strings.HasPrefix(path, "/api/v1/differences/"):
		return map[string]any{"seen": "1"}
	case strings.HasSuffix(path, "/refunds"):
		return map[string]any{"workload": "w-none", "from": w.clock.now(), "until": w.clock.now(), "note": "a test"}
	case path == "/api/v1/licenses/entitlements":
		return map[string]any{"pool": "nvidia-vws", "seats": 1000}
	case path == "/api/v1/licenses/import":
		return map[string]any{"csv": "feature,quantity\nnvidia-vws,7\n"}
	case strings.HasSuffix(path, "/quota-check"):
		return map[string]any{"quota": map[string]any{"cpu": 3}}
	case path == "/api/v1/rules/check":
		return map[string]any{"text": "- name: all\n  when: 'true'\n  outcome: allow\n"}
	case path == "/api/v1/requests", path == "/api/v1/requests/preview":
		return map[string]any{"kind": "notebook", "tenant": "vision", "size": "cpu", "image": "jupyterlab", "lease": "1h",
			"name": fmt.Sprintf("body-%d", w.next())}
	case path == "/api/v1/sizing":
		return map[string]any{"work": "train"}
	case strings.HasSuffix(path, "/resume"):
		return map[string]any{"reason": "a test"}
	case strings.HasSuffix(path, "/extend"):
		return map[string]any{"lease": "1h"}
	case strings.HasSuffix(path, "/replicas"):
		return map[string]any{"wanted": 1}
	case strings.HasSuffix(path, "/share"):
		return map[string]any{"shared": true}
	case strings.HasSuffix(path, "/grants"):
		return map[string]any{"to": "team"}
	case strings.HasSuffix(path, "/join"):
		return map[string]any{"invite": "none"}
	case strings.HasSuffix(path, "/revisions"), strings.HasSuffix(path, "/rollback"):
		return map[string]any{}
	case strings.HasSuffix(path, "/keys"):
		return map[string]any{"name": "a test"}
	case strings.HasSuffix(path, "/edit"):
		return map[string]any{"lease": "2h"}
	}
	return nil
}

// fill puts a thing of a member of the team into a route's path. Each call gets a thing of its own, so that no call is
// in another's way.
func (w *world) fill(path, subject, team string) string {
	id := func(value string) string {
		return strings.NewReplacer(":id", value, "{id}", value, ":name", value, "{name}", value).Replace(path)
	}
	switch {
	case strings.HasPrefix(path, "/account/secrets/:id"), strings.HasPrefix(path, "/api/v1/secrets/{id}"):
		return id(w.secretOf(secret.Owner{Person: identity.PersonID(w.personID(subject))}).ID)
	case strings.HasPrefix(path, "/team/:name/secrets/:id"):
		return strings.NewReplacer(":name", team, ":id", w.secretOf(secret.Owner{Tenant: team}).ID).Replace(path)
	case strings.Contains(path, "/clusters/:name"), strings.Contains(path, "/clusters/{name}"):
		return id(w.keptCluster(fmt.Sprintf("added-%d", w.next())))
	case strings.HasPrefix(path, "/embeds/:id"), strings.HasPrefix(path, "/api/v1/embeds/{id}"):
		return id(w.embedOf(w.personID(subject)).ID)
	case path == "/embeds/new":
		return path + "?panel=team&subject=" + team
	case path == embed.Path: // anybody may look at it who has the address
		address, err := w.embeds.Address(w.embedOf(w.personID(developer)))
		if err != nil {
			w.t.Fatal(err)
		}
		return strings.TrimPrefix(address, w.url)
	case strings.Contains(path, "/versions/"), strings.Contains(path, "/rules/"):
		return strings.NewReplacer(":version", "0", "{version}", "0").Replace(path)
	case strings.Contains(path, "person"):
		m := w.membership(true)
		return strings.NewReplacer(":name", team, ":person", m.Get("person"), ":role", m.Get("role"), "{name}", team,
			"{person}", m.Get("person"), "{role}", m.Get("role")).Replace(path)
	case strings.HasPrefix(path, "/team/:name/volumes/"), strings.HasPrefix(path, "/api/v1/tenants/{name}/volumes/"):
		name := w.teamVolume(team)
		confirm := ""
		if strings.HasPrefix(path, "/api/") && strings.HasSuffix(path, "/{volume}") { // what is deleted
			confirm = "?confirm=" + name
		}
		return strings.NewReplacer(":name", team, ":volume", name, "{name}", team, "{volume}", name).Replace(path) + confirm
	case strings.Contains(path, "/datasets/"):
		name := w.dataset(team)
		return strings.NewReplacer(":name", team, ":dataset", name, "{name}", team, "{dataset}", name).Replace(path)
	case strings.Contains(path, "/images/"):
		name := w.teamImage(team)
		return strings.NewReplacer(":name", team, ":image", name, "{name}", team, "{image}", name).Replace(path)
	case strings.HasPrefix(path, "/team/") && strings.Contains(path, "/tokens/"):
		return strings.NewReplacer(":name", team, ":id", w.tokenID(subject)).Replace(path)
	case strings.Contains(path, "/tenants/"), strings.HasPrefix(path, "/team/"), strings.Contains(path, "/budgets/"):
		return id(team)
	case strings.HasSuffix(path, "/see"):
		return id(w.personID(subject))
	case strings.Contains(path, "/people/"):
		// somebody of their own: what ends all tokens must not end those of the columns
		p, session, token := w.newcomer(team)
		return strings.NewReplacer(":id", p, "{id}", p, ":session", session, "{session}", session, ":token", token,
			"{token}", token, ":embed", w.embedOf(p).ID).Replace(path)
	case strings.HasPrefix(path, "/account/sessions/:id"):
		session, _, _ := strings.Cut(w.signedIn(subject).session(), ".")
		return id(session)
	case strings.Contains(path, "/workloads/"), strings.Contains(path, "/usage/advice/"):
		return id(string(w.running(subject, team).ID))
	case path == "/approvals/delegations", strings.HasSuffix(path, "/candidates"):
		return path
	case strings.Contains(path, "/quarantine/"):
		return strings.NewReplacer("{cluster}", "main", "{kind}", "node", "{name}", "n-none").Replace(path)
	case strings.Contains(path, "/differences/"):
		return strings.NewReplacer(":id", "d-none", "{id}", "d-none", ":decision", "adopt").Replace(path)
	case strings.Contains(path, "/entitlements/"):
		return id("l-none")
	case strings.Contains(path, "/delegations/"):
		return id(w.delegated(subject, other).ID)
	case strings.Contains(path, "/requests/"), strings.Contains(path, "/approvals/"):
		return id(string(w.pending(subject, team).ID))
	case strings.Contains(path, "/snapshots/"):
		s := w.snapshot(w.unusedVolume(subject, team), "before", workload.SnapshotState{})
		return strings.NewReplacer(":name", s.Volume, "{name}", s.Volume, ":snapshot", s.Name, "{snapshot}",
			s.Name).Replace(path)
	case strings.Contains(path, "/volumes/"), strings.Contains(path, "/storage/"):
		return id(w.unusedVolume(subject, team).Name)
	case strings.Contains(path, "/notifications/addresses/"):
		return id(w.address(subject))
	case strings.HasSuffix(path, "/retry"):
		return id(w.failed(subject))
	case strings.Contains(path, "/tokens/"):
		return id(w.tokenID(subject))
	case path == "/live":
		return "/live?page=home"
	case path == "/help/:document":
		return "/help/users"
	case path == "/api/docs/:operation":
		return "/api/docs/me"
	case path == "/gateway/authorize":
		return "/gateway/authorize?workload=" + w.running(subject, team).Name + "&return=/&state=" + gatewayState
	}
	return path
}

// newcomer is somebody else in a team, with a session and a token.
func (w *world) newcomer(team string) (person, session, token string) {
	w.t.Helper()
	now, credential := w.clock.now(), identity.NewCredential()
	subject := fmt.Sprintf("newcomer-%d", w.next())
	p := identity.Person{ID: identity.NewPersonID(w.provider.Issuer(), subject), Issuer: w.provider.Issuer(),
		Subject: subject, Name: "Nina Newcomer", Email: subject + "@example.org", Groups: []string{team + "-devs"},
		SeenAt: now}
	text, err := CreateToken(w.t.Context(), w.store, p, "test", time.Hour, now)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.CreateSession(w.t.Context(), identity.Session{ID: credential.ID, SecretHash: credential.Hash(),
		Person: p.ID, CreatedAt: now, SeenAt: now, EndsAt: now.Add(time.Hour)}); err != nil {
		w.t.Fatal(err)
	}
	token, _, _ = strings.Cut(strings.TrimPrefix(text, identity.TokenPrefix), ".")
	return string(p.ID), credential.ID, token
}

// keptCluster keeps a cluster as if it had answered once.
func (w *world) keptCluster(name string) string {
	w.t.Helper()
	if err := w.store.CreateCluster(w.t.Context(), cluster.Cluster{Name: name, Server: "https://127.0.0.1:1",
		Sealed: "x.x", AddedBy: w.person(admin).ID, AdderName: "Adam Admin", AddedAt: w.clock.now()}, 10_000,
		audit.Event{At: w.clock.now(), Kind: audit.ClusterAdded}); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// embedOf is an address of the usage of team vision, made by somebody.
func (w *world) embedOf(person string) embed.Embed {
	w.t.Helper()
	now := w.clock.now().Truncate(time.Second)
	e := embed.Embed{ID: fmt.Sprintf("e-%d", w.next()), Panel: embed.Team, Subject: "vision", Title: "Vision",
		Person: identity.PersonID(person), CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := w.store.CreateEmbed(w.t.Context(), e, 1000, audit.Event{At: now, Kind: audit.EmbedCreated}); err != nil {
		w.t.Fatal(err)
	}
	return e
}

// secretOf keeps a secret of a person or a team.
func (w *world) secretOf(o secret.Owner) secret.Secret {
	w.t.Helper()
	s := secret.Secret{Owner: o, ID: fmt.Sprintf("s-%d", w.next()), Kind: secret.NGC, Env: []string{"NGC_API_KEY",
		"NGC_CLI_API_KEY"}, Files: []string{"token"}, Sealed: "none.x", CreatedAt: w.clock.now()}
	s.Name = s.ID
	if err := w.store.CreateSecret(w.t.Context(), s, 1000, audit.Event{At: s.CreatedAt,
		Kind: audit.SecretCreated}); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// address is a webhook of somebody's own.
func (w *world) address(subject string) string {
	if _, err := w.notify.Enter(w.t.Context(), w.actorOf(subject), notify.Entry{Channel: notify.Webhook,
		URL: "https://hooks.example.org/x"}); err != nil {
		w.t.Fatal(err)
	}
	settings, err := w.notify.Settings(w.t.Context(), w.actorOf(subject))
	if err != nil || len(settings.Addresses) == 0 {
		w.t.Fatal(settings, err)
	}
	return settings.Addresses[0].ID
}

// failed is a message to somebody that did not get through.
func (w *world) failed(subject string) string {
	n := w.next()
	d := notify.Delivery{ID: newID("n-"), Event: int64(1_000_000 + n), Kind: notify.Decided,
		Recipient: string(w.person(subject).ID), Channel: notify.Mail, State: notify.GaveUp, Attempts: 1,
		NextAt: w.clock.now(), CreatedAt: w.clock.now(), UpdatedAt: w.clock.now()}
	if err := w.store.SaveDelivery(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
	return d.ID
}

// ask sends one call of a route.
func (w *world) ask(route, path string, b *browser, token string) answer {
	method, pattern, _ := strings.Cut(route, " ")
	if strings.HasPrefix(pattern, "/api/v1/") {
		return w.call(token, method, path, w.body(route))
	}
	if method == http.MethodGet {
		return b.get(path)
	}
	return b.post(path, w.form(route))
}

// rulesText is what the built-in rules say about every size that the tests ask for, in a text that nobody has saved
// yet.
func (w *world) rulesText() string {
	return fmt.Sprintf("- {name: whole-%d, when: request.gpus >= 1.0, outcome: approve}\n- {name: others, when: 'true', "+
		"outcome: allow}\n", w.next())
}

// rulesVersion is the newest version of the rules.
func (w *world) rulesVersion() int64 {
	r, _ := w.store.LatestRules(w.t.Context())
	return r.Version
}

// budgetVersion is that of a team's budget now, 0 while it has none.
func (w *world) budgetVersion(team string) int64 {
	b, _ := w.store.Budget(w.t.Context(), team)
	return b.Version
}

// personID is somebody who has signed in.
func (w *world) personID(subject string) string {
	w.signedIn(subject)
	return string(w.person(subject).ID)
}

func (w *world) tokenID(subject string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(w.token(subject), identity.TokenPrefix), ".")
	return name
}

// gatewayState is as the gateway draws it: 32 bytes.
var gatewayState = identity.NewCredential().Secret

type table struct {
	Who    []string         `yaml:"who,flow"`
	Routes map[string][]int `yaml:"routes"`
}

// unlimited lets a test ask as much as it likes.
func unlimited(c *config.Config) {
	c.RateLimits = limit.Rates{limit.Call: {PerMinute: -1}, limit.Preview: {PerMinute: -1},
		limit.BadToken: {PerMinute: -1},
		limit.SignIn:   {PerMinute: -1}, limit.Notice: {PerMinute: -1}}
}

// TestRightsMatrix asks every route as everybody for a thing of the developer of vision, and compares with a table that
// people have read (T-AUTHZ-1). A route without a row fails: it is one that nobody has thought about.
func TestRightsMatrix(t *testing.T) {
	w := newWorld(t, unlimited)
	got := map[string][]int{}
	tokens := map[string]string{}
	for _, subject := range slices.Concat(who[1:], besideWho) {
		tokens[subject] = w.token(subject)
	}
	for _, route := range w.routes() {
		_, pattern, _ := strings.Cut(route, " ")
		for _, subject := range slices.Concat(who, besideWho) {
			b := w.as(subject)
			path := w.fill(pattern, developer, "vision")
			got[route] = append(got[route], w.ask(route, path, b, tokens[subject]).status)
		}
	}
	for route, statuses := range got {
		checkBesides(t, route, statuses)
		got[route] = statuses[:len(who)]
	}
	if *update {
		writeTable(t, got)
	}
	var want table
	data, err := os.ReadFile("testdata/authz.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(want.Who, who) {
		t.Fatalf("the columns are %v", who)
	}
	for route, statuses := range got {
		row, ok := want.Routes[route]
		if !ok {
			t.Errorf("%s: nobody has said who may use it; add a row to testdata/authz.yaml: %v", route, statuses)
			continue
		}
		for i, subject := range who {
			if row[i] != statuses[i] {
				t.Errorf("%s as %s: want %d, got %d", route, subject, row[i], statuses[i])
			}
		}
	}
	for route := range want.Routes {
		if got[route] == nil {
			t.Errorf("%s: has a row and is no route", route)
		}
	}
}

// as is a browser of somebody: of nobody without a session, of one who was shut out with the one from before.
func (w *world) as(subject string) *browser {
	switch subject {
	case "nobody":
		return w.browser()
	case disabled:
		b := w.signedIn(subject)
		if p, err := w.store.Person(w.t.Context(), w.person(subject).ID); err != nil || !p.Disabled {
			w.disable(subject)
		}
		return b
	}
	return w.signedIn(subject)
}

func writeTable(t *testing.T, got map[string][]int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Who gets which status from each route, asked for a thing of the developer of team vision. See " +
		"TestRightsMatrix.\n# 303 for nobody leads to the sign-in page; elsewhere it leads on after something was done.\n")
	fmt.Fprintf(&b, "who: [%s]\nroutes:\n", strings.Join(who, ", "))
	var routes []string
	for route := range got {
		routes = append(routes, route)
	}
	slices.Sort(routes)
	for _, route := range routes {
		fmt.Fprintf(&b, "  %-52s %s\n", "'"+route+"':", strings.ReplaceAll(fmt.Sprint(got[route]), " ", ", "))
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/authz.yaml", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// varies is what differs between two answers by itself: ids, names and times of the one call.
var varies = regexp.MustCompile(
	`urn:gpu-portal:request:[0-9a-f]{16}|\b[0-9a-f]{16}\b|\b[wr]-[a-z2-7]{16}\b|(kept|nb)-other-\d+(-home)?|\d{2}:\d{2}(:\d{2})?`)

// TestForeignIsLikeMissing: what is another team's answers exactly as what does not exist, whoever asks, in status and
// body. It walks every route with an object in it.
func TestForeignIsLikeMissing(t *testing.T) {
	w := newWorld(t, unlimited)
	// Each is asked about a thing of a team that is not theirs. Approvers and those who see everything have no such team.
	strangers := map[string]struct{ subject, team string }{developer: {other, "speech"}, member: {other, "speech"},
		owner: {other, "speech"}, other: {developer, "vision"}, closed: {developer, "vision"},
		disabled: {developer, "vision"}, "nobody": {developer, "vision"}}
	for _, subject := range slices.Sorted(maps.Keys(strangers)) {
		of, token := strangers[subject], ""
		if subject != "nobody" {
			token = w.token(subject)
		}
		b := w.as(subject)
		for _, route := range w.routes() {
			_, pattern, _ := strings.Cut(route, " ")
			if pattern == "/help/:document" || pattern == "/api/docs/:operation" {
				continue // the documents are nobody's
			}
			if strings.ContainsAny(pattern, ":{") || pattern == "/gateway/authorize" {
				w.foreignIsLikeMissing(route, subject, token, b, w.fill(pattern, of.subject, of.team))
			}
			if route == "POST /signout" {
				b = w.as(subject)
			}
		}
	}
}

func (w *world) foreignIsLikeMissing(route, subject, token string, b *browser, foreign string) {
	w.t.Helper()
	_, pattern, _ := strings.Cut(route, " ")
	missing := strings.NewReplacer(":id", "w-aaaaaaaaaaaaaaaa", "{id}", "w-aaaaaaaaaaaaaaaa", ":name", "kept-other-0",
		"{name}", "kept-other-0", "{kind}", "node").Replace(pattern)
	if pattern == "/gateway/authorize" {
		missing = "/gateway/authorize?workload=nb-other-0&return=/&state=" + gatewayState
	}
	x, y := w.ask(route, foreign, b, token), w.ask(route, missing, b, token)
	if x.status != y.status || x.status < 300 && !strings.HasPrefix(pattern, "/approvals") ||
		x.status < 400 && x.status >= 300 && subject != "nobody" && subject != disabled &&
			!strings.HasPrefix(pattern, "/approvals") {
		w.t.Errorf("%s as %s: foreign %d, missing %d", route, subject, x.status, y.status)
	}
	if x, y := varies.ReplaceAllString(x.body, "?"), varies.ReplaceAllString(y.body, "?"); x != y {
		w.t.Errorf("%s as %s: foreign and missing differ:\n%s\n%s", route, subject, x, y)
	}
}

// TestEveryPublishedOperationHasRights: the table of rights is held against the document that clients are made from, so
// that neither has an operation that the other has not.
func TestEveryPublishedOperationHasRights(t *testing.T) {
	t.Parallel()
	var rights table
	data, err := os.ReadFile("testdata/authz.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &rights); err != nil {
		t.Fatal(err)
	}
	operations, _ := document(t)
	published := map[string]bool{}
	for _, op := range operations {
		published[op.route] = true
		if len(rights.Routes[op.route]) != len(who) {
			t.Errorf("%s: want a row with %d columns, got %d", op.route, len(who), len(rights.Routes[op.route]))
		}
	}
	for route := range rights.Routes {
		if _, path, _ := strings.Cut(route, " "); strings.HasPrefix(path, "/api/v1/") && !published[route] {
			t.Errorf("%s: has rights and is not published", route)
		}
	}
}

// TestOddPathsOpenNothing: another way to write a path never gets more than the plain one (T-AUTHZ-3).
func TestOddPathsOpenNothing(t *testing.T) {
	w := newWorld(t)
	token := w.token(auditor)
	odd := []func(string) string{
		func(p string) string { return p + "/" },
		func(p string) string { return "/" + p },
		func(p string) string { return strings.ToUpper(p) },
		func(p string) string { return "/healthz/.." + p },
		func(p string) string { return "/healthz/%2e%2e" + p },
		func(p string) string { return "/static/%2e%2e" + p },
		func(p string) string { return "/static/..%2f" + p },
		func(p string) string { return "/api/v1/../.." + p },
		func(p string) string { return p + ";x" },
		func(p string) string { return p + "%00" },
		func(p string) string { return p + "?x=/healthz" },
		func(p string) string { return p + "%3f/healthz" },
		func(p string) string { return p + "#/static/" },
		func(p string) string { return strings.Repeat("/x", 4000) + p },
	}
	for _, route := range w.routes() {
		method, pattern, _ := strings.Cut(route, " ")
		plain := w.call("", method, w.fillMissing(pattern), nil, "Accept", "text/html", "Sec-Fetch-Site", "same-origin")
		if plain.status == http.StatusOK { // public by its own entry
			continue
		}
		for i, change := range odd {
			path := change(w.fillMissing(pattern))
			for _, headers := range [][]string{{"Accept", "text/html"}, {"X-HTTP-Method-Override", "GET", "X-Original-URL",
				"/healthz", "X-Rewrite-URL", "/healthz"}} {
				got := w.call("", method, path, nil, append(headers, "Sec-Fetch-Site", "same-origin")...)
				if got.status < 300 || got.status >= 500 {
					t.Errorf("%s as number %d, nobody: %d", route, i, got.status)
				}
				if to := got.header.Get("Location"); to != "" && !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
					t.Errorf("%s as number %d leads to %q", route, i, to)
				}
			}
			if method == http.MethodPost || method == http.MethodDelete {
				if got := w.call(token, method, path, nil); got.status < 300 && pattern != "/signin" && pattern != "/signout" {
					t.Errorf("%s as number %d, auditor: %d", route, i, got.status)
				}
			}
		}
	}
}

func (w *world) fillMissing(path string) string {
	return strings.NewReplacer(":id", "w-aaaaaaaaaaaaaaaa", "{id}", "w-aaaaaaaaaaaaaaaa", ":name", "none", "{name}",
		"none").Replace(path)
}

// TestMethodOverrideIsIgnored: what a GET names stays a GET.
func TestMethodOverrideIsIgnored(t *testing.T) {
	w := newWorld(t)
	item, b := w.running(developer, "vision"), w.signedIn(developer)
	b.headers = map[string]string{"X-HTTP-Method-Override": "POST", "X-Method-Override": "DELETE", "X-HTTP-Method": "POST"}
	b.get("/workloads/" + string(item.ID) + "/delete?_method=POST")
	b.get("/workloads/" + string(item.ID) + "/stop")
	if now, err := w.store.Workload(t.Context(), item.ID); err != nil || now.Version != 1 && now.Version != item.Version+
		1 || now.Desired != item.Desired {
		t.Errorf("the workload is wanted %s, version %d, %v", now.Desired, now.Version, err)
	}
}
