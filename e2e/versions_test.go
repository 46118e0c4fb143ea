package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// brokenServer is an image that no registry has.
const brokenServer = `- name: broken-server
  title: Broken server
  kind: endpoint
  reference: registry.example.org/does-not-exist@sha256:` +
	`5ce01f7b93a84d26e7f8c9013b65da42f81c70d9ae3645b2f09d7c186a3e54bd
  port: 8000
  healthPath: /health
  runAsUser: 1000
`

// settled waits until no version of an endpoint is on its way.
func (c client) settled(id string) map[string]any {
	c.t.Helper()
	return c.until("/workloads/"+id, "a version has settled", 3*time.Minute, func(w map[string]any) bool {
		return w["rollout"] == nil && w["state"] == "running"
	})
}

// TestVersionsInTheBrowser: another version takes over while calls are answered; one whose image is not there takes no
// traffic and says why; one click brings the first one back.
func TestVersionsInTheBrowser(t *testing.T) {
	catalogAsItWas(t)
	good := str(as(t, "pat").ok(http.StatusOK, http.MethodGet, "/catalog", nil)["text"])
	saved(t, "pat", "?note=A+server+that+is+not+there",
		strings.Replace(good, "\nimages:\n", "\nimages:\n"+brokenServer, 1))
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": ""}))
	id, url := str(w["id"]), str(w["url"])
	key := dana.keyOf(id)
	answers := func() error {
		_, err := stream(url, key, `{"messages":[{"role":"user","content":"hello"}]}`)
		return err
	}
	eventually(t, "it answers", time.Minute, func() bool { return answers() == nil })

	if plan := dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/revisions", map[string]any{"dryRun": true,
		"model": map[string]any{"name": "Qwen/Qwen3-0.6B"}}); plan["number"] != 2. || plan["problems"] != nil {
		t.Errorf("what another model would mean: %v", plan)
	}
	p := signIn(t, "dana", look{})
	p.open("/workloads/" + id)
	p.click("[data-test=version-new]")
	p.sees("[data-test=version-plan]")
	p.accessible()
	p.shot("form")
	p.fill("[data-test=version-model]", "Qwen/Qwen3-0.6B")
	p.click("[data-test=version-send]")
	stop := callers(url, key, 1)
	p.reads("[data-test=versions]", "Version 2")
	now := dana.settled(id)
	if faults := stop(); len(faults) > 0 {
		t.Errorf("want every call answered meanwhile, got %d that were not: %s", len(faults), faults[0])
	}
	if now["revision"] != 2. || now["model"].(map[string]any)["name"] != "Qwen/Qwen3-0.6B" {
		t.Fatalf("want version 2 with the other model, got %v, %v", now["revision"], now["model"])
	}
	p.reads("[data-test=version]:first-of-type [data-test=version-state]", "Serving")

	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/revisions", map[string]any{"image": "broken-server"})
	now = dana.settled(id)
	list := items(dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id+"/revisions", nil))
	if now["revision"] != 2. || list[0]["state"] != "failed" || !strings.Contains(str(list[0]["reason"]), "registry") {
		t.Fatalf("want version 2 to go on and version 3 to say why it failed, got %v, %v", now["revision"], list[0])
	}
	if err := answers(); err != nil {
		t.Errorf("want it to answer all the same: %v", err)
	}
	p.reads("[data-test=version-failed]", "Version 3 did not become ready")
	p.accessible()
	p.shot("failed")

	p.click("[data-test=version-back]")
	now = dana.settled(id)
	if now["revision"] != 4. || now["model"].(map[string]any)["name"] == "Qwen/Qwen3-0.6B" {
		t.Errorf("want the first model again, as version 4, got %v, %v", now["revision"], now["model"])
	}
	p.reads("[data-test=version]:first-of-type", "the same as version 1")
}

// TestCanaryOverREST: a canary takes its part of the calls, and those that name it; its share can be changed, and when
// it is promoted it takes all of them.
func TestCanaryOverREST(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": ""}))
	id, url := str(w["id"]), str(w["url"])
	key := dana.keyOf(id)
	answered := func(named string) string {
		r, err := http.NewRequest(http.MethodGet, url+"/v1/models", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		if named != "" {
			r.Header.Set("X-Revision", named)
		}
		resp, err := localhost().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return resp.Status
		}
		return resp.Header.Get("X-Revision")
	}
	eventually(t, "it answers", time.Minute, func() bool { return answered("") == "1" })
	before := dana.slices()
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/revisions", map[string]any{"percent": 50,
		"model": map[string]any{"name": "Qwen/Qwen3-0.6B"}})
	dana.until("/workloads/"+id, "the canary is ready", 3*time.Minute, func(w map[string]any) bool {
		r, _ := w["rollout"].(map[string]any)
		return r["ready"] == true && w["state"] == "running" && w["revision"] == 1.
	})
	if now := dana.slices(); now != before+1 {
		t.Errorf("want one more of the quota held, got %v after %v", now, before)
	}
	eventually(t, "calls that name it", time.Minute, func() bool { return answered("2") == "2" })
	seen := map[string]int{}
	for range 100 {
		seen[answered("")]++
	}
	if seen["1"] < 25 || seen["2"] < 25 || seen["1"]+seen["2"] != 100 {
		t.Errorf("want about half of 100 calls at each, got %v", seen)
	}
	dana.ok(http.StatusOK, http.MethodPut, "/workloads/"+id+"/traffic-split", map[string]int{"percent": 0})
	eventually(t, "none but those that name it", time.Minute, func() bool {
		for range 20 {
			if answered("") != "1" {
				return false
			}
		}
		return answered("2") == "2"
	})
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/promote", nil)
	if now := dana.settled(id); now["revision"] != 2. {
		t.Errorf("want it to have taken over, got %v", now["revision"])
	}
	eventually(t, "all calls", time.Minute, func() bool { return answered("") == "2" })
	eventually(t, "what was held is given back", time.Minute, func() bool { return dana.slices() == before })
}
