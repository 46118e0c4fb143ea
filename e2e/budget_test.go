package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
)

// budgets is what an administrator makes of a team's budget on its page.
func (p *person) budgets(amount, atLimit string) {
	p.t.Helper()
	p.open("/admin/budgets/vision")
	p.fill("[data-test=amount]", amount)
	_, err := p.at("[data-test=at-limit]").SelectOption(
		playwright.SelectOptionValues{Values: playwright.StringSlice(atLimit)})
	p.do(err)
	p.click("[data-test=save]")
	p.reads("[data-test=flash]", "applies from now on")
}

// addsUp reads the transactions on the page: each moves an amount between left, held, spent and refunded, or changes
// what is left alone, which is the budget itself; they come to the balance, and the balance to the budget of so many
// cents.
func (p *person) addsUp(budget int) {
	p.t.Helper()
	read, err := p.page.Evaluate(`() => {
		const cents = text => { const digits = text.replace(/[^0-9]/g, ''); return digits === '' ? 0 : (/[-−]/.test(text) ? -1 : 1) * Number(digits) }
		const amounts = row => [...row.querySelectorAll('td')].slice(-4).map(cell => cents(cell.innerText))
		const rows = test => [...document.querySelectorAll('[data-test=' + test + ']')].map(amounts)
		return JSON.stringify({lines: rows('book-line'), balance: rows('book-sum')[0]})
	}`)
	p.do(err)
	type columns [4]int // left, held, spent, refunded
	var book struct {
		Lines   []columns
		Balance columns
	}
	text, _ := read.(string)
	if err := json.Unmarshal([]byte(text), &book); err != nil || len(book.Lines) == 0 {
		p.t.Fatalf("want transactions of four amounts and their balance, got %v (%v)", read, err)
	}
	var added columns
	for _, line := range book.Lines {
		sum := line[0] + line[1] + line[2] + line[3]
		if isBudget := line[1] == 0 && line[2] == 0 && line[3] == 0; sum != 0 && !isBudget {
			p.t.Errorf("the transaction %v comes to %d, not to nothing", line, sum)
		}
		for i := range added {
			added[i] += line[i]
		}
	}
	if total := added[0] + added[1] + added[2] + added[3]; added != book.Balance || total != budget {
		p.t.Errorf("want transactions that come to the balance and to a budget of %d, got %v (%d) and the balance %v of %v",
			budget, added, total, book.Balance, book.Lines)
	}
}

// TestABudgetThatIsUsedUp: an administrator gives a team a small budget, and a developer's start is refused with the
// reason; with the other choice it waits for an approver, who sees the budget, agrees, and everybody is warned. The
// book adds up all the while.
func TestABudgetThatIsUsedUp(t *testing.T) {
	admin, dana := signIn(t, "pat", look{}), as(t, "dana")
	begun := time.Now()
	t.Cleanup(func() {
		version := as(t, "pat").ok(http.StatusOK, http.MethodGet, "/budgets/vision", nil)["version"]
		as(t, "pat").call(http.MethodDelete, "/budgets/vision?version="+str(version), nil)
	})
	admin.budgets("0.01", "stop")
	admin.reads("[data-test=book]", "Monthly budget")
	admin.accessible()

	p := signIn(t, "dana", look{})
	p.open("/start?size=mig-1g.10gb&image=jupyterlab")
	p.reads("[data-test=summary]", "left of this month's budget")
	p.shot("refused")
	ask := map[string]any{"kind": "notebook", "tenant": "vision", "size": "mig-1g.10gb", "image": "jupyterlab",
		"lease": "8h", "reason": "a test", "name": "too-dear"}
	if answer := dana.call(http.MethodPost, "/requests", ask); answer.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(string(answer.Raw), "budget") {
		t.Errorf("want the start refused for the budget, got %d %s", answer.Status, answer.Raw)
	}

	admin.budgets("0.02", "approval")
	before := heldOf(t, dana.ok(http.StatusOK, http.MethodGet, "/budgets/vision", nil)) // by other stories
	asked := dana.ok(http.StatusCreated, http.MethodPost, "/requests", ask)
	id := str(asked["id"])
	if asked["state"] != "pending" {
		t.Fatalf("want it to wait for an approver, got %v", asked)
	}
	p.open("/requests/" + id)
	p.reads("main", "budget")
	p.shot("waits")

	ada := signIn(t, "ada", look{})
	ada.open("/approvals/" + id)
	ada.sees("[data-test=budget-after]")
	ada.accessible()
	ada.shot("decides")
	ada.click("[data-test=approve]")
	done := dana.until("/requests/"+id, "approved", 3*time.Minute,
		func(b map[string]any) bool { return b["state"] == "approved" })
	t.Cleanup(func() { dana.remove(str(done["workload"])) })

	dana.until("/budgets/vision", "overdrawn", time.Minute,
		func(b map[string]any) bool { n, _ := b["used"].(float64); return n > 100 })
	admin.open("/admin/budgets/vision")
	admin.reads("[data-test=book]", "too-dear")
	admin.addsUp(2)
	admin.accessible()
	admin.shot("book")
	p.resumes(dana, ada, str(done["workload"]), before)
	admin.open("/audit?kind=budget.warned&from=" + begun.UTC().Format(time.DateOnly))
	admin.reads("main", "100 %")
}

