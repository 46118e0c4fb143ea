package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// workloadAt is the id in the address of a workload's page.
func (p *person) workloadAt() string {
	p.t.Helper()
	u, err := url.Parse(p.page.URL())
	p.do(err)
	id, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/workloads/"), "/")
	if !strings.HasPrefix(id, "w-") {
		p.t.Fatalf("want the page of a workload, got %s", p.page.URL())
	}
	return id
}

// TestADeveloperGetsASmallNotebookAtOnce: from signing in to a page of the notebook server, with the mouse alone.
func TestADeveloperGetsASmallNotebookAtOnce(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.click("[data-test=start]")
	p.sees("[data-test=summary]")
	p.do(p.at("input[name=kind][value=notebook]").Check()) // whoever started an endpoint last begins with one
	p.picks("mig-1g.10gb")
	p.reads("[data-test=summary]", "Starts now")
	p.reads("[data-test=summary]", "shares-and-slices")
	p.click("[data-test=details] > summary")
	p.reads("[data-test=summary]", "nvidia.com/mig-1g.10gb")
	p.accessible()
	p.shot("start")
	p.advanced()
	p.fill("[name=name]", "My first notebook")
	p.click("[data-test=send]")
	p.sees("[data-test=workload-head]")
	id := p.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	p.reads("h1", "my-first-notebook")
	p.reads("[data-test=workload-head] [data-test=state]", "Running") // without reloading
	p.sees("[data-test=engine]")
	p.reads("[data-test=engine]", "%")
	p.reads("[data-test=memory]", "GiB")
	p.reads("[data-test=power]", "W")
	p.reads("[data-test=temperature]", "°C")
	p.accessible()

	notebook := p.popup(func() error { return p.at("[data-test=open]").First().Click() })
	p.do(p.assert.Locator(notebook.Locator("body")).ToContainText("my-first-notebook"))
	if u, _ := url.Parse(notebook.URL()); u.Hostname() != "my-first-notebook.localhost" {
		t.Errorf("want the notebook on its own host, got %s", notebook.URL())
	}

	p.stops()
	p.reads("[data-test=workload-head] [data-test=state]", "Stopped")
	p.click("[data-test=resume]")
	p.reads("[data-test=workload-head] [data-test=state]", "Running")
	p.open("/")
	p.sees("[data-test=workload-row][data-name=my-first-notebook]")
}

// stops ends what runs. Where a notebook has said that it has no kernel, nothing is lost and nothing is asked.
func (p *person) stops() {
	p.t.Helper()
	p.click("[data-test=stop]")
	confirm, gone := p.at("[data-test=stop-confirm]"), p.at("[data-test=resume]")
	p.do(p.assert.Locator(confirm.Or(gone).First()).ToBeVisible())
	if ask, err := confirm.IsVisible(); err == nil && ask {
		p.do(confirm.Click())
	}
}

// popup waits for the page that an action opens.
func (p *person) popup(action func() error) playwright.Page {
	p.t.Helper()
	page, err := p.context.ExpectPage(action)
	p.do(err)
	p.do(page.WaitForLoadState(playwright.PageWaitForLoadStateOptions{State: playwright.LoadStateDomcontentloaded}))
	return page
}

// TestAWholeGPUWaitsForAnApprover: two people at once; the asker sees the decision without reloading.
func TestAWholeGPUWaitsForAnApprover(t *testing.T) {
	dana := signIn(t, "dana", look{})
	dana.open("/start?kind=notebook")
	dana.picks("h100")
	dana.reads("[data-test=summary]", "approv")
	dana.expecting("422")
	dana.click("[data-test=send]") // without a reason: the form keeps what was chosen and says what is missing
	dana.sees("[data-test=form-errors]")
	dana.do(dana.assert.Locator(dana.at("[data-test=size-h100]")).ToBeChecked())
	dana.fill("[name=reason]", "Fine-tuning for the paper")
	dana.click("[data-test=send]")
	dana.sees("[data-test=request-verdict]")
	dana.accessible()
	request := dana.page.URL()[strings.LastIndex(dana.page.URL(), "/")+1:]

	ada := signIn(t, "ada", look{})
	ada.open("/approvals/" + request)
	for _, text := range []string{"Dana Develop", "Fine-tuning for the paper", "€", "Cluster capacity"} {
		ada.reads("main", text)
	}
	ada.fill("[data-test=note]", "until Friday")
	ada.click("[data-test=approve]")
	ada.sees("[data-test=undo-notice]")

	dana.reads("main", "until Friday") // without reloading
	dana.click("[data-test=to-workload]")
	dana.sees("[data-test=workload-head]")
	id := dana.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	dana.reads("[data-test=workload-head] [data-test=state]", "Running")
	dana.reads("main", "h100")
}

