package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/playwright-community/playwright-go"
)

// withRule puts a rule before all others while a test runs.
func withRule(t *testing.T, rule string) {
	t.Helper()
	pat := as(t, "pat")
	before := pat.ok(http.StatusOK, http.MethodGet, "/rules", nil)
	save := func(text string) {
		now := pat.ok(http.StatusOK, http.MethodGet, "/rules", nil)
		pat.ok(http.StatusOK, http.MethodPut, "/rules", map[string]any{"text": text, "base": now["version"],
			"note": t.Name()})
	}
	save(rule + "\n" + str(before["text"]))
	t.Cleanup(func() { save(str(before["text"])) })
}

// asked is a request of Dana's that waits.
func asked(t *testing.T, lease string) string {
	t.Helper()
	id := str(as(t, "dana").start("h100", map[string]any{"lease": lease})["id"])
	t.Cleanup(func() { as(t, "dana").call(http.MethodPost, "/requests/"+id+"/withdraw", nil) })
	return id
}

// becomes waits until a decision that could be undone has taken effect.
func becomes(t *testing.T, id, state string) map[string]any {
	t.Helper()
	return as(t, "dana").until("/requests/"+id, state, 3*time.Minute,
		func(r map[string]any) bool { return r["state"] == state })
}

// TestTwoStepsAndLessThanWasAsked: the owner of the team, then an approver, who grants a slice for an hour. The asker
// sees each step without reloading.
func TestTwoStepsAndLessThanWasAsked(t *testing.T) {
	withRule(t,
		`- {name: two-steps, when: 'request.size == "h100" && request.hours == 5.0', outcome: approve, steps: [{from: [owner]}, {from: [approver]}]}`)
	id := asked(t, "5h")
	dana, otto, ada := signIn(t, "dana", look{}), signIn(t, "otto", look{}), signIn(t, "ada", look{})
	dana.open("/requests/" + id)
	dana.reads("[data-test=request-verdict]", "two-steps")
	ada.open("/approvals/" + id)
	ada.reads("[data-test=why-not]", "not your turn")

	otto.open("/approvals/" + id)
	otto.accessible()
	otto.fill("[data-test=note]", "ours")
	otto.click("[data-test=approve]")
	otto.reads("[data-test=undo-notice]", "Approved")
	dana.reads("[data-test=approval-steps]", "ours") // without reloading

	ada.open("/approvals/" + id)
	ada.click("[data-test=less] summary")
	_, err := ada.at("[data-test=less-size]").SelectOption(playwright.SelectOptionValues{Values: &[]string{"mig-1g.10gb"}})
	ada.do(err)
	ada.fill("[data-test=less-lease]", "1h")
	ada.accessible()
	ada.shot("less")
	ada.click("[data-test=approve]")
	ada.sees("[data-test=undo-notice]")
	dana.reads("[data-test=request-verdict]", "approved it with changes")
	dana.accessible()
	dana.click("[data-test=to-workload]")
	dana.sees("[data-test=workload-head]")
	work := dana.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(work) })
	if w := as(t, "dana").reaches(work, "running"); w["size"] != "mig-1g.10gb" {
		t.Errorf("want what was approved, got %v", w["size"])
	}
}

// TestARequestChangesWhileItIsRead: the approver hears of it on the open page, and an answer to the one before decides
// nothing.
func TestARequestChangesWhileItIsRead(t *testing.T) {
	id := asked(t, "8h")
	dana, ada := signIn(t, "dana", look{}), signIn(t, "ada", look{})
	ada.open("/approvals/" + id)
	ada.sees("[data-test=approve]")
	dana.open("/requests/" + id)
	dana.click("[data-test=edit]")
	dana.fill("[data-test=edit-lease]", "6h")
	dana.accessible()
	dana.click("[data-test=edit-save]")
	dana.reads("[data-test=flash]", "Changed")

	ada.reads("[data-test=stale]", "has changed") // without reloading
	ada.expecting("409")
	ada.fill("[data-test=note]", "fine")
	ada.click("[data-test=approve]")
	ada.reads("[data-test=form-errors]", "has changed")
	if r := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/requests/"+id, nil); r["state"] != "pending" ||
		r["lease"] != "6h" {
		t.Errorf("want it to wait with what was changed, got %v %v", r["state"], r["lease"])
	}
	ada.click("[data-test=reject]") // of what is shown now
	ada.sees("[data-test=undo-notice]")
	dana.reads("[data-test=request-verdict]", "rejected it")
}

