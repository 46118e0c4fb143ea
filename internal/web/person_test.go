package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestAnAdministratorShutsSomebodyOut: the page says what that person has, disables them, shows who did, and enables
// them again. Oneself it does not offer to disable, and does not when asked.
func TestAnAdministratorShutsSomebodyOut(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	anna := "/admin/people/" + string(webtest.Anna.ID)
	page := read(t, w.Get(webtest.Dora, anna), http.StatusOK)
	wantText(t, page, "sessions", "Firefox on Linux", "Safari on iOS", "curl/8.14.1", "198.51.100.24")
	wantText(t, page, "tokens", "nightly training")
	wantText(t, page, "holdings", "train-resnet", "datasets-kept", "Pending request")
	wantAbsent(t, page, "disabled", "current")

	wantRedirect(t, w.Post(webtest.Dora, anna+"/disable", url.Values{"note": {"left us"}}))
	off := read(t, w.Get(webtest.Dora, anna), http.StatusOK)
	wantText(t, off, "disabled", "Disabled by Dora Dahl", "left us")
	wantText(t, off, "no-sessions", "No sign-ins")
	if got := textOf(part(off, "tokens").Find(`[data-test="state"]`)); got != "refused" {
		t.Errorf("a token of somebody who is disabled: want it refused, got %q", got)
	}
	wantAbsent(t, off, "disable-form")
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/people"), http.StatusOK), "state", "disabled")
	wantRedirect(t, w.Post(webtest.Dora, anna+"/enable", nil))
	wantAbsent(t, read(t, w.Get(webtest.Dora, anna), http.StatusOK), "disabled")

	self := "/admin/people/" + string(webtest.Dora.ID)
	wantAbsent(t, read(t, w.Get(webtest.Dora, self), http.StatusOK), "disable-form")
	if got := w.Post(webtest.Dora, self+"/disable", nil); got.Code != http.StatusConflict {
		t.Errorf("oneself: want 409, got %d", got.Code)
	}
	auditor := read(t, w.Get(webtest.Eli, anna), http.StatusOK)
	wantAbsent(t, auditor, "disable-form", "session-end", "sessions-end", "token-revoke", "transfer")
	if got := w.Get(webtest.Anna, anna).Code; got != http.StatusNotFound {
		t.Errorf("one's own page among the administrators': want 404, got %d", got)
	}
}

// TestTransferOfHoldings: to a member who may start something, with an event for each thing.
func TestTransferOfHoldings(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	path := "/admin/people/" + string(webtest.Anna.ID) + "/transfer"
	back := read(t, w.Post(webtest.Dora, path, url.Values{"tenant": {"vision"}, "to": {string(webtest.Olaf.ID)}}),
		http.StatusUnprocessableEntity)
	wantText(t, back, "form-errors", "Choose an active member")
	wantRedirect(t, w.Post(webtest.Dora, path, url.Values{"tenant": {"vision"}, "to": {string(webtest.Ben.ID)}}))
	for _, item := range w.Works() {
		if item.Owner == webtest.Anna.ID && item.State != "ended" {
			t.Errorf("%s is still Anna's", item.ID)
		}
	}
	if v := w.Volume("datasets-kept"); v.Owner != webtest.Ben.ID || v.OwnerName != webtest.Ben.Name {
		t.Errorf("the storage is %s's", v.OwnerName)
	}
	if r := w.Request("r-anna1"); r.Asker != webtest.Ben.ID {
		t.Errorf("the request is %s's", r.AskerName)
	}
	if r := w.Request("r-anna0"); r.Asker != webtest.Anna.ID {
		t.Error("a decided request was given away")
	}
	told := map[bool]int{}
	for _, e := range w.Record() {
		if e.Kind == audit.HoldingsTransferred {
			told[e.Workload+e.Volume+e.Request != "" && e.Tenant == "vision"]++
		}
	}
	if told[true] < 7 || told[false] > 0 {
		t.Errorf("want an event for each thing, got %v", told)
	}
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/people/"+string(webtest.Anna.ID)), http.StatusOK), "holds-nothing",
		"No workloads")
}

// TestPeopleEndTheirOwnSignIns: the list marks the one in use, and all others end at once.
func TestPeopleEndTheirOwnSignIns(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	page := read(t, w.Get(webtest.Anna, "/account"), http.StatusOK)
	if got := part(page, "session").Length(); got != 3 {
		t.Errorf("want three sign-ins, got %d", got)
	}
	if got := part(page, "current").Length(); got != 1 {
		t.Errorf("want one marked as this session, got %d", got)
	}
	wantRedirect(t, w.Post(webtest.Anna, "/account/sessions/s-desk/end", nil))
	if got := w.Post(webtest.Olaf, "/account/sessions/s-script/end", nil).Code; got != http.StatusNotFound {
		t.Errorf("somebody else's: want 404, got %d", got)
	}
	wantRedirect(t, w.Post(webtest.Anna, "/account/sessions/end", nil))
	left := read(t, w.Get(webtest.Anna, "/account"), http.StatusOK)
	if got := part(left, "session").Length(); got != 1 || part(left, "current").Length() != 1 {
		t.Errorf("want this session left, got %d", got)
	}
	wantAbsent(t, left, "sessions-end")
}
