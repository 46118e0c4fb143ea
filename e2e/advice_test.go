package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
)

// TestASmallerSizeWouldDo: a notebook fills a tenth of its memory. Once enough is measured its page says which size
// would do, what that saves and what this rests on; the way to it is a filled-in start, and who does not want to hear
// of it puts it away. The portal is one of its own that is content with a minute of the last half hour.
func TestASmallerSizeWouldDo(t *testing.T) {
	own := ownPortal(t, "advice", func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) { c["advice"] = map[string]any{"window": "30m", "after": "1m"} }
	})
	shared := portal
	portal = own
	t.Cleanup(func() { portal = shared })

	pod := spaces("advice") + "vision/half-empty-0"
	for what, value := range map[string]string{"load": "0.08", "memory": "0.1"} {
		control(t, http.MethodPut, fmt.Sprintf("/%s?pod=%s&value=%s", what, pod, value))
		t.Cleanup(func() { control(t, http.MethodDelete, fmt.Sprintf("/%s?pod=%s", what, pod)) })
	}
	dana := as(t, "dana")
	w := dana.running("mig-3g.40gb", map[string]any{"name": "half-empty"})
	page := "/workloads/" + str(w["id"])
	said := dana.until(page+"/advice", "advised", 8*time.Minute,
		func(a map[string]any) bool { return a["kind"] == "smaller" })
	if said["advised"] != "mig-1g.10gb" {
		t.Fatalf("want the slice of 10 GB, got %v", said)
	}
	if saves, _ := said["saves"].(map[string]any); saves == nil || saves["amount"] == "0.00" {
		t.Errorf("want what it saves, got %v", said["saves"])
	}

	p := signIn(t, "dana", look{})
	p.open(page)
	p.reads("[data-test=advice]", "MIG slice 10 GB")
	p.sees("[data-test=advice-peak]")
	p.sees("[data-test=advice-measured]")
	p.accessible()
	p.shot("workload")
	p.click("[data-test=advice-take]")
	p.sees("[data-test=start-replaces]")
	p.accessible()
	p.shot("start")

	for name, l := range map[string]look{"dark": {Dark: true}, "narrow-german": {Width: 360, Language: "de-DE"}} {
		q := signIn(t, "dana", l)
		for place, path := range map[string]string{"list": "/usage/advice", "workload": page} {
			q.open(path)
			q.sees("[data-test=advice]")
			q.contrasts()
			q.fitsTheWindow()
			q.shot(name + "-" + place)
		}
	}

	p.open("/usage/advice")
	p.sees("[data-test=advice]")
	p.accessible()
	p.click("[data-test=advice-dismiss]")
	p.sees("[data-test=advice-put]")
	p.do(p.assert.Locator(p.at("[data-test=advice]")).ToHaveCount(0))
	p.click("[data-test=advice-restore]")
	p.sees("[data-test=advice]")

	as(t, "nora").ok(http.StatusNotFound, http.MethodGet, page+"/advice", nil)
}
