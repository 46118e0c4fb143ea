package app

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestAQuotaIsTriedBeforeItCounts: one start inside the quota, one that the quota refused, and what another quota would
// have said to both.
func TestAQuotaIsTriedBeforeItCounts(t *testing.T) {
	w := newWorld(t, small)
	dora, boss := w.signedIn(developer), w.signedIn(admin)
	if a := dora.post("/start", oneMore); a.status != http.StatusSeeOther {
		t.Fatalf("the first: %d", a.status)
	}
	if a := dora.post("/start", oneMore); a.status != http.StatusUnprocessableEntity {
		t.Fatalf("the second: %d", a.status)
	}
	taken := maps.Clone(oneMore)
	taken["reason"] = []string{strings.Repeat("x", 3000)} // wrong in itself: no decision, and nothing to compare
	if a := dora.post("/start", taken); a.status != http.StatusUnprocessableEntity {
		t.Fatalf("the third: %d", a.status)
	}
	before := len(w.events())
	for quota, want := range map[string][]string{
		"cpu: 1": {"0 of 2 starts", "0 of one running workload"},
		"cpu: 2": {"1 of 2 starts", "0 of one running workload"},
		"cpu: 0": {"1 of 2 starts", "1 of one running workload", "1 used, 0 allowed"},
	} {
		a := boss.post("/admin/tenants/check", url.Values{"name": {"vision"}, "base": {"0"}, "quota": {quota}})
		shown := strings.Join(strings.Fields(a.page(t).Find("[data-test=preview]").Text()), " ")
		for _, text := range want {
			if a.status != http.StatusOK || !strings.Contains(shown, text) {
				t.Errorf("%s: want %q, got %d %q", quota, text, a.status, shown)
			}
		}
		if typed := a.page(t).Find("[name=quota]").Text(); typed != quota {
			t.Errorf("what was typed stays, got %q", typed)
		}
	}
	if a := boss.post("/admin/tenants/check", url.Values{"name": {"vision"}, "base": {"0"},
		"quota": {"cpu"}}); a.status != http.StatusUnprocessableEntity {
		t.Errorf("no quota at all: %d", a.status)
	}
	table := boss.post("/admin/tenants/check", url.Values{"name": {"vision"}, "base": {"0"}, "quota.cpu": {"0"}})
	if shown := table.page(t).Find("[data-test=preview]").Text(); !strings.Contains(shown, "1 used, 0 allowed") {
		t.Errorf("from the table: want the same, got %q", shown)
	}
	checked := w.call(w.token(admin), http.MethodPost, "/api/v1/tenants/vision/quota-check",
		map[string]any{"quota": map[string]any{"*": 2}})
	allowed, _ := checked.json(t)["allowed"].([]any)
	if checked.status != http.StatusOK || len(allowed) != 1 || allowed[0].(map[string]any)["request"] != "" {
		t.Errorf("over the API: %d %s", checked.status, checked.body)
	}
	if n := len(w.events()); n != before+1 { // the token
		t.Errorf("checking wrote %d events", n-before)
	}
}

// TestWhatARuleRefusedIsCompared: it used to leave nothing, so that a preview did not say whom a milder rule would let
// in.
func TestWhatARuleRefusedIsCompared(t *testing.T) {
	w := newWorld(t)
	token := w.token(admin)
	strict := "- name: nobody\n  when: request.size == 'cpu'\n  outcome: refuse\n  sentence: Not this month.\n- name: rest\n " +
		" when: 'true'\n  outcome: allow\n"
	if a := w.call(token, http.MethodPut, "/api/v1/rules",
		map[string]any{"text": strict, "base": w.rulesVersion()}); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	body := map[string]any{"kind": "notebook", "tenant": "vision", "size": "cpu", "image": "jupyterlab"}
	if a := w.call(w.token(developer), http.MethodPost, "/api/v1/requests", body); a.status != http.StatusForbidden {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for text, want := range map[string]int{strict: 0, w.rulesText(): 1} {
		a := w.call(token, http.MethodPost, "/api/v1/rules/check", map[string]any{"text": text})
		differ, _ := a.json(t)["differ"].([]any)
		if a.status != http.StatusOK || len(differ) != want || a.json(t)["seen"] != 1.0 {
			t.Fatalf("want %d, got %d %s", want, a.status, a.body)
		}
		if want == 1 && differ[0].(map[string]any)["was"].(map[string]any)["outcome"] != "refuse" {
			t.Errorf("it was refused: %v", differ[0])
		}
	}
}