// TestSeatsAndStorageTakeOfTheBudget: a license seat that costs more than is left stops a start, on the page and over
// the API, with what it would take; at a lower price it starts, and its seat and its storage are held with it, each
// where the book shows it, and given back when they are gone.
func TestSeatsAndStorageTakeOfTheBudget(t *testing.T) {
	pat, dana := as(t, "pat"), as(t, "dana")
	price := func(body map[string]any) (end func()) {
		added := pat.ok(http.StatusOK, http.MethodPost, "/prices", body)
		return func() { pat.call(http.MethodPost, "/prices/"+str(added["id"])+"/end", nil) }
	}
	hours := hoursOfThisMonth(t, 8)
	// 100 an hour
	endSeat := price(map[string]any{"kind": "seat", "subject": "nvidia-vws", "tenant": "vision", "amount": "73000"})
	t.Cleanup(endSeat)
	// 10 GiB until the end of the month are at most a quarter of the budget, on its first day too
	t.Cleanup(price(map[string]any{"kind": "storage", "tenant": "vision", "amount": "5"}))
	first := pat.ok(http.StatusOK, http.MethodPut, "/budgets/vision", map[string]any{"unit": "EUR", "amount": "200",
		"atLimit": "stop"})
	used := first["balance"].(map[string]any)                                         // by other stories
	limit := math.Ceil(25*hours + amount(t, used["held"]) + amount(t, used["spent"])) // a quarter of the dear seat
	pat.ok(http.StatusOK, http.MethodPut, "/budgets/vision", map[string]any{"unit": "EUR",
		"amount": strconv.FormatFloat(limit, 'f', 0, 64), "atLimit": "stop", "version": first["version"]})
	t.Cleanup(func() {
		version := pat.ok(http.StatusOK, http.MethodGet, "/budgets/vision", nil)["version"]
		pat.call(http.MethodDelete, "/budgets/vision?version="+str(version), nil)
	})

	ask := map[string]any{"kind": "notebook", "tenant": "vision", "size": "vgpu-12q", "image": "jupyterlab", "lease": "8h",
		"storage": "10Gi", "reason": "a test", "name": "dear-seat"}
	dear := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", ask)
	takes := dear["budget"].(map[string]any)
	if seat := dear["seatPrice"].(map[string]any); seat["amount"] != "800.00" || takes["fits"] != false ||
		amount(t, takes["cost"]) <= 99*hours {
		t.Errorf("want a seat for 800.00 that the budget has not left, got %v and %v", seat, takes)
	}
	if answer := dana.call(http.MethodPost, "/requests", ask); answer.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(string(answer.Raw), "budget") {
		t.Errorf("want the start refused for the budget, got %d %s", answer.Status, answer.Raw)
	}
	p := signIn(t, "dana", look{})
	p.open("/start?size=vgpu-12q&image=jupyterlab")
	p.reads("[data-test=summary]", "left of this month's budget")
	p.reads("[data-test=summary]", "License seats")
	p.accessible()
	p.shot("dear-seat")

	endSeat()
	// 1 an hour
	t.Cleanup(price(map[string]any{"kind": "seat", "subject": "nvidia-vws", "tenant": "vision", "amount": "730"}))
	fair := dana.ok(http.StatusOK, http.MethodPost, "/requests/preview", ask)["budget"].(map[string]any)
	r := dana.ok(http.StatusCreated, http.MethodPost, "/requests", ask)
	if r["state"] != "approved" {
		t.Fatalf("want it granted, got %v", r)
	}
	id := str(r["workload"])
	t.Cleanup(func() { dana.call(http.MethodDelete, "/workloads/"+id+"?storage=delete", nil) })
	const volume = "volume:vision/dear-seat-home"
	held := dana.heldByClaim("held")
	storage := held[volume]
	// a minute goes by, and two lines round
	if sum := held[id] + storage; storage <= 0 || held[id] <= 0.99*hours || math.Abs(sum-amount(t, fair["cost"])) > 0.011 {
		t.Errorf("want what was told held, %v, for the workload and its storage, got %v", fair["cost"], held)
	}
	admin := signIn(t, "pat", look{})
	admin.open("/admin/budgets/vision")
	admin.reads("[data-test=book]", "Storage dear-seat-home")
	admin.addsUp(int(limit) * 100)
	admin.accessible()
	admin.shot("seat-and-storage")

	dana.reaches(id, "running")
	p.open("/workloads/" + id)
	p.reads("[data-test=workload-lease], #workload-lease", "1.00/h for license seats")
	p.accessible()
	p.shot("running")
	dana.remove(id)
	// others of the team may hold of it, so its own two claims are looked at
	dana.until("/budgets/vision", "given back", 3*time.Minute, func(map[string]any) bool {
		held := dana.heldByClaim("held", "settled", "released", "refunded")
		return math.Abs(held[id]) < 0.005 && math.Abs(held[volume]) < 0.005
	})
	admin.open("/admin/budgets/vision")
	admin.addsUp(int(limit) * 100)
}

