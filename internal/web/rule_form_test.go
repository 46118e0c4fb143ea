package web_test

import (
	"net/http"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

const rulePath = "/admin/rules/rule"

// TestARuleIsBuiltOfRows: rows write CEL into the rules, are tried like them, and are read back.
func TestARuleIsBuiltOfRows(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := formOf(read(t, w.Get(webtest.Dora, rulePath), http.StatusOK), "rule-form")
	form.Set("name", "night")
	form.Set("outcome", "refuse")
	form.Set("sentence", "Not at night.")
	for field, value := range map[string]string{"fact-0": "request.gpus", "op-0": ">=", "value-0": "1",
		"fact-1": "request.hour", "op-1": "<", "value-1": "six", "join-1": "and", "fact-2": "request.hour", "op-2": ">=",
		"value-2": "22", "join-2": "or"} {
		form.Set(field, value)
	}
	doc := read(t, w.Post(webtest.Dora, rulePath, withAction(form, "check")), http.StatusUnprocessableEntity)
	if textOf(doc.Find("#value-1-error")) == "" || part(doc, "value-2").AttrOr("value", "") != "22" {
		t.Error("the problem is not beside its row, or what was typed is lost")
	}
	form.Set("value-1", "6")
	doc = read(t, w.Post(webtest.Dora, rulePath, withAction(form, "cel")), http.StatusOK)
	const when = "request.gpus >= 1.0 && (request.hour < 6 || request.hour >= 22)"
	if got := part(doc, "when").Text(); got != when {
		t.Errorf("want it as CEL, got %q", got)
	}
	doc = read(t, w.Post(webtest.Dora, rulePath, withAction(form, "check")), http.StatusOK)
	wantText(t, doc, "differ", "requests of the last 30 days")
	wantText(t, doc, "rules-examples", "A whole GPU for 8 hours")
	wantRedirect(t, w.Post(webtest.Dora, rulePath, withAction(form, "save")))
	list := read(t, w.Get(webtest.Dora, "/admin/rules"), http.StatusOK)
	wantText(t, list, "rules", when, "Not at night.")
	if first := textOf(part(list, "rule").First()); first[:7] != "1 night" {
		t.Errorf("it stands first, got %q", first)
	}
	doc = read(t, w.Get(webtest.Dora, rulePath+"?name=night"), http.StatusOK)
	if part(doc, "term").Length() != 3 {
		t.Errorf("want its rows, got %d", part(doc, "term").Length())
	}
	wantText(t, doc, "fact-0", "Share of a card")
	form.Set("fact-3", "request.isolation")
	form.Set("op-3", "==")
	form.Set("value-3", "own-word")
	offered := read(t, w.Post(webtest.Dora, rulePath, withAction(form, "more")), http.StatusOK)
	if value := part(offered, "value-3"); value.AttrOr("value", "") != "own-word" ||
		offered.Find("#"+value.AttrOr("list", "none")+" option[value=hard]").Length() != 1 {
		t.Error("want the values of the fact to choose from, and what was typed kept")
	}
	form.Del("fact-3")
	form.Del("op-3")
	form.Del("value-3")
	doc = read(t, w.Post(webtest.Dora, rulePath, withAction(form, "remove-1")), http.StatusOK)
	if part(doc, "term").Length() != 2 || part(doc, "fact-1").Find("[selected]").AttrOr("value", "") != "request.hour" ||
		part(doc, "value-1").AttrOr("value", "") != "22" {
		t.Error("want the second condition removed, and the third in its place")
	}
	clash := read(t, w.Post(webtest.Dora, rulePath, withAction(form, "save")), http.StatusUnprocessableEntity)
	wantText(t, clash, "form-errors", "used twice")
}

// TestARuleThatRowsCannotSayIsCEL, and its steps stay.
func TestARuleThatRowsCannotSayIsCEL(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	text := twoSteps + "- {name: sum, when: request.gpus + request.share > 1.0, outcome: allow}\n"
	wantRedirect(t, w.Post(webtest.Dora, "/admin/rules", map[string][]string{"text": {text}, "base": {"0"}}))
	doc := read(t, w.Get(webtest.Dora, rulePath+"?name=sum"), http.StatusOK)
	wantText(t, doc, "rule-edit", "only be edited as CEL")
	wantAbsent(t, doc, "term", "turn")
	form := formOf(doc, "rule-form")
	form.Set("when", "request.gpu > 1.0")
	doc = read(t, w.Post(webtest.Dora, rulePath, withAction(form, "save")), http.StatusUnprocessableEntity)
	if textOf(doc.Find("#when-error")) == "" {
		t.Error("what is wrong with the expression is not beside it")
	}
	doc = read(t, w.Get(webtest.Dora, rulePath+"?name=big"), http.StatusOK)
	wantText(t, doc, "steps", "approval steps")
	form = formOf(doc, "rule-form")
	form.Set("value-0", "2")
	wantRedirect(t, w.Post(webtest.Dora, rulePath, withAction(form, "save")))
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/rules"), http.StatusOK), "rules", "request.gpus >= 2.0",
		"team owner, then approver")
	if got := w.Get(webtest.Dora, rulePath+"?name=none").Code; got != http.StatusNotFound {
		t.Errorf("want 404, got %d", got)
	}
}