// TestSeveralAtOnceWithoutScripts: two are ticked and turned down with one note; each has its own outcome.
func TestSeveralAtOnceWithoutScripts(t *testing.T) {
	first, second := asked(t, "7h"), asked(t, "7h")
	ada := signIn(t, "ada", look{NoScript: true})
	ada.open("/approvals")
	for _, id := range []string{first, second} {
		ada.do(ada.at("[data-test=tick][value^='" + id + "@']").Check())
	}
	ada.fill("[data-test=bulk-note]", "not this week")
	ada.shot("bulk")
	ada.click("[data-test=bulk-reject]")
	ada.reads("[data-test=outcomes]", "Rejected")
	for _, id := range []string{first, second} {
		if r := becomes(t, id, "rejected"); !strings.Contains(str(r["decision"]), "not this week") {
			t.Errorf("%s: want it turned down with the note, got %v", id, r["decision"])
		}
	}
}

// TestTheInboxByKeyboard: j and k move, x ticks, and on a narrow dark screen nothing is out of reach.
func TestTheInboxByKeyboard(t *testing.T) {
	asked(t, "7h")
	asked(t, "7h")
	ada := signIn(t, "ada", look{Dark: true, Width: 360})
	ada.open("/approvals")
	ada.sees("[data-test=inbox-row]")
	ada.do(ada.page.Keyboard().Press("x"))
	ada.do(ada.assert.Locator(ada.at("[data-test=tick]:checked")).ToHaveCount(0)) // no row has the focus yet
	ada.presses("j")
	ada.sees("[data-test=inbox-row][aria-current=true]:focus") // the next page is there: it keeps no tick of this one
	ada.presses("x")
	ada.do(ada.assert.Locator(ada.at("[data-test=tick]:checked")).ToHaveCount(1))
	ada.accessible()
	ada.shot("narrow")
	ada.click("[data-test=tick-all]")
	ada.do(ada.assert.Locator(ada.at("[data-test=tick]:not(:checked)")).ToHaveCount(0))
}

// TestAKeyWhileAPageOpens: j opens the next request; x, pressed before that page is there, once ticked a row of the
// page that went. What decides does not wait for a page that nobody has seen.
func TestAKeyWhileAPageOpens(t *testing.T) {
	first, second := asked(t, "7h"), asked(t, "7h")
	ada := signIn(t, "ada", look{})
	ada.open("/approvals/" + first)
	arrive := make(chan struct{})
	ada.do(ada.page.Route("**/approvals/"+second, func(r playwright.Route) {
		go func() {
			<-arrive
			_ = r.Continue()
		}()
	}))
	_, err := ada.at("[data-test=inbox-row]:has(a[href='/approvals/"+first+"'])").Evaluate(
		"row => { row.tabIndex = -1; row.focus() }", nil)
	ada.do(err)
	asks, err := ada.page.ExpectRequest("**/approvals/"+second, func() error { return ada.page.Keyboard().Press("j") },
		playwright.PageExpectRequestOptions{Timeout: playwright.Float(patience)})
	ada.do(err)
	if !asks.IsNavigationRequest() {
		t.Fatalf("want the page itself, got %s", asks.URL())
	}
	ada.do(ada.page.Keyboard().Press("x"))
	ada.do(ada.page.Keyboard().Press("r"))
	close(arrive)
	ada.sees("[data-test=inbox-row][aria-current=true]:focus [data-test=tick]:checked")
	ada.do(ada.assert.Locator(ada.at("[data-test=tick]:checked")).ToHaveCount(1))
	for _, id := range []string{first, second} {
		if r := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/requests/"+id, nil); r["state"] != "pending" {
			t.Errorf("%s was decided by a key that was pressed before it was seen: %v", id, r["state"])
		}
	}
}

