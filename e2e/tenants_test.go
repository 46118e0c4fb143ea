package e2e

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// starts sends the start page for a slice in a team.
func (p *person) starts(team, name string) {
	p.t.Helper()
	p.open("/start?kind=notebook&tenant=" + team + "&size=mig-1g.10gb")
	p.advanced()
	p.fill("[name=name]", name)
	p.click("[data-test=send]")
}

// startsIn starts a slice and waits until it runs.
func (p *person) startsIn(team, name string) {
	p.t.Helper()
	p.starts(team, name)
	p.sees("[data-test=workload-head]")
	id := p.workloadAt()
	p.t.Cleanup(func() { as(p.t, p.who).remove(id) })
	p.reads("[data-test=workload-head] [data-test=state]", "Running")
}

// slicesOf is how many slices the API server lets a namespace hold.
func slicesOf(t *testing.T, namespace string) int64 {
	t.Helper()
	list, err := kube(t).CoreV1().ResourceQuotas(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list.Items {
		if hard, named := q.Spec.Hard["requests.nvidia.com/mig-1g.10gb"]; named {
			return hard.Value()
		}
	}
	return -1
}

// TestATeamFromItsFirstDayToItsLast: an administrator makes a team and adds somebody; she starts what the quota lets
// her, asks for more and gets it, in the cluster too; when the team is switched off she reads why nothing starts.
func TestATeamFromItsFirstDayToItsLast(t *testing.T) {
	// a team is never deleted, and the test may run again
	team := "robotics-" + strconv.FormatInt(time.Now().UnixMilli()%1e8, 36)
	namespace := spaces("e2e") + team
	pat, nora := signIn(t, "pat", look{}), signIn(t, "nora", look{})
	pat.open("/")
	pat.click("[data-test=side-platform]")
	pat.click("[data-test=nav-tenants]")
	pat.click("[data-test=create]")
	pat.fill("[data-test=name]", team)
	pat.fill("[data-test=title]", "Robotics")
	pat.fill("[data-test=namespace]", namespace)
	pat.fill("[data-test='limit-mig-1g.10gb']", "1")
	pat.click("[data-test=save]")
	pat.sees("[data-test=flash]")

	pat.open("/team/" + team)
	pat.click("[data-test=add-open]")
	pat.fill("[data-test=search]", "nora")
	pat.do(pat.at("[data-test=search]").First().Press("Enter"))
	pat.sees("[data-test=found]")
	pat.accessible()
	pat.click("[data-test=found] [data-test=add]")
	pat.reads("[data-test=member]", "Nora")

	nora.startsIn(team, "first-steps")
	nora.open("/start?kind=notebook&tenant=" + team + "&size=mig-1g.10gb")
	row := "[data-test=size-tile][data-size='mig-1g.10gb']"
	nora.reads(row, "uses 1 of 1")
	nora.accessible()
	nora.shot("full")
	nora.click(row + " [data-test=more-quota]")
	nora.fill("[data-test=reason]", "Two arms to train at once.")
	nora.accessible()
	nora.click("[data-test=send]")
	nora.reads("[data-test=request-verdict]", "more-quota")
	nora.accessible()
	request := nora.page.URL()[strings.LastIndex(nora.page.URL(), "/")+1:]

	pat.open("/approvals/" + request)
	for _, text := range []string{"Nora Speech", "Two arms to train at once.", "more quota: 2", "1 now, 2 afterwards"} {
		pat.reads("main", text)
	}
	pat.do(pat.assert.Locator(pat.at("main")).Not().ToContainText("€")) // it costs nothing by itself
	pat.accessible()
	pat.shot("more-quota")
	pat.click("[data-test=approve]")
	pat.sees("[data-test=undo-notice]")
	nora.reads("[data-test=request-verdict]", "approved it") // without reloading
	eventually(t, "the quota in the cluster follows", 3*time.Minute, func() bool { return slicesOf(t, namespace) == 2 })
	nora.startsIn(team, "second-arm")

	pat.open("/admin/tenants/edit?name=" + team)
	pat.do(pat.at("[data-test=disabled]").Check())
	pat.fill("[data-test=note]", "The project is over.")
	pat.click("[data-test=save]")
	pat.sees("[data-test=flash]")
	nora.expecting("422")
	nora.starts(team, "too-late")
	nora.reads("[data-test=form-errors]", "disabled and cannot start")
	if a := as(t, "nora").call(http.MethodPost, "/requests", map[string]any{"kind": "notebook", "tenant": team,
		"size": "mig-1g.10gb", "image": "jupyterlab", "lease": "1h"}); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("over the API: want 422, got %d %s", a.Status, a.Raw)
	}
}

