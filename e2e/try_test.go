package e2e

import "testing"

// TestAnEndpointIsTriedInTheBrowser: Open leads to a chat; the answer streams in with its figures, and a model that does
// not exist is an error in plain words.
func TestAnEndpointIsTriedInTheBrowser(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": ""}))
	p := signIn(t, "dana", look{})
	p.open("/workloads/" + str(w["id"]))
	p.click("[data-test=open]")
	p.sees("[data-test=try-form]")
	p.click("[data-test=try-ideas] button")
	idea, err := p.at("[data-test=try-text]").InputValue()
	p.do(err)
	if idea != "Explain MIG in two sentences." {
		t.Errorf("an example stands in the field, got %q", idea)
	}
	p.fill("[data-test=try-text]", "hello there")
	p.do(p.at("[data-test=try-text]").Press("Control+Enter"))
	p.reads("[data-test=try-answer]", "You said: hello there")
	p.reads("[data-test=try-sums]", "2 prompt and 4 completion tokens")
	p.accessible()
	p.shot("answered")
	for _, chosen := range []string{"Python", "JavaScript", "curl"} { // one language at a time, by a click
		p.click("[data-test=code-choice] label:text-is('" + chosen + "')")
		p.sees("[data-test=code-choice] pre[aria-label='" + chosen + "']")
		if n := p.count("[data-test=code-choice] pre:visible"); n != 1 {
			t.Errorf("%s: want one example in view, got %d", chosen, n)
		}
	}
	p.expecting("status of 404")
	p.fill("[data-test=try-model]", "no/such-model")
	p.fill("[data-test=try-text]", "hello again")
	p.click("[data-test=try-send]")
	p.reads("[data-test=try-error]", "does not know this model")
	p.reads("[data-test=try-error]", "does not exist")
}
