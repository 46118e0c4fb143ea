package app

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// seatsOf is the first pool as the API tells it.
func (w *world) seatsOf(token string) map[string]any {
	w.t.Helper()
	items, _ := w.call(token, http.MethodGet, "/api/v1/licenses", nil).json(w.t)["items"].([]any)
	if len(items) != 1 {
		w.t.Fatalf("want one pool, got %v", items)
	}
	return items[0].(map[string]any)
}

func TestLicensesOverTheAPI(t *testing.T) {
	w := newWorld(t)
	token := w.token(admin)
	if p := w.seatsOf(token); p["pool"] != "nvidia-vws" || p["total"] != 5.0 || p["free"] != 5.0 || p["known"] != true ||
		p["source"] != "configured" {
		t.Errorf("want the five seats of the settings, got %v", p)
	}
	entered := w.call(token, http.MethodPost, "/api/v1/licenses/entitlements", map[string]any{"pool": "nvidia-vws",
		"seats": 9, "until": "2099-12-31", "reference": "PO-1"})
	id, _ := entered.json(t)["id"].(string)
	if entered.status != http.StatusCreated || id == "" || entered.json(t)["until"] != "2100-01-01T00:00:00Z" {
		t.Fatalf("want it entered until the end of its last day, got %d %s", entered.status, entered.body)
	}
	if p := w.seatsOf(token); p["total"] != 9.0 || p["source"] != "manual" {
		t.Errorf("what is entered does not stand above the settings: %v", p)
	}
	for name, c := range map[string]struct {
		body  map[string]any
		field string
	}{
		"none":  {map[string]any{"pool": "nvidia-vws", "seats": 0}, "seats"},
		"fewer": {map[string]any{"pool": "nvidia-vws", "seats": -4}, "seats"},
		"twice": {map[string]any{"pool": "nvidia-vws", "seats": 9, "from": "2099-01-01", "reference": "PO-1"},
			"reference"},
		"another pool": {map[string]any{"pool": "x", "seats": 1}, "pool"},
		"no date":      {map[string]any{"pool": "nvidia-vws", "seats": 1, "from": "03/04/2027"}, "from"},
		"ends too soon": {map[string]any{"pool": "nvidia-vws", "seats": 1, "from": "2027-02-01", "until": "2027-01-01"},
			"until"},
	} {
		if a := w.call(token, http.MethodPost, "/api/v1/licenses/entitlements",
			c.body); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `"name":"`+c.field+`"`) {
			t.Errorf("%s: want the field %s, got %d %s", name, c.field, a.status, a.body)
		}
	}
	if a := w.call(token, http.MethodDelete, "/api/v1/licenses/entitlements/"+id, nil); a.status != http.StatusOK ||
		w.seatsOf(token)["total"] != 5.0 {
		t.Errorf("want the settings to count again, got %d %s", a.status, a.body)
	}
}