// presses sends a key to whatever has the focus, once the scripts of the page listen: after a key that leads to another
// page, too.
func (p *person) presses(key string) {
	p.t.Helper()
	p.do(p.page.WaitForLoadState(playwright.PageWaitForLoadStateOptions{State: playwright.LoadStateDomcontentloaded}))
	p.do(p.page.Keyboard().Press(key))
}

// TestKeysDecideTheOpenRequest: j once moved the focus only, and a then approved the request that stood beside the
// list, which was another one than the one in focus.
func TestKeysDecideTheOpenRequest(t *testing.T) {
	first, second := asked(t, "7h"), asked(t, "7h")
	ada := signIn(t, "ada", look{})
	ada.open("/approvals/" + first)
	row := func(id string) string { return "[data-test=inbox-row]:has(a[href='/approvals/" + id + "'])" }
	_, err := ada.at(row(second)).First().Evaluate("row => { row.tabIndex = -1; row.focus(); }", nil)
	ada.do(err)
	ada.presses("r") // the request in focus is not the open one
	ada.presses("k")
	ada.presses("j")
	ada.do(ada.page.WaitForURL("**/approvals/" + second))
	ada.sees(row(second) + "[aria-current=true]:focus")
	for _, id := range []string{first, second} {
		if r := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/requests/"+id, nil); r["state"] != "pending" {
			t.Fatalf("%s was decided by a key that was meant for another: %v", id, r["state"])
		}
	}
	ada.presses("r")
	ada.sees("[data-test=undo-notice]")
	becomes(t, second, "rejected")
	if r := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/requests/"+first, nil); r["state"] != "pending" {
		t.Errorf("want the other request as it was, got %v", r["state"])
	}
}

// TestADelegationDecides: Ada is away, Devi decides in her place until she ends it.
func TestADelegationDecides(t *testing.T) {
	first, second := asked(t, "7h"), asked(t, "7h")
	devi := signIn(t, "devi", look{}) // known from now on
	ada, dana := signIn(t, "ada", look{}), signIn(t, "dana", look{})
	ada.open("/approvals")
	ada.click("[data-test=tab-delegations]")
	ada.fill("[data-test=delegation-find]", "devi")
	ada.click("[data-test=delegation-go]")
	ada.sees("[data-test=delegation-form]")
	ada.accessible()
	ada.shot("delegate")
	ada.click("[data-test=delegation-create]")
	ada.sees("[data-test=delegation-mine] [data-test=delegation-end]")
	t.Cleanup(func() {
		for _, p := range items(as(t, "ada").ok(http.StatusOK, http.MethodGet, "/delegations", nil)) {
			as(t, "ada").call(http.MethodDelete, "/delegations/"+str(p["id"]), nil)
		}
	})
	dana.open("/requests/" + first)
	devi.open("/approvals/" + first)
	devi.fill("[data-test=note]", "while Ada is away")
	devi.click("[data-test=reject]")
	devi.sees("[data-test=undo-notice]")
	dana.reads("main", "while Ada is away")
	dana.reads("main", "as delegate of")

	devi.open("/approvals/" + second)
	devi.sees("[data-test=approve]")
	devi.expecting("404")
	ada.click("[data-test=delegation-end]")
	ada.sees("[data-test=flash]")
	devi.do(devi.assert.Locator(devi.at("[data-test=approve]")).ToHaveCount(0)) // the open page loses what it showed
	yes := map[string]any{"seen": 1}
	if a := as(t, "devi").call(http.MethodPost, "/requests/"+second+"/approve", yes); a.Status != http.StatusForbidden {
		t.Errorf("it is over: want 403, got %d %s", a.Status, a.Raw)
	}
}