// TestRejectedWithANote: the asker reads why.
func TestRejectedWithANote(t *testing.T) {
	r := as(t, "dana").start("h100", nil)
	dana, ada := signIn(t, "dana", look{}), signIn(t, "ada", look{})
	dana.open("/requests/" + str(r["id"]))
	ada.open("/approvals/" + str(r["id"]))
	ada.fill("[data-test=note]", "a slice will do")
	// pressed for as long as a person does: a button that moves meanwhile, as the note loses the focus, gets no click
	ada.do(ada.at("[data-test=reject]").Click(playwright.LocatorClickOptions{Delay: playwright.Float(150)}))
	dana.reads("main", "a slice will do")
	if got := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/requests/"+str(r["id"]), nil); got["state"] != "rejected" {
		t.Errorf("want it rejected, got %v", got["state"])
	}
}

// TestTheLeaseEndsInTheBrowser: the warning, the stop and the way on are seen without reloading.
func TestTheLeaseEndsInTheBrowser(t *testing.T) {
	w := as(t, "dana").running("cpu", map[string]any{"lease": "20s", "name": "short-lived"})
	p := signIn(t, "dana", look{})
	p.open("/workloads/" + str(w["id"]))
	p.reads("[data-test=workload-head] [data-test=state]", "Stopped")
	p.reads("main", "lease")
	p.accessible()
	p.click("[data-test=extend-4h]")
	p.sees("[data-test=flash]")
	p.click("[data-test=resume]")
	p.reads("[data-test=workload-head] [data-test=state]", "Running")
	p.click("[data-test=extend]")
	p.fill("[data-test=extend-lease]", "1h")
	p.click("[data-test=extend-confirm]")
	eventually(t, "the lease is five hours longer", time.Minute, func() bool {
		longer := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/workloads/"+str(w["id"]), nil)
		return until(t, longer).Sub(until(t, w)) >= 5*time.Hour
	})
}

// TestItWorksWithoutScripts: start, stop and delete with JavaScript switched off.
func TestItWorksWithoutScripts(t *testing.T) {
	p := signIn(t, "dana", look{NoScript: true})
	p.open("/start?kind=notebook")
	p.do(p.at("[data-test=size-cpu]").Check())
	p.advanced()
	p.fill("[name=name]", "no-scripts")
	p.click("[data-test=send]")
	p.sees("[data-test=workload-head]")
	id := p.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	as(t, "dana").reaches(id, "running")
	p.open("/workloads/" + id)
	p.reads("[data-test=workload-head] [data-test=state]", "Running")
	p.stops()
	as(t, "dana").reaches(id, "stopped")
	p.open("/workloads/" + id + "/delete")
	p.click("[data-test=delete-confirm]")
	as(t, "dana").reaches(id, "ended")
}

// TestOnlyThoseWhoMayGetIn: the owner, then colleagues it is shared with, and nobody else; signing out closes the way.
func TestOnlyThoseWhoMayGetIn(t *testing.T) {
	w := as(t, "dana").running("cpu", map[string]any{"name": "private-notes"})
	address := str(w["url"]) + "/debug/echo"
	devi := signIn(t, "devi", look{})
	devi.expecting("403") // she sees it, and may not open it
	devi.expecting("404")
	devi.open(address)
	if strings.Contains(devi.text("body"), "private-notes-0") {
		t.Fatal("want a colleague to be kept out while it is not shared")
	}
	as(t, "dana").ok(http.StatusOK, http.MethodPost, "/workloads/"+str(w["id"])+"/share", map[string]any{"shared": true})
	devi.open(address)
	devi.reads("body", "X-Forwarded-Host")
	echo := strings.ToLower(devi.text("body"))
	for _, secret := range []string{"__host-gpu", portal.Tokens["devi"]} {
		if strings.Contains(echo, strings.ToLower(secret)) {
			t.Errorf("want nothing of the portal's to arrive at the notebook, found %s", secret)
		}
	}
	nora := signIn(t, "nora", look{})
	nora.expecting("404")
	nora.open(address)
	if strings.Contains(nora.text("body"), "X-Forwarded-Host") {
		t.Error("want another team to be kept out, shared or not")
	}
	devi.open("/")
	devi.click("[data-test=user-menu]")
	devi.click("[data-test=sign-out]")
	devi.sees("[data-test=sign-in]")
	eventually(t, "the way in is closed after signing out", time.Minute, func() bool {
		devi.open(address)
		return !strings.Contains(devi.text("body"), "X-Forwarded-Host")
	})
}

func (p *person) text(selector string) string {
	p.t.Helper()
	text, err := p.at(selector).First().InnerText()
	p.do(err)
	return text
}