func TestAFileOverTheAPI(t *testing.T) {
	w := newWorld(t)
	token := w.token(admin)
	send := func(csv string, keep bool) answer {
		return w.call(token, http.MethodPost, "/api/v1/licenses/import", map[string]any{"csv": csv, "keep": keep})
	}
	bad := "\ufefffeature;quantity;colour\nNVIDIA RTX Virtual Workstation;4;red\nnvidia-vws;-1;\n"
	if a := send(bad, false); a.status != http.StatusOK || !strings.Contains(a.body, `"line":3`) ||
		!strings.Contains(a.body, `"colour"`) || a.json(t)["kept"] != false {
		t.Errorf("want to hear of the third line and the column that is not read, got %d %s", a.status, a.body)
	}
	if a := send(bad, true); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Line 3") ||
		w.seatsOf(token)["source"] != "configured" {
		t.Errorf("a file with a problem is kept in part: %d %s", a.status, a.body)
	}
	if a := send(bad, false).json(t); a["added"] != 1.0 || a["refused"] != 1.0 || a["changed"] != 0.0 {
		t.Errorf("want one line good and one refused, got %v", a)
	} else if line := a["lines"].([]any)[1].(map[string]any); line["outcome"] != "refused" || line["line"] != 3.0 ||
		line["seats"] != "-1" || len(line["reasons"].([]any)) != 1 {
		t.Errorf("want the refused line as it is written, with its reason, got %v", line)
	}
	good := "feature,quantity\nnvidia-vws,4\nnvidia-vws,3\n"
	if a := send(good, false); a.status != http.StatusOK || w.seatsOf(token)["source"] != "configured" {
		t.Errorf("a look at a file keeps it: %d %s", a.status, a.body)
	}
	if a := send(good, true); a.status != http.StatusOK || w.seatsOf(token)["total"] != 7.0 {
		t.Errorf("want seven seats, got %d %v", a.status, w.seatsOf(token))
	} else if told := a.json(t); told["added"] != 2.0 || told["kept"] != true {
		t.Errorf("want two lines added and kept, got %v", told)
	}
	until := w.clock.now().AddDate(0, 0, 29).Format(time.DateOnly) // the last day
	if a := send("feature,quantity,reference,until\nnvidia-vws,2,PO-7,"+until+"\n", true); a.status != http.StatusOK ||
		a.json(t)["added"] != 1.0 {
		t.Fatalf("want it added, got %d %s", a.status, a.body)
	}
	if a := send("feature,quantity,reference,until\nnvidia-vws,1,PO-7,"+until+"\n", true).json(t); a["changed"] != 1.0 ||
		a["added"] != 0.0 || a["lines"].([]any)[0].(map[string]any)["seatsWere"] != 2.0 {
		t.Errorf("want it changed from two seats, got %v", a)
	}
	f := w.call(token, http.MethodGet, "/api/v1/licenses/forecast", nil).json(t)["items"].([]any)[0].(map[string]any)
	if f["validDays"] != 30.0 {
		t.Errorf("want 30 days until it ends, got %v", f["validDays"])
	}
}

// TestNamesOfLicensesAreForThoseWhoSeeAll: others get numbers.
func TestNamesOfLicensesAreForThoseWhoSeeAll(t *testing.T) {
	w := newWorld(t)
	item := w.running(developer, "vision")
	item.ID, item.Name, item.Volume, item.Size.LicensePool, item.LicenseSeats = "w-seats", "seats", "", "nvidia-vws", 2
	w.save(func(tx request.Tx) error { return tx.SaveWorkload(t.Context(), item) })
	for _, subject := range []string{admin, auditor, other} {
		p := w.seatsOf(w.token(subject))
		names := strings.Contains(fmt.Sprint(p), "vision")
		if p["used"].(float64)+p["reserved"].(float64) != 2 || p["free"] != 3.0 || names != (subject != other) {
			t.Errorf("%s: want two seats taken, and the team only for those who see all: %v", subject, p)
		}
	}
}

// vgpu asks for something that takes a seat.
func (w *world) vgpu(subject, name string) (request.Request, error) {
	return w.requests.Requests.Submit(w.t.Context(), w.actorOf(subject), request.Draft{Kind: catalog.Notebook,
		Tenant: "vision",
		Size:   "vgpu-12q", Image: "jupyterlab", Lease: "1h", Reason: "a test", Name: name})
}