// TestARequestIsGivenToAnotherApprover: Ada gives it to Otto, whose word counts by the same rule, takes it back, and
// gives it again. Otto decides, and Dana reads along.
func TestARequestIsGivenToAnotherApprover(t *testing.T) {
	withRule(t,
		`- {name: either, when: 'request.size == "h100" && request.hours == 3.0', outcome: approve, steps: [{from: [approver, owner]}]}`)
	otto := signIn(t, "otto", look{}) // known from now on
	id := asked(t, "3h")
	dana, ada := signIn(t, "dana", look{}), signIn(t, "ada", look{Width: 360, Dark: true})
	dana.open("/requests/" + id)
	ada.open("/approvals/" + id)
	ada.click("[data-test=reassign]")
	ada.do(ada.at("[data-test=reassign-form]").GetByLabel("Otto").Check())
	ada.accessible()
	ada.shot("reassign")
	ada.fill("[data-test=reassign-why]", "Your budget.")
	ada.click("[data-test=reassign-go]")
	ada.reads("[data-test=flash]", "Reassigned")
	ada.reads("[data-test=why-not]", "You reassigned this request to Otto")
	ada.accessible()
	ada.shot("given-away")
	dana.reads("[data-test=approval-steps]", "Your budget.") // without reloading

	otto.open("/approvals/" + id)
	otto.reads("[data-test=given]", "asks you to decide this")
	otto.reads("[data-test=given]", "Your budget.")
	otto.accessible()
	otto.shot("given")
	yes := as(t, "ada").answer(id, "")
	if a := as(t, "ada").call(http.MethodPost, "/requests/"+id+"/approve", yes); a.Status != http.StatusConflict {
		t.Errorf("who gave it away does not decide: want 409, got %d %s", a.Status, a.Raw)
	}
	ada.click("[data-test=reclaim]")
	ada.sees("[data-test=approve]")
	var receiver string
	for _, p := range items(as(t, "ada").ok(http.StatusOK, http.MethodGet, "/requests/"+id+"/assignees", nil)) {
		if strings.HasPrefix(str(p["name"]), "Otto") {
			receiver = str(p["id"])
		}
		if strings.HasPrefix(str(p["name"]), "Dana") {
			t.Error("nobody gives a request to its asker")
		}
	}
	as(t, "ada").ok(http.StatusOK, http.MethodPost, "/requests/"+id+"/reassign", map[string]any{"person": receiver,
		"reason": "Yours after all."})
	otto.open("/approvals/" + id)
	otto.reads("[data-test=given]", "Yours after all.")
	otto.click("[data-test=reject]")
	otto.sees("[data-test=undo-notice]")
	dana.reads("[data-test=request-verdict]", "Otto")
	german := signIn(t, "ada", look{Language: "de"})
	german.open("/approvals/" + asked(t, "3h") + "/reassign")
	german.sees("[data-test=reassign-form]")
	german.shot("reassign-de")
}

// TestADecisionIsUndoneByKeyboard: Ada approves the wrong one and undoes it with u, and Dana sees both without
// reloading. Then she approves it for good. The portal is one of its own, for the usual ten seconds are fewer than what
// a busy machine takes for the steps between.
func TestADecisionIsUndoneByKeyboard(t *testing.T) {
	shared := portal
	portal = ownPortal(t, "undo", func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) { c["approvals"] = map[string]any{"undo": "45s"} }
	})
	t.Cleanup(func() { portal = shared })
	id, _ := asked(t, "7h"), asked(t, "7h")
	dana, ada := signIn(t, "dana", look{}), signIn(t, "ada", look{Width: 1366})
	dana.open("/requests/" + id)
	dana.reads("[data-test=request-verdict]", "Waiting")
	ada.open("/approvals/" + id)
	ada.fill("[data-test=note]", "too fast")
	ada.click("[data-test=approve]")
	ada.reads("[data-test=undo-notice]", "Dana Develop")
	ada.do(ada.assert.Locator(ada.at("[data-test=inbox-row] a[href='/approvals/" + id + "']")).ToHaveCount(0))
	ada.presses("u") // wherever the focus is
	ada.reads("[data-test=flash]", "Undone")
	ada.sees("[data-test=approve]")
	ada.do(ada.assert.Locator(ada.at("[data-test=undo-notice]")).ToHaveCount(0))
	dana.reads("[data-test=request-verdict]", "Waiting")
	if r := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/requests/"+id, nil); r["state"] != "pending" ||
		r["workload"] != nil && r["workload"] != "" {
		t.Fatalf("want nothing to have come of it, got %v", r)
	}

	ada.click("[data-test=approve]")
	ada.sees("[data-test=undo-notice]")
	ada.presses("?")
	ada.reads("[data-test=keys-page]", "Undo")
	ada.accessible()
	ada.shot("undo")
	ada.presses("Escape")
	dana.reads("[data-test=request-verdict]", "unless undone") // without reloading
	done := becomes(t, id, "approved")
	t.Cleanup(func() { as(t, "dana").remove(str(done["workload"])) })
	ada.do(ada.assert.Locator(ada.at("[data-test=undo-notice]")).ToHaveCount(0)) // without reloading
	if a := as(t, "ada").call(http.MethodPost, "/requests/"+id+"/undo", nil); a.Status != http.StatusConflict {
		t.Errorf("too late: want 409, got %d %s", a.Status, a.Raw)
	}
}

