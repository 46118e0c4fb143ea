package web_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

const twoSteps = "- name: big\n  when: request.gpus >= 1.0\n  outcome: approve\n  steps:\n  - from: [owner]\n  - from: " +
	"[approver]\n- name: rest\n  when: 'true'\n  outcome: allow\n"

func TestTheRulesAreATableInWords(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Eli, "/admin/rules"), http.StatusOK)
	wantText(t, doc, "rules", "whole-gpus", "request.gpus >= 1.0", "approval by: approver", "starts immediately")
	wantAbsent(t, doc, "edit")
	if got := w.Get(webtest.Anna, "/admin/rules").Code; got != http.StatusNotFound {
		t.Errorf("for a developer the page does not exist, got %d", got)
	}
	if got := w.Get(webtest.Eli, "/admin/rules/edit").Code; got != http.StatusForbidden {
		t.Errorf("an auditor reads only, got %d", got)
	}
}

func TestTheEditorNamesThePlaceOfAProblem(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	bad := "- name: typo\n  when: request.gpu > 1.0\n  outcome: allow\n"
	for _, path := range []string{"/admin/rules", "/admin/rules/check"} {
		got := w.Post(webtest.Dora, path, url.Values{"text": {bad}, "base": {"0"}, "note": {"why"}})
		doc := read(t, got, map[string]int{"/admin/rules": http.StatusUnprocessableEntity,
			"/admin/rules/check": http.StatusOK}[path])
		wantText(t, doc, "form-errors", "line 2, column 16", "undefined field 'gpu'")
		if doc.Find("textarea[name=text]").Text() != bad {
			t.Error("the text stays")
		}
	}
	if _, err := w.LatestRules(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("nothing was saved, got %v", err)
	}
}

func TestARuleIsTriedBeforeItCounts(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for id, f := range map[request.ID]policy.Facts{"r-anna1": {GPUs: 1, Hours: 4}, "r-olaf1": {GPUs: 1, Hours: 2},
		"r-anna2": {Hours: 4}} {
		r := w.Request(id)
		r.Decision.Facts = &f
		w.PutRequest(r)
	}
	old := w.Request("r-anna0")
	old.CreatedAt = webtest.Now.Add(-31 * 24 * time.Hour)
	w.PutRequest(old)
	doc := read(t, w.Post(webtest.Dora, "/admin/rules/check", url.Values{"text": {twoSteps}, "base": {"0"}}),
		http.StatusOK)
	// two need two steps now; a third was decided by a person and would start at once
	wantText(t, doc, "differ", "3 of 3 requests of the last 30 days")
	wantText(t, doc, "preview", "approval by: team owner, then approver")
	wantText(t, doc, "rules-examples", "A whole GPU for 8 hours", "team owner, then approver")
	if _, err := w.LatestRules(t.Context()); !fault.Is(err, fault.NotFound) ||
		len(w.Record()) != len(webtest.Busy(t).Record()) {
		t.Errorf("checking writes nothing, got %v", err)
	}
	wantRedirect(t, w.Post(webtest.Dora, "/admin/rules", url.Values{"text": {strings.ReplaceAll(twoSteps, "\n", "\r\n")},
		"base": {"0"}, "note": {"Owners first."}}))
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/rules"), http.StatusOK), "rules-history", "Version 1", "Dora Dahl",
		"Owners first.", "From the configuration")
	clash := read(t, w.Post(webtest.Dora, "/admin/rules", url.Values{"text": {twoSteps + "# more\n"}, "base": {"0"}}),
		http.StatusConflict)
	wantText(t, clash, "form-errors", "Dora Dahl saved version 1 in the meantime")

	wantRedirect(t, w.Post(webtest.Anna, "/start", url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"h100"},
		"image": {"jupyterlab"}, "lease": {"1h"}, "reason": {"x"}, "name": {"two-steps"}}))
	id := request.ID("r-new0000001")
	for _, r := range w.AllRequests() {
		if r.Spec.Name == "two-steps" {
			id = r.ID
		}
	}
	wantText(t, read(t, w.Get(webtest.Anna, "/requests/"+string(id)), http.StatusOK), "approval-steps", "Team owner",
		"Approver")
	if got := w.Post(webtest.Carla, "/approvals/"+string(id)+"/approve", nil).Code; got != http.StatusForbidden {
		t.Errorf("it is not the approver's turn, got %d", got)
	}
	wantRedirect(t, w.Post(webtest.Ben, "/approvals/"+string(id)+"/approve", url.Values{"note": {"Within the plan."},
		"seen": {"1"}}))
	wantText(t, read(t, w.Get(webtest.Carla, "/approvals/"+string(id)), http.StatusOK), "approval-steps",
		"Ben Brandt approved it.", "Within the plan.")
	if w.Request(id).State != request.Pending {
		t.Error("one step is not all")
	}

	wantRedirect(t, w.Post(webtest.Dora, "/admin/rules/0/revert", url.Values{"base": {"1"}}))
	if v, _ := w.Rules.Status(w.Actor(webtest.Dora)); v.Active.Version != 2 ||
		len(v.Policy.Rules()) != len(policy.Defaults()) {
		t.Errorf("the first rules count again, got %+v", v.Active)
	}
}

// TestRulesThatCannotBeReadAreABanner: on every page of those who may read rules, and of nobody else.
func TestRulesThatCannotBeReadAreABanner(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/audit"), http.StatusOK), "strip-rules")
	if err := errors.Join(w.SaveRules(t.Context(), policy.Revision{Version: 1,
		Text: "- {name: later, when: 'request.carbon < 3.0', outcome: allow}\n", AuthorName: "Pat", At: webtest.Now}),
		w.Rules.Refresh(t.Context())); err != nil {
		t.Fatal(err)
	}
	wantText(t, read(t, w.Get(webtest.Eli, "/audit"), http.StatusOK), "strip-rules", "cannot read any of the saved")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/requests"), http.StatusOK), "strip-rules")
}