// gone is a workload whose pod has left.
func (w *world) gone(id workload.ID) {
	w.t.Helper()
	item, err := w.store.Workload(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	item.Desired, item.State = workload.WantStopped, workload.Stopped
	if err := w.store.SaveObserved(w.t.Context(), item, nil, nil); err != nil {
		w.t.Fatal(err)
	}
}

func queueing(c *config.Config) { c.LicensePools[0].OnExhaustion = license.QueueStarts }

// TestTheLastSeats: many ask at once for a few seats. As many run as there are seats, all others stand in one line, and
// go on in its order as seats come free.
func TestTheLastSeats(t *testing.T) {
	const askers, seats = 12, 5
	w := newWorld(t, queueing)
	var group sync.WaitGroup
	asked := make([]request.Request, askers)
	errs := make([]error, askers)
	for i := range asked {
		group.Go(func() { asked[i], errs[i] = w.vgpu(developer, fmt.Sprintf("seat-%d", i)) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	run, wait := map[request.ID]request.Request{}, map[request.ID]request.Request{}
	for _, r := range asked {
		if r.State == request.Approved {
			run[r.ID] = r
		} else if r.WaitsForSeat() && r.Workload == "" {
			wait[r.ID] = r
		}
	}
	if len(run) != seats || len(wait) != askers-seats {
		t.Fatalf("want %d to run and %d to wait, got %d and %d", seats, askers-seats, len(run), len(wait))
	}
	line, err := w.store.SeatLine(t.Context())
	if err != nil || len(line) != askers-seats {
		t.Fatalf("want a line of %d, got %v, %v", askers-seats, line, err)
	}
	for i := 1; i < len(line); i++ {
		if before, after := wait[line[i-1].ID], wait[line[i].ID]; after.Decision.Seat.Since.Before(
			before.Decision.Seat.Since) {
			t.Errorf("%s stands before %s, who was first", before.Spec.Name, after.Spec.Name)
		}
	}
	if err := w.requests.Seats.Assign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now, _ := w.store.SeatLine(t.Context()); !slices.Equal(now, line) {
		t.Errorf("somebody went on without a free seat: %v, before %v", now, line)
	}
	free := 2
	for _, r := range run {
		if free > 0 {
			w.gone(r.Workload)
			free--
		}
	}
	late, err := w.vgpu(developer, "late")
	if err != nil || !late.WaitsForSeat() {
		t.Fatalf("who comes late overtakes those who wait: %v, %v", late.State, err)
	}
	if err := w.requests.Seats.Assign(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, x := range append(line, request.Waiting{ID: late.ID}) {
		r, err := w.store.Request(t.Context(), x.ID)
		if err != nil || (r.State == request.Approved) != (i < 2) {
			t.Errorf("place %d: want two to go on in order, got %s, %v", i+1, r.State, err)
		}
		if i < 2 && (r.Workload == "" || r.WaitsForSeat()) {
			t.Errorf("place %d: it has its seat and nothing runs: %+v", i+1, r.Decision)
		}
	}
	if p := w.seatsOf(w.token(admin)); p["free"] != 0.0 || p["waiting"] != float64(askers-seats-2+1) {
		t.Errorf("want no free seat and the rest in line, got %v", p)
	}
}

// TestAnApprovalIsKeptWhileASeatIsMissing: who said yes need not say it again, and nobody is asked meanwhile.
func TestAnApprovalIsKeptWhileASeatIsMissing(t *testing.T) {
	w := newWorld(t, queueing, func(c *config.Config) {
		c.LicensePools[0].Seats = 1
		c.Rules = []policy.Rule{{Name: "ask", When: `request.person == "olga@example.org"`, Outcome: policy.Approve},
			{Name: "rest", When: "true", Outcome: policy.Allow}}
	})
	first, err := w.vgpu(developer, "first")
	if err != nil || first.State != request.Approved {
		t.Fatalf("want the first to run, got %s, %v", first.State, err)
	}
	asked, err := w.vgpu(owner, "asked")
	if err != nil || asked.State != request.Pending || asked.WaitsForSeat() {
		t.Fatalf("want it to wait for an approver, got %+v, %v", asked.Decision, err)
	}
	r, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), asked, "go on")
	if err != nil || !r.WaitsForSeat() || len(r.Decision.Consents) != 1 {
		t.Fatalf("want it approved and waiting, got %+v, %v", r.Decision, err)
	}
	yes, queued := w.events(audit.RequestApproved), w.events(audit.RequestQueued)
	if last := yes[0]; len(last.Changes) != 1 || last.Changes[0].Field != audit.SeatPool ||
		last.Changes[0].New != "nvidia-vws" {
		t.Errorf("the approval does not say that it waits, and would be told beside the place in the line: %+v", last.Changes)
	}
	if said := i18n.MustLoad().For("en").Say(
		queued[0].Detail); said != "Ada Approver approved it. Waiting for a seat of "+r.Decision.Seat.Title+". go on" {
		t.Errorf("want one sentence that says both, got %q", said)
	}
	if n, err := w.requests.Approvals.Waiting(t.Context(), w.actorOf(admin)); err != nil || n != 0 {
		t.Errorf("somebody is asked about what is decided: %d, %v", n, err)
	}
	if _, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(admin), r, "again"); !fault.Is(err, fault.Conflict) {
		t.Errorf("want a conflict, got %v", err)
	}
	if page := w.signedIn(owner).get("/requests/" + string(r.ID)); !strings.Contains(page.body, "position 1") {
		t.Error("the asker does not read at which place it waits")
	}
	w.gone(first.Workload)
	if err := w.requests.Seats.Assign(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err = w.store.Request(t.Context(), r.ID)
	if err != nil || r.State != request.Approved || r.Workload == "" || r.Decision.ByName != "Ada Approver" ||
		r.Decision.Note != "go on" || len(r.Decision.Consents) != 1 {
		t.Errorf("want it to run with its approval, got %s %+v, %v", r.State, r.Decision, err)
	}
	if n := len(w.events(audit.RequestApproved, audit.RequestAutoApproved)); n != 2 {
		t.Errorf("want one approval each in the record, got %d", n)
	}
}

// TestARefusingPoolAndTheLine: the choice counts at once, what waits can be taken back and runs out of time, and the
// settings are the default.
func TestARefusingPoolAndTheLine(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.LicensePools[0].Seats = 1 })
	if _, err := w.vgpu(developer, "first"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.vgpu(developer, "refused"); !fault.Is(err, fault.Invalid) ||
		!strings.Contains(fmt.Sprint(fault.As(err).Fields), "request.no_seat") {
		t.Errorf("want it refused for want of a seat, got %v", err)
	}
	if a := w.signedIn(admin).post("/licenses/full", url.Values{"pool": {"nvidia-vws"},
		"on_exhaustion": {"queue"}}); a.status != http.StatusSeeOther {
		t.Fatalf("want the choice kept, got %d %s", a.status, a.body)
	}
	waits, err := w.vgpu(developer, "waits")
	if err != nil || !waits.WaitsForSeat() {
		t.Fatalf("want it to wait, got %s, %v", waits.State, err)
	}
	if r, err := w.requests.Requests.Withdraw(t.Context(), w.actorOf(developer), waits.ID); err != nil ||
		r.State != request.Withdrawn {
		t.Errorf("want it taken back, got %s, %v", r.State, err)
	}
	if line, err := w.store.SeatLine(t.Context()); err != nil || len(line) != 0 {
		t.Errorf("what was taken back still waits: %v, %v", line, err)
	}
	if old, err := w.vgpu(developer, "old"); err != nil || !old.WaitsForSeat() {
		t.Fatalf("want it to wait, got %s, %v", old.State, err)
	}
	w.clock.pass(request.TTL + time.Hour)
	if err := errors.Join(w.requests.Approvals.ExpireDue(t.Context()), w.requests.Seats.Assign(t.Context())); err != nil {
		t.Fatal(err)
	}
	if line, _ := w.store.SeatLine(t.Context()); len(line) != 0 {
		t.Errorf("what ran out of time still waits: %v", line)
	}
	if n := len(w.events(audit.LicenseChosen)); n != 1 {
		t.Errorf("want the choice in the record, got %d", n)
	}
}

// TestWhatWaitsForASeatCanBeTurnedDown: by those who may decide, also by who said yes before; not by the asker, who
// takes it back, nor by others.
func TestWhatWaitsForASeatCanBeTurnedDown(t *testing.T) {
	w := newWorld(t, queueing, func(c *config.Config) {
		c.LicensePools[0].Seats = 1
		c.Rules = []policy.Rule{{Name: "ask", When: `request.person == "olga@example.org"`, Outcome: policy.Approve},
			{Name: "rest", When: "true", Outcome: policy.Allow}}
	})
	if _, err := w.vgpu(developer, "first"); err != nil {
		t.Fatal(err)
	}
	approved, err := w.vgpu(owner, "approved")
	if err != nil {
		t.Fatal(err)
	}
	if approved, err = w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), approved, ""); err != nil ||
		!approved.WaitsForSeat() {
		t.Fatalf("want it in the line, got %+v, %v", approved.Decision, err)
	}
	allowed, err := w.vgpu(developer, "allowed") // by a rule, without anybody's word
	if err != nil || !allowed.WaitsForSeat() {
		t.Fatalf("want it in the line, got %+v, %v", allowed.Decision, err)
	}
	for subject, kind := range map[string]fault.Kind{owner: fault.Forbidden, developer: fault.Forbidden,
		other: fault.NotFound} {
		if _, err := w.requests.Approvals.Reject(t.Context(), w.actorOf(subject), approved, "no"); !fault.Is(err, kind) {
			t.Errorf("%s: want %s, got %v", subject, kind, err)
		}
	}
	client := w.signedIn(approver)
	if page := client.get("/requests/" + string(approved.ID)); !strings.Contains(page.body, `data-test="turn-down"`) {
		t.Error("who may turn it down is not shown the way")
	}
	page := client.get("/approvals/" + string(approved.ID))
	if !strings.Contains(page.body, `data-test="reject"`) || strings.Contains(page.body, `data-test="approve"`) {
		t.Error("want a form with a no, and no second yes")
	}
	for _, r := range []request.Request{approved, allowed} {
		if a := client.post("/approvals/"+string(r.ID)+"/reject",
			url.Values{"note": {"needed elsewhere"}, "seen": {fmt.Sprint(r.Version)}}); a.status != http.StatusSeeOther {
			t.Fatalf("%s: want it turned down, got %d %s", r.Spec.Name, a.status, a.body)
		}
		now, err := w.store.Request(t.Context(), r.ID)
		if err != nil || now.State != request.Rejected || now.WaitsForSeat() || now.Decision.Note != "needed elsewhere" {
			t.Errorf("%s: want it rejected with its note, got %s %+v, %v", r.Spec.Name, now.State, now.Decision, err)
		}
	}
	if line, err := w.store.SeatLine(t.Context()); err != nil || len(line) != 0 {
		t.Errorf("what was turned down still waits: %v, %v", line, err)
	}
}

