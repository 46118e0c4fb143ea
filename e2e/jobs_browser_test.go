package e2e

import "testing"

// TestAJobFromFormToResult: a command with a pipe is refused with what to write instead; the job fails, its page says
// with which code, and it is run again with another command until it succeeds. A notebook's page leads to the same
// form.
func TestAJobFromFormToResult(t *testing.T) {
	p := signIn(t, "dana", look{})
	p.open("/start?tenant=vision&kind=notebook&size=mig-1g.10gb")
	p.do(p.at("[data-test=kind-job]").Check())
	p.sees("[data-test=command]")
	p.fill("[data-test=command]", "sleep 2 | tee log")
	p.advanced()
	p.fill("[data-test=env]", "EPOCHS=3")
	p.fill("[data-test=time-limit]", "1h")
	p.reads("[data-test=verdict]", "Cannot start")
	p.accessible()
	p.fitsTheWindow()
	p.fill("[data-test=command]", `sh -c "sleep 2; exit 2"`)
	p.reads("[data-test=verdict]", "Starts now")
	p.click("[data-test=send]")
	p.sees("[data-test=workload-head]")
	failed := p.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(failed) })
	p.reads("[data-test=workload-head] [data-test=state]", "Failed")
	p.reads("[data-test=exit-code]", "2")
	p.reads("[data-test=workload-start]", "RuntimeError: loss is nan")
	p.reads("[data-test=env]", "EPOCHS")
	p.accessible()

	p.click("[data-test=run-again]")
	p.reads("[data-test=start-like]", "again")
	p.do(p.assert.Locator(p.at("[data-test=env]")).ToHaveValue("EPOCHS=3\n"))
	p.fill("[data-test=command]", `sh -c "sleep 2; exit 0"`)
	p.click("[data-test=send]")
	p.sees("[data-test=workload-head]")
	done := p.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(done) })
	p.reads("[data-test=workload-head] [data-test=state]", "Succeeded")
	p.reads("[data-test=workload-start]", "saved checkpoint model.pt")
	p.shot("job-succeeded")

	nb := as(t, "dana").running("cpu", map[string]any{"name": "try-out", "storage": "1Gi"})
	p.open("/workloads/" + str(nb["id"]))
	p.click("[data-test=more] > summary")
	p.click("[data-test=run-as-job]")
	p.reads("[data-test=start-like]", "try-out-home")
	p.do(p.assert.Locator(p.at("[data-test=kind-job]")).ToBeChecked())
	p.do(p.assert.Locator(p.at("[data-test=image]")).ToHaveValue("jupyterlab"))
}