// TestListsOfRequestsAreFilteredAndPaged: an approver pages through what waits and finds one, also without scripts;
// what rules decided is one click away.
func TestListsOfRequestsAreFilteredAndPaged(t *testing.T) {
	for range 27 {
		asked(t, "6h")
	}
	needle := str(as(t, "dana").start("h100", map[string]any{"name": "needle", "lease": "6h"})["id"])
	t.Cleanup(func() { as(t, "dana").call(http.MethodPost, "/requests/"+needle+"/withdraw", nil) })
	as(t, "dana").remove(str(as(t, "dana").running("cpu", nil)["id"]))
	ada := signIn(t, "ada", look{NoScript: true, Width: 1366})
	ada.open("/requests?scope=all")
	ada.do(ada.assert.Locator(ada.at("[data-test=request-row]")).ToHaveCount(25))
	ada.shot("first")
	ada.click("a[rel=next]")
	ada.sees("[data-test=request-row]")
	ada.click("a[rel=prev]")
	ada.do(ada.assert.Locator(ada.at("[data-test=request-row]")).ToHaveCount(25))
	ada.click("[data-test=show-rules]")
	ada.reads("[data-test=requests]", "Auto-approved by rule")
	ada.fill("[data-test=filter-text]", "needle")
	ada.click("[data-test=requests] .gp-filter__buttons button")
	ada.do(ada.assert.Locator(ada.at("[data-test=request-row]")).ToHaveCount(1))
	ada.fill("[data-test=filter-text]", "no such thing")
	ada.click("[data-test=requests] .gp-filter__buttons button")
	ada.reads("[data-test=empty]", "No requests match")
	ada.shot("nothing")
	ada.click("[data-test=clear-filter]")
	ada.do(ada.assert.Locator(ada.at("[data-test=request-row]")).ToHaveCount(25))

	ada = signIn(t, "ada", look{Width: 1366, Dark: true})
	ada.open("/approvals")
	ada.do(ada.assert.Locator(ada.at("[data-test=inbox-row]")).ToHaveCount(25))
	ada.fill("[data-test=filter-text]", "needle")
	ada.do(ada.at("[data-test=filter-text]").Press("Enter"))
	ada.do(ada.assert.Locator(ada.at("[data-test=inbox-row]")).ToHaveCount(1))
	ada.accessible()
	ada.shot("inbox")
	ada.click("[data-test=reject]")
	ada.reads("[data-test=undo-notice]", "Rejected")
	ada.reads("[data-test=empty]", "No requests match") // the filter stays
	becomes(t, needle, "rejected")

	// a choice is asked for as it is made
	ada.open("/requests?scope=all&by=all")
	ada.reads("[data-test=requests]", "Auto-approved by rule")
	ada.selects("[data-test=filter-by]", "not-rule")
	ada.do(ada.assert.Locator(ada.at("[data-test=requests]")).Not().ToContainText("Auto-approved by rule"))
	ada.do(ada.assert.Locator(ada.at("[data-test=filter-by]")).ToBeFocused())
}
