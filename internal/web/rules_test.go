package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

const twoSteps = "- name: big\n  when: request.gpus >= 1.0\n  outcome: approve\n  steps:\n  - from: [owner]\n  - from: " +
	"[approver]\n- name: rest\n  when: 'true'\n  outcome: allow\n"

func TestTheRulesAreATableInWords(t *testing.T) {
	t.Parallel()
	w := webtest.Busy()
	doc := read(t, w.Get(webtest.Eli, "/admin/rules"), http.StatusOK)
	wantSaid(t, doc, "rules", "whole-gpus", "request.gpus >= 1.0", "approval by: approver", "starts at once")
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
	w := webtest.Busy()
	bad := "- name: typo\n  when: request.gpu > 1.0\n  outcome: allow\n"
	for _, path := range []string{"/admin/rules", "/admin/rules/check"} {
		got := w.Post(webtest.Dora, path, url.Values{"text": {bad}, "base": {"0"}, "note": {"why"}})
		doc := read(t, got, map[string]int{"/admin/rules": http.StatusUnprocessableEntity,
			"/admin/rules/check": http.StatusOK}[path])
		wantSaid(t, doc, "form-errors", "line 2, column 16", "undefined field 'gpu'")
		if doc.Find("textarea[name=text]").Text() != bad {
			t.Error("the text stays")
		}
	}
	if len(w.RuleTexts) != 0 {
		t.Error("nothing was saved")
	}
}

func TestARuleIsTriedBeforeItCounts(t *testing.T) {
	t.Parallel()
	w := webtest.Busy()
	for id, f := range map[request.ID]policy.Facts{"r-anna1": {GPUs: 1, Hours: 4}, "r-olaf1": {GPUs: 1, Hours: 2},
		"r-anna2": {Hours: 4}} {
		r := w.Reqs[id]
		r.Decision.Facts = &f
		w.Reqs[id] = r
	}
	old := w.Reqs["r-anna0"]
	old.CreatedAt = webtest.Now.Add(-31 * 24 * time.Hour)
	w.Reqs["r-anna0"] = old
	doc := read(t, w.Post(webtest.Dora, "/admin/rules/check", url.Values{"text": {twoSteps}, "base": {"0"}}),
		http.StatusOK)
	// two need two steps now; a third was decided by a person and would start at once
	wantSaid(t, doc, "differ", "3 of 3 requests of the last 30 days")
	wantSaid(t, doc, "preview", "approval by: team owner, then approver")
	wantSaid(t, doc, "rules-examples", "A whole GPU for 8 hours", "team owner, then approver")
	if len(w.RuleTexts) != 0 || len(w.Record) != len(webtest.Busy().Record) {
		t.Error("checking writes nothing")
	}
	wantRedirect(t, w.Post(webtest.Dora, "/admin/rules", url.Values{"text": {strings.ReplaceAll(twoSteps, "\n", "\r\n")},
		"base": {"0"}, "note": {"Owners first."}}))
	wantSaid(t, read(t, w.Get(webtest.Dora, "/admin/rules"), http.StatusOK), "rules-history", "Version 1", "Dora Dahl",
		"Owners first.", "From the configuration")
	clash := read(t, w.Post(webtest.Dora, "/admin/rules", url.Values{"text": {twoSteps + "# more\n"}, "base": {"0"}}),
		http.StatusConflict)
	wantSaid(t, clash, "form-errors", "Dora Dahl saved version 1 meanwhile")

	wantRedirect(t, w.Post(webtest.Anna, "/start", url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"h100"},
		"image": {"jupyterlab"}, "lease": {"1h"}, "reason": {"x"}, "name": {"two-steps"}}))
	id := request.ID("r-new0000001")
	for i := range w.Reqs {
		if w.Reqs[i].Spec.Name == "two-steps" {
			id = i
		}
	}
	wantSaid(t, read(t, w.Get(webtest.Anna, "/requests/"+string(id)), http.StatusOK), "approval-steps", "Team owner",
		"Approver")
	if got := w.Post(webtest.Carla, "/approvals/"+string(id)+"/approve", nil).Code; got != http.StatusForbidden {
		t.Errorf("it is not the approver's turn, got %d", got)
	}
	wantRedirect(t, w.Post(webtest.Ben, "/approvals/"+string(id)+"/approve", url.Values{"note": {"Within the plan."},
		"seen": {"1"}}))
	wantSaid(t, read(t, w.Get(webtest.Carla, "/approvals/"+string(id)), http.StatusOK), "approval-steps",
		"Ben Brandt approved it.", "Within the plan.")
	if w.Reqs[id].State != request.Pending {
		t.Error("one step is not all")
	}

	wantRedirect(t, w.Post(webtest.Dora, "/admin/rules/0/revert", url.Values{"base": {"1"}}))
	if v, _ := w.Rules.Standing(w.Actor(webtest.Dora)); v.Running.Version != 2 ||
		len(v.Policy.Rules()) != len(policy.Defaults()) {
		t.Errorf("the first rules count again, got %+v", v.Running)
	}
}

// TestRulesThatCannotBeReadAreABanner: on every page of those who may read rules, and of nobody else.
func TestRulesThatCannotBeReadAreABanner(t *testing.T) {
	t.Parallel()
	w := webtest.Busy()
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/audit"), http.StatusOK), "strip-rules")
	w.RuleTexts = append(w.RuleTexts, policy.Revision{Version: int64(len(w.RuleTexts)) + 1,
		Text: "- {name: later, when: 'request.carbon < 3.0', outcome: allow}\n", Name: "Pat", At: webtest.Now})
	if err := w.Rules.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSaid(t, read(t, w.Get(webtest.Eli, "/audit"), http.StatusOK), "strip-rules", "None of the saved approval rules")
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/requests"), http.StatusOK), "strip-rules")
}