// TestAResumeWaitsInTheSameLine: a stopped workload that is to run again stands in the line like a new one, once, and
// holds nothing until its turn.
func TestAResumeWaitsInTheSameLine(t *testing.T) {
	w := newWorld(t, queueing, func(c *config.Config) { c.LicensePools[0].Seats = 1 })
	old, err := w.vgpu(developer, "old")
	if err != nil || old.State != request.Approved {
		t.Fatalf("want it to run, got %s, %v", old.State, err)
	}
	w.gone(old.Workload)
	taker, err := w.vgpu(owner, "taker")
	if err != nil || taker.State != request.Approved {
		t.Fatalf("want it to take the seat, got %s, %v", taker.State, err)
	}
	client, path := w.signedIn(developer), "/workloads/"+string(old.Workload)
	for range 2 {
		if a := client.post(path+"/start", nil); a.status != http.StatusSeeOther {
			t.Fatalf("want it accepted, got %d %s", a.status, a.body)
		}
	}
	late, err := w.vgpu(owner, "late")
	if err != nil || !late.WaitsForSeat() {
		t.Fatalf("want it behind, got %s, %v", late.State, err)
	}
	line, err := w.store.SeatLine(t.Context())
	if err != nil || len(line) != 2 || line[0].Workload != old.Workload || line[1].ID != late.ID {
		t.Fatalf("want the resume once, and then who came late, got %v, %v", line, err)
	}
	waits, err := w.store.Request(t.Context(), line[0].ID)
	if err != nil || waits.Kind != request.ResumeKind || waits.Asker != old.Asker ||
		waits.ExpiresAt.After(w.clock.now().Add(time.Hour)) {
		t.Errorf("want it to be its owner's and to end with the lease, got %+v, %v", waits, err)
	}
	if page := client.get(path); !strings.Contains(page.body, `data-test="waits-seat"`) ||
		strings.Contains(page.body, `data-test="resume"`) {
		t.Error("the page does not say that it waits")
	}
	if page := client.get("/requests/" + string(waits.ID)); page.status != http.StatusOK ||
		!strings.Contains(page.body, "position 1") {
		t.Errorf("want its place, got %d", page.status)
	}
	if a := w.call(w.token(developer), http.MethodGet, "/api/v1/workloads/"+string(old.Workload),
		nil); a.json(t)["waitsForSeatIn"] != string(waits.ID) || a.json(t)["desired"] != "stopped" {
		t.Errorf("want the API to tell, got %s", a.body)
	}
	if past, err := w.store.AskerHistory(t.Context(), old.Asker, w.clock.now().Add(-time.Hour)); err != nil ||
		past.Requests != 1 {
		t.Errorf("want one start on record, got %+v, %v", past, err)
	}
	w.gone(taker.Workload)
	if err := w.requests.Seats.Assign(t.Context()); err != nil {
		t.Fatal(err)
	}
	item, err := w.store.Workload(t.Context(), old.Workload)
	if err != nil || item.Desired != workload.WantRunning {
		t.Errorf("want it to run again, got %s, %v", item.Desired, err)
	}
	if r, err := w.store.Request(t.Context(), waits.ID); err != nil || r.State != request.Approved || r.WaitsForSeat() {
		t.Errorf("want its request done, got %s, %v", r.State, err)
	}
	if past, err := w.store.AskerHistory(t.Context(), old.Asker, w.clock.now().Add(-time.Hour)); err != nil ||
		past.Requests != 1 {
		t.Errorf("a resume counts as a start: %+v, %v", past, err)
	}
	if line, _ := w.store.SeatLine(t.Context()); len(line) != 1 || line[0].ID != late.ID {
		t.Errorf("want who came late to wait on, got %v", line)
	}
}