// hoursOfThisMonth is how many of the next hours fall in this month, whose budget holds only those. What is left of a
// month that is about to end is waited out, so that a story does not see two.
func hoursOfThisMonth(t *testing.T, hours float64) float64 {
	t.Helper()
	now := time.Now().UTC()
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	if left := next.Sub(now); left < 10*time.Minute {
		t.Logf("waits %s for the next month", left.Round(time.Second))
		time.Sleep(left + time.Second)
		return hours
	}
	return min(hours, next.Sub(now).Hours())
}

// heldByClaim adds up what lines of these kinds hold of the budget of vision, by workload or volume.
func (c client) heldByClaim(kinds ...string) map[string]float64 {
	c.t.Helper()
	held := map[string]float64{}
	for _, line := range items(c.ok(http.StatusOK, http.MethodGet, "/budgets/vision/lines?limit=500", nil)) {
		if slices.Contains(kinds, str(line["kind"])) {
			held[str(line["workload"])] += amount(c.t, line["amounts"].(map[string]any)["held"])
		}
	}
	return held
}

// amount is what a number in an answer says.
func amount(t testing.TB, text any) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(str(text), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// resumes stops what runs and wants it back: the budget has not enough left, so the page asks an approver, and what was
// agreed to goes on. Before is what the budget held for others.
func (p *person) resumes(dana client, ada *person, id string, before float64) {
	p.t.Helper()
	dana.reaches(id, "running")
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/stop", nil)
	dana.reaches(id, "stopped")
	// until then what was agreed to is still there for it
	dana.until("/budgets/vision", "released", 3*time.Minute,
		func(b map[string]any) bool { return heldOf(p.t, b) <= before })
	p.open("/workloads/" + id)
	p.click("[data-test=resume]")
	p.reads("[data-test=ask]", "an approver has to agree")
	p.accessible()
	p.shot("resume")
	p.fill("[data-test=resume-reason]", "The last epoch, for the paper.")
	p.click("[data-test=resume-confirm]")
	p.reads("[data-test=request-verdict]", "an approver has to agree")
	p.shot("resume-waits")
	ada.open("/approvals")
	ada.click("[data-test=inbox-row] a")
	ada.reads("main", "resumed for")
	ada.shot("resume-decides")
	ada.click("[data-test=approve]")
	dana.reaches(id, "running")
}

// heldOf is what a budget holds for what runs.
func heldOf(t *testing.T, budget map[string]any) float64 {
	t.Helper()
	balance, _ := budget["balance"].(map[string]any)
	held, err := strconv.ParseFloat(str(balance["held"]), 64)
	if err != nil {
		t.Fatalf("want what is held, got %v", budget)
	}
	return held
}

// TestBudgetsInEveryLook takes pictures of a team whose budget is half used, as everybody has their browser.
func TestBudgetsInEveryLook(t *testing.T) {
	pat, dana := as(t, "pat"), as(t, "dana")
	t.Cleanup(func() {
		version := pat.ok(http.StatusOK, http.MethodGet, "/budgets/vision", nil)["version"]
		pat.call(http.MethodDelete, "/budgets/vision?version="+str(version), nil)
	})
	first := pat.ok(http.StatusOK, http.MethodPut, "/budgets/vision", map[string]any{"unit": "EUR", "amount": "12",
		"atLimit": "approval"})
	used := first["balance"].(map[string]any) // by other stories
	pat.ok(http.StatusOK, http.MethodPut, "/budgets/vision", map[string]any{"unit": "EUR",
		"amount":  fmt.Sprintf("%.2f", 12+amount(t, used["held"])+amount(t, used["spent"])),
		"atLimit": "approval", "version": first["version"]})
	w := dana.running("mig-1g.10gb", map[string]any{"name": "vision-training"})
	t.Cleanup(func() { dana.remove(str(w["id"])) })
	for name, l := range map[string]look{"light": {}, "dark": {Dark: true}, "narrow": {Width: 360},
		"german": {Language: "de-DE"}} {
		t.Run(name, func(t *testing.T) {
			p := signIn(t, "pat", l)
			for _, path := range []string{"/admin/budgets", "/admin/budgets/vision", "/team/vision"} {
				p.open(path)
				p.sees("h1")
				p.fitsTheWindow()
				p.shot(name + strings.ReplaceAll(path, "/", "_"))
			}
		})
	}
}
