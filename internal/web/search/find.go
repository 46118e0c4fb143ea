package search

import (
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/manual"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/search"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// source is one kind of result. Without a query only pages and actions are listed.
type source struct {
	kind   search.Kind
	find   func(k page.Call, q query, most int) ([]hit, error)
	listed bool // also without a query
	stored bool // from the database
}

func (w *Pages) sources() []source {
	return []source{{kind: search.Workload, find: w.workloads, stored: true},
		{kind: search.Request, find: w.requests, stored: true},
		{kind: search.Action, find: w.actions, listed: true}, {kind: search.Place, find: w.places, listed: true},
		{kind: search.Size, find: w.sizes}, {kind: search.Node, find: w.nodes}, {kind: search.Team, find: w.teams},
		{kind: search.Person, find: w.people, stored: true}, {kind: search.Document, find: w.documents}}
}

// find asks every source and ranks what they know.
func (w *Pages) find(k page.Call, q query, most int) ([]group, error) {
	var groups []group
	for _, s := range w.sources() {
		if len(q.words) == 0 && !s.listed || s.stored && len(q.words) > 0 && !q.stored() {
			continue
		}
		hits, err := s.find(k, q, most)
		if err != nil {
			return nil, err
		}
		groups = append(groups, group{s.kind, hits})
	}
	if len(q.words) == 0 {
		most = mostOnPage * 2 // every page: there is nothing to rank
	}
	return ranked(groups, most), nil
}

// matching appends what answers the query.
func matching(hits []hit, q query, m search.HitModel, also ...string) []hit {
	score := 0
	if len(q.words) > 0 {
		if score = q.score(m.Title, append(also, m.Detail)...); score == 0 {
			return hits
		}
	}
	return append(hits, hit{m, score})
}

// places are the pages of the reader's navigation. Their ids, which are English, are found in every language.
func (w *Pages) places(k page.Call, q query, _ int) ([]hit, error) {
	var hits []hit
	for _, p := range w.Places(k) {
		hits = matching(hits, q, search.HitModel{Kind: search.Place, ID: p.ID, Title: p.Label, Detail: p.Group,
			Icon: p.Icon, Href: p.Href}, p.ID)
	}
	return hits, nil
}

// candidates is among how many of the newest that match the best are looked for: the newest five need not hold the one
// whose name was typed.
const candidates = 50

// workloads are the reader's own and those that they may see, newest first.
func (w *Pages) workloads(k page.Call, q query, most int) ([]hit, error) {
	var hits []hit
	seen := map[workload.ID]bool{}
	for _, mine := range []bool{true, false} {
		items, _, err := w.Workloads.List(k.Ctx, k.Actor, mine, workload.Filter{Text: q.words, Limit: max(most, candidates)})
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if !seen[item.ID] {
				seen[item.ID] = true
				hits = append(hits, hit{workloadHit(k.Words, item), q.named(item.Name, item.OwnerName)})
			}
		}
	}
	return hits, nil
}

func workloadHit(say page.Words, item workload.Workload) search.HitModel {
	return search.HitModel{Kind: search.Workload, Title: item.Name, Icon: string(item.Kind),
		Href: page.WorkloadPath(item.ID), State: brief(blocks.StateModel(say, item)),
		Detail: say.SizeTitle(item.Size) + " · " + item.OwnerName}
}

// brief is a state without its reason, which a line has no room for.
func brief(s ui.StateModel) *ui.StateModel {
	return &ui.StateModel{Kind: s.Kind, Word: s.Word, Icon: s.Icon, Test: "state"}
}

// requestsSince bounds how many requests are looked at: they are never deleted.
const requestsSince = 90 * 24 * time.Hour

// requests are the reader's own and those that they may see, newest first.
func (w *Pages) requests(k page.Call, q query, most int) ([]hit, error) {
	var hits []hit
	seen := map[request.ID]bool{}
	for _, scope := range []request.Scope{request.ScopeMine, request.ScopeInbox, request.ScopeVisible} {
		items, _, err := w.Requests.List(k.Ctx, k.Actor, scope, request.Filter{Text: q.words,
			Limit: max(most, candidates),
			Since: k.Words.Now.Add(-requestsSince)})
		if err != nil {
			return nil, err
		}
		for _, r := range items {
			if !seen[r.ID] {
				seen[r.ID] = true
				hits = append(hits, hit{requestHit(k.Words, r), q.named(r.Spec.Name, r.AskerName)})
			}
		}
	}
	return hits, nil
}