// TestAResumeThatNeedsNoSeatAnyMore: what was deleted meanwhile leaves the line, and one can take a resume back.
func TestAResumeThatNeedsNoSeatAnyMore(t *testing.T) {
	w := newWorld(t, queueing, func(c *config.Config) { c.LicensePools[0].Seats = 1 })
	ended, err := w.vgpu(developer, "ended")
	if err != nil {
		t.Fatal(err)
	}
	w.gone(ended.Workload)
	back, err := w.vgpu(developer, "back")
	if err != nil {
		t.Fatal(err)
	}
	w.gone(back.Workload)
	if taker, err := w.vgpu(developer, "taker"); err != nil || taker.State != request.Approved {
		t.Fatalf("want it to take the seat, got %s, %v", taker.State, err)
	}
	for _, id := range []workload.ID{ended.Workload, back.Workload} {
		if item, err := w.workloads.Start(t.Context(), w.actorOf(developer), id); err != nil ||
			item.Desired != workload.WantStopped {
			t.Fatalf("want it in the line, got %s, %v", item.Desired, err)
		}
	}
	line, err := w.store.SeatLine(t.Context())
	if err != nil || len(line) != 2 {
		t.Fatalf("want both in the line, got %v, %v", line, err)
	}
	if r, err := w.requests.Requests.Withdraw(t.Context(), w.actorOf(developer), line[1].ID); err != nil ||
		r.State != request.Withdrawn {
		t.Errorf("want it taken back, got %s, %v", r.State, err)
	}
	if _, err := w.workloads.Delete(t.Context(), w.actorOf(developer), ended.Workload, true); err != nil {
		t.Fatal(err)
	}
	if err := w.requests.Seats.Assign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if line, err := w.store.SeatLine(t.Context()); err != nil || len(line) != 0 {
		t.Errorf("want nobody left, got %v, %v", line, err)
	}
}
