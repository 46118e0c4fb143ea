package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestATeamsOwnImage: an owner adds an image in the browser, a member starts a notebook with it and the pod has it by its digest; another team neither sees nor starts
// it; when the owner retires it, what runs goes on and nothing new starts.
func TestATeamsOwnImage(t *testing.T) {
	mark := strconv.FormatInt(time.Now().UnixMilli()%1e8, 36) // an image is retired and never removed, and the test may run again
	title, name := "Training "+mark, "vision.training-"+mark
	reference := "registry.example.org/vision/train:1.4@sha256:" + strings.Repeat("1a2b3c4d", 8)
	otto, dana := signIn(t, "otto", look{}), signIn(t, "dana", look{})

	otto.open("/team/vision")
	otto.click("[data-test=tab-images]")
	otto.fill("[data-test=image-title]", title)
	otto.fill("[data-test=image-reference]", strings.Replace(reference, "/vision/", "/speech/", 1))
	otto.expecting("422")
	otto.click("[data-test=image-save]")
	otto.reads("[data-test=image-form]", "registry.example.org/vision/*")
	otto.accessible()
	otto.fill("[data-test=image-reference]", reference)
	otto.click("[data-test=image-save]")
	otto.sees("[data-test=flash]")
	row := "[data-test=image-row]:has-text('" + title + "')"
	otto.reads(row+" [data-test=state]", "offered")
	otto.accessible()
	otto.shot("added")

	dana.open("/start?tenant=vision&size=cpu&image=" + name)
	dana.reads("[data-test=image]", title)
	dana.fill("[name=name]", "own-"+mark)
	dana.accessible()
	dana.shot("start")
	dana.click("[data-test=send]")
	dana.sees("[data-test=workload-head]")
	id := dana.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	running := as(t, "dana").reaches(id, "running")
	if got := podOf(t, running).Spec.Containers[0].Image; got != reference {
		t.Errorf("the pod has %s", got)
	}

	nora := as(t, "nora")
	if a := nora.call(http.MethodGet, "/tenants/vision/images", nil); a.Status != http.StatusNotFound {
		t.Errorf("another team reads the list: %d", a.Status)
	}
	if a := nora.call(http.MethodGet, "/images", nil); strings.Contains(string(a.Raw), name) {
		t.Error("another team is offered the image")
	}
	wish := map[string]any{"kind": "notebook", "tenant": "speech", "size": "cpu", "image": name, "lease": "1h"}
	if a := nora.call(http.MethodPost, "/requests", wish); a.Status != http.StatusUnprocessableEntity || strings.Contains(string(a.Raw), title) {
		t.Errorf("another team starts it: %d %s", a.Status, a.Raw)
	}
	if a := as(t, "dana").call(http.MethodPost, "/tenants/vision/images/training-"+mark+"/retire", nil); a.Status != http.StatusForbidden {
		t.Errorf("a member retires it: %d", a.Status)
	}

	dana.open("/start?tenant=vision&size=cpu&image=" + name) // the form is open when the image goes
	dana.fill("[name=name]", "late-"+mark)
	otto.click(row + " [data-test=retire]")
	otto.reads(row+" [data-test=state]", "retired")
	otto.accessible()
	dana.expecting("422")
	dana.click("[data-test=send]")
	dana.reads("[data-test=form-errors]", "“"+title+"” is no longer on offer")
	dana.shot("refused")
	if got := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)["state"]; got != "running" {
		t.Errorf("want what runs to go on, got %v", got)
	}
	for name, l := range map[string]look{"dark": {Dark: true}, "phone-de": {Width: 360, Language: "de-DE"}} {
		p := signIn(t, "otto", l)
		p.open("/team/vision/images")
		p.accessible()
		p.shot(name)
	}
}
