package e2e

import "testing"

// TestSizingLeadsFromAQuestionToANotebook: somebody does not know which size to take, answers four questions, and has a
// notebook running.
func TestSizingLeadsFromAQuestionToANotebook(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.open("/start?kind=notebook")
	p.advanced()
	p.fill("[name=name]", "sized")
	p.click("[data-test=sizing-open]")
	p.sees("[data-test=sizing]")
	p.accessible()
	p.do(p.at("[data-test=work-explore]").Check())
	p.do(p.at("[data-test=by-memory]").Check())
	p.fill("[name=memory]", "6")
	p.do(p.at("[data-test=sharing-tenants]").Check())
	p.click("[data-test=ask]")
	p.reads("[data-test=advice] [data-test=proposal]", "Others cannot access its memory")
	p.reads("[data-test=proposal] [data-test=reasons]", "Needs about 6 GiB")
	p.reads("[data-test=proposal] [data-test=proposal-free]", "Available:")
	p.reads("[data-test=remarks]", "CUDA streams")
	p.accessible()
	p.shot("sizing")
	p.click("[data-test=proposal][data-size='mig-1g.10gb'] [data-test=take]")
	p.do(p.assert.Locator(p.at("[data-test='size-mig-1g.10gb']")).ToBeChecked())
	p.do(p.assert.Locator(p.at("[name=name]")).ToHaveValue("sized"))
	p.reads("[data-test=summary]", "Starts now")
	p.click("[data-test=send]")
	p.sees("[data-test=workload-head]")
	id := p.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	p.reads("[data-test=workload-head] [data-test=state]", "Running")
}

// TestSizingWithoutScripts: the questions are a form that asks, so a browser without scripts has them all; in German,
// with the German comma, on a telephone. The bar at the foot is at its tallest there, with a reason to give, and what
// leads to the questions is not left behind it.
func TestSizingWithoutScripts(t *testing.T) {
	p := signIn(t, "dana", look{NoScript: true, Language: "de-DE", Width: 360})
	p.open("/start?kind=notebook&size=h100&lease=4h")
	p.sees("[data-test=bar] [name=reason]")
	p.click("[data-test=sizing-open]")
	p.do(p.at("[data-test=work-train]").Check())
	p.do(p.at("[data-test=by-billions]").Check())
	p.fill("[name=billions]", "0,3")
	p.click("[data-test=ask]")
	p.reads("[data-test=estimate]", "0,3 × 10⁹ × 16")
	p.reads("[data-test=proposal] [data-test=reasons]", "GPU-Speicher")
	p.shot("telephone")
	p.click("[data-test=take]")
	p.sees("[data-test=summary]")
}

// TestSizingPictures keeps pictures of both pages in the dark.
func TestSizingPictures(t *testing.T) {
	p := signIn(t, "dana", look{Dark: true})
	p.open("/start/size?work=inference&model=Llama+3.1+8B&sharing=tenants&lease=8h")
	p.sees("[data-test=proposal]")
	p.accessible()
	p.shot("dark")
	p.open("/start")
	p.shot("start-dark")
}