func requestHit(say page.Words, r request.Request) search.HitModel {
	title := r.Spec.Name
	if title == "" { // a request for quota
		title = say.S("requests.quota_name", "Size", say.SizeTitle(r.Spec.Size))
	}
	return search.HitModel{Kind: search.Request, Title: title, Href: page.RequestPath(r.ID),
		State:  brief(blocks.RequestState(say, r, false)),
		Detail: say.SizeTitle(r.Spec.Size) + " · " + r.AskerName}
}

// teams are one's own, and for some everybody's.
func (w *Pages) teams(k page.Call, q query, _ int) ([]hit, error) {
	var hits []hit
	for _, t := range w.Site().Directory.Tenants {
		if identity.Can(k.Actor, identity.ReadTenant, identity.Resource{Tenant: t.Name}) {
			hits = matching(hits, q, search.HitModel{Kind: search.Team, Title: t.Display(), Href: page.TeamPath(t.Name)},
				t.Name, k.Words.S("search.team"))
		}
	}
	return hits, nil
}

// people are found by those who may see everybody.
func (w *Pages) people(k page.Call, q query, most int) ([]hit, error) {
	if !identity.Can(k.Actor, identity.ReadPeople, identity.Resource{}) {
		return nil, nil
	}
	found, err := w.Tenants.FindPeople(k.Ctx, k.Actor, q.text, max(most, candidates))
	var hits []hit
	for _, p := range found {
		hits = matching(hits, q, search.HitModel{Kind: search.Person, Title: p.Name, Detail: p.Email,
			Href: page.PersonPath(p.ID)})
	}
	return hits, err
}

// nodes are those of the snapshots that the pages of the fleet show.
func (w *Pages) nodes(k page.Call, q query, _ int) ([]hit, error) {
	if !identity.Can(k.Actor, identity.ReadInventory, identity.Resource{}) {
		return nil, nil
	}
	var hits []hit
	for _, cluster := range w.Site().Clusters {
		snapshot, _ := w.Snapshots.Snapshot(k.Ctx, cluster)
		lower := w.lower.Of(snapshot, nil, func() lowerNodes { return lowerNodesOf(snapshot) })
		if !lower.mayHave(q.words) {
			continue
		}
		for i, n := range lower.nodes {
			if score := q.scoreLower(n.name, n.model); score > 0 {
				n := &snapshot.Nodes[i]
				hits = append(hits, hit{search.HitModel{Kind: search.Node, Title: n.Name, Href: page.NodePath(n.Name),
					Detail: strings.Trim(n.Model+" · "+cluster, " ·")}, score})
			}
		}
	}
	return hits, nil
}

// lowerNode is what a node is found by, in lower case.
type lowerNode struct{ name, model string }

// lowerNodes are all nodes of a cluster. Their names and models also stand in one text, which tells quickly that a word
// is in none of them.
type lowerNodes struct {
	nodes []lowerNode
	text  string
}

func (l lowerNodes) mayHave(words []string) bool {
	for _, word := range words {
		if !strings.Contains(l.text, word) {
			return false
		}
	}
	return true
}

func lowerNodesOf(s inventory.Snapshot) lowerNodes {
	lower := lowerNodes{nodes: make([]lowerNode, len(s.Nodes))}
	var text strings.Builder
	for i := range s.Nodes {
		n := lowerNode{strings.ToLower(s.Nodes[i].Name), strings.ToLower(s.Nodes[i].Model)}
		lower.nodes[i] = n
		text.WriteString(n.name + "\n" + n.model + "\n")
	}
	lower.text = text.String()
	return lower
}