// TestSeeingThePortalAsAPerson: an administrator looks at the pages of somebody else, can look at what a start would
// be, changes nothing, and comes back.
func TestSeeingThePortalAsAPerson(t *testing.T) {
	pat := signIn(t, "pat", look{})
	pat.open("/")
	pat.click("[data-test=side-platform]")
	pat.click("[data-test=nav-people]")
	pat.fill("[data-test=search]", "dana@")
	pat.do(pat.at("[data-test=search]").First().Press("Enter"))
	pat.do(pat.assert.Locator(pat.at("[data-test=person]")).ToHaveCount(1))
	pat.click("[data-test=person] [data-test=more] > summary")
	pat.click("[data-test=see-as]")
	pat.reads("[data-test=impersonation]", "as Dana Develop")
	pat.accessible()

	pat.open("/start?kind=notebook&tenant=vision&size=mig-1g.10gb")
	pat.do(pat.at("[data-test=size-cpu]").Check())
	pat.reads("[data-test=summary]", "CPU") // the summary follows the choice, though nothing may be sent
	pat.do(pat.at("[data-test=kind-endpoint]").Check())
	pat.do(pat.assert.Locator(pat.at("[data-test=image]")).Not().ToContainText("Jupyter"))
	pat.noFaults()
	before := len(items(as(t, "dana").ok(http.StatusOK, http.MethodGet, "/requests", nil)))
	pat.expecting("403")
	pat.click("[data-test=send]")
	pat.reads("main", "read-only")
	if after := len(items(as(t, "dana").ok(http.StatusOK, http.MethodGet, "/requests", nil))); after != before {
		t.Errorf("want nothing to be asked for in Dana's place, there were %d requests and are %d", before, after)
	}

	pat.open("/")
	pat.click("[data-test=impersonation-end]")
	pat.do(pat.assert.Locator(pat.at("[data-test=impersonation]")).ToHaveCount(0))
	pat.open("/admin/people")
	pat.sees("[data-test=person]")
}

// TestARuleIsTriedBeforeItIsSaved: the editor lists the requests that a tighter rule would have decided otherwise,
// nothing changes until it is saved, and then the next one waits.
func TestARuleIsTriedBeforeItIsSaved(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("cpu", map[string]any{"name": "was-free", "lease": "3h"})
	before := str(as(t, "pat").ok(http.StatusOK, http.MethodGet, "/rules", nil)["text"])
	t.Cleanup(func() {
		now := as(t, "pat").ok(http.StatusOK, http.MethodGet, "/rules", nil)
		as(t, "pat").ok(http.StatusOK, http.MethodPut, "/rules", map[string]any{"text": before, "base": now["version"],
			"note": t.Name()})
	})

	pat := signIn(t, "pat", look{})
	pat.open("/admin/rules")
	pat.click("[data-test=edit]")
	pat.fill("[data-test=text]",
		`- {name: ask-for-three-hours, when: 'request.size == "cpu" && request.hours == 3.0', outcome: approve, by: approver}`+"\n"+before)
	pat.click("[data-test=check]")
	pat.sees("[data-test=differ]")
	pat.reads("[data-test=difference]:has-text('Dana Develop')", "ask-for-three-hours")
	pat.reads("[data-test=affected]", "1 ")
	pat.accessible()
	pat.shot("preview")
	dana.running("cpu", map[string]any{"name": "still-free", "lease": "3h"}) // nothing has changed yet

	pat.open("/admin/rules")
	pat.click("[data-test=add]") // the same rule by rows
	pat.fill("[data-test=name]", "ask-for-three-hours")
	row := func(i int, fact, op, value string) {
		n := strconv.Itoa(i)
		for name, v := range map[string]string{"fact-": fact, "op-": op} {
			_, err := pat.at("[data-test=" + name + n + "]").SelectOption(
				playwright.SelectOptionValues{Values: playwright.StringSlice(v)})
			pat.do(err)
		}
		pat.fill("[data-test=value-"+n+"]", value)
	}
	row(0, "request.size", "==", "cpu")
	pat.click("[data-test=more]")
	row(1, "request.hours", "==", "3")
	pat.accessible()
	pat.click("[data-test=check]")
	pat.sees("[data-test=differ]")
	pat.reads("[data-test=difference]:has-text('Dana Develop')", "ask-for-three-hours")
	pat.accessible()
	pat.shot("rows")
	pat.fill("[data-test=note]", "Three hours are long.")
	pat.click("[data-test=save]")
	pat.sees("[data-test=flash]")
	pat.reads("[data-test=rule]", "ask-for-three-hours")
	r := dana.start("cpu", map[string]any{"lease": "3h"})
	t.Cleanup(func() { dana.call(http.MethodPost, "/requests/"+str(r["id"])+"/withdraw", nil) })
	if r["state"] != "pending" || !strings.Contains(str(r["decision"]), "ask-for-three-hours") {
		t.Errorf("want the next one to wait by the new rule, got %v %v", r["state"], r["decision"])
	}
	if got := dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+str(w["id"]), nil)["state"]; got != "running" {
		t.Errorf("want what runs to go on, got %v", got)
	}
}