// sizes are those on offer to a team for which the reader may start something; for those who read the catalog, all.
func (w *Pages) sizes(k page.Call, q query, _ int) ([]hit, error) {
	if identity.Can(k.Actor, identity.ReadOffer, identity.Resource{}) {
		return sizeHits(k, q, w.Site().Catalog.Sizes, func(s catalog.Size) string {
			return "/admin/sizes#size-" + page.Slug(s.Name)
		}), nil
	}
	teams := w.Startable(k)
	offered := slices.DeleteFunc(slices.Clone(w.Site().Catalog.Sizes), func(s catalog.Size) bool {
		return s.Hidden || !slices.ContainsFunc(teams, func(t tenant.Tenant) bool { return s.OfferedTo(t.Name) })
	})
	return sizeHits(k, q, offered, func(s catalog.Size) string { return page.StartSizePath(s.Name) }), nil
}

func sizeHits(k page.Call, q query, sizes []catalog.Size, path func(catalog.Size) string) []hit {
	var hits []hit
	for _, s := range sizes {
		hits = matching(hits, q, search.HitModel{Kind: search.Size, Title: k.Words.SizeTitle(s), Href: path(s),
			Detail: s.Accelerator.Model}, s.Name, string(s.Technology),
			k.Words.S("search.size"))
	}
	return hits
}

// documents are the texts that the reader looks for, and their sections.
func (w *Pages) documents(k page.Call, q query, _ int) ([]hit, error) {
	var hits []hit
	for _, d := range page.Documents(k) {
		hits = matching(hits, q, search.HitModel{Kind: search.Document, Title: d.Title, Href: manual.Path(d.Name)},
			d.Name)
		for _, s := range d.Sections {
			if score := q.score(s.Title); score > 0 {
				hits = append(hits, hit{search.HitModel{Kind: search.Document, Title: s.Title, Detail: d.Title,
					Href: manual.Path(d.Name) + "#" + s.ID}, score})
			}
		}
	}
	return hits, nil
}

// action is something that one can begin from anywhere.
type action struct {
	id, path string
	post     []ui.HiddenModel // nil: path is a page
	may      bool
}

// actions are those that the reader may do.
func (w *Pages) actions(k page.Call, q query, _ int) ([]hit, error) {
	var hits []hit
	for _, a := range w.actionsOf(k) {
		if !a.may {
			continue
		}
		m := search.HitModel{Kind: search.Action, ID: a.id, Title: k.Words.S("search.do_" + a.id), Href: a.path}
		if a.post != nil {
			m.Href, m.Action, m.Hidden = "", a.path, a.post
		}
		hits = matching(hits, q, m, a.id, k.Words.S("search.also_"+a.id))
	}
	return hits, nil
}

func (w *Pages) actionsOf(k page.Call) []action {
	can := func(a identity.Action) bool { return identity.Can(k.Actor, a, identity.Resource{}) }
	teams := w.Startable(k)
	self := identity.Resource{Owner: k.Actor.Person.ID}
	return []action{
		{id: "notebook", path: "/start?kind=" + string(catalog.Notebook), may: len(teams) > 0},
		{id: "endpoint", path: "/start?kind=" + string(catalog.Endpoint), may: len(teams) > 0},
		{id: "job", path: "/start?kind=" + string(catalog.Job), may: len(teams) > 0},
		{id: "sizing", path: "/start/size", may: len(teams) > 0},
		{id: "quota", path: page.TeamPath(page.ChooseTeam(k, teams)) + "/quota", may: len(teams) > 0},
		{id: "token", path: "/account", may: identity.Can(k.Actor, identity.ManageTokens, self)},
		{id: "delegate", path: page.DelegationsPath, may: w.Approvals.Decides(k.Actor)},
		{id: "rules", path: "/admin/rules/edit", may: can(identity.ChangeRules)},
		{id: "catalog", path: "/admin/sizes/edit", may: can(identity.ChangeOffer)},
		{id: "team", path: page.TenantsPath + "/edit", may: can(identity.ChangeTenants)},
		{id: "quarantine", path: page.FleetHealthPath, may: can(identity.QuarantineHardware)},
		{id: "dark", path: "/settings/theme", post: []ui.HiddenModel{{Name: "theme", Value: "dark"}},
			may: true},
		{id: "light", path: "/settings/theme", post: []ui.HiddenModel{{Name: "theme", Value: "light"}},
			may: true},
		{id: "signout", path: "/signout", post: []ui.HiddenModel{}, may: true},
	}
}
