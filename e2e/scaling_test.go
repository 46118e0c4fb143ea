package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// callers keep so many streams of an endpoint under way until they are told to stop, and tell what was not served.
func callers(url, key string, n int) (stop func() []string) {
	ctx, cancel := context.WithCancel(context.Background())
	body := `{"stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 60) + `"}]}`
	var wg sync.WaitGroup
	var mu sync.Mutex
	var faults []string
	for range n {
		wg.Go(func() {
			for ctx.Err() == nil {
				text, err := stream(url, key, body)
				if err == nil && strings.HasSuffix(strings.TrimSpace(text), "[DONE]") {
					continue
				}
				mu.Lock()
				faults = append(faults, fmt.Sprint(err, " ", text[max(0, len(text)-200):]))
				mu.Unlock()
			}
		})
	}
	return func() []string {
		cancel()
		wg.Wait()
		return faults
	}
}

// stream reads one answer to its end.
func stream(url, key, body string) (string, error) {
	r, err := http.NewRequest(http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := localhost().Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	return string(text), err
}

func (c client) keyOf(id string) string {
	c.t.Helper()
	return str(c.ok(http.StatusCreated, http.MethodPost, "/workloads/"+id+"/keys", map[string]any{"name": "load"})["key"])
}

func (c client) wanted(id, what string, holds func(wanted float64) bool) map[string]any {
	c.t.Helper()
	return c.until("/workloads/"+id, what, 3*time.Minute, func(w map[string]any) bool {
		return holds(replicas(w)["wanted"].(float64))
	})
}

// TestScalingOverREST: an endpoint follows its load up and down without breaking a stream, sleeps when nobody calls it,
// and gives its GPU back; while another one has taken all of the quota it cannot wake and says so; then the first
// request wakes it and is served, and a browser sees a page that looks again.
func TestScalingOverREST(t *testing.T) {
	dana := as(t, "dana")
	before := dana.slices()
	w := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": "", "replicas": map[string]int{"min": 0, "max": 2},
		"scaling": map[string]any{"metric": "concurrency", "target": 2, "scaleDownAfter": "10s", "toZeroAfter": "30s"}}))
	id, url := str(w["id"]), str(w["url"])
	key := dana.keyOf(id)
	eventually(t, "it answers", time.Minute, func() bool {
		_, err := stream(url, key, `{"messages":[{"role":"user","content":"hello"}]}`)
		return err == nil
	})
	stop := callers(url, key, 5)
	dana.scales(id, 2)
	one := callers(url, key, 1)
	faults := stop()
	dana.wanted(id, "scaled down to one", func(n float64) bool { return n == 1 })
	if faults = append(faults, one()...); len(faults) > 0 {
		t.Errorf("want every stream served to its end, got %d that were not: %s", len(faults), faults[0])
	}

	asleep := dana.until("/workloads/"+id, "asleep", 3*time.Minute, func(w map[string]any) bool {
		return w["state"] == "asleep"
	})
	if r := replicas(asleep); r["wanted"] != 0. || r["min"] != 0. || asleep["scaling"].(map[string]any)["target"] != 2. {
		t.Errorf("want none wanted, got %v", asleep)
	}
	eventually(t, "it holds nothing", time.Minute, func() bool { return dana.slices() == before })

	full := scalesToTheCeiling(t, dana)
	status, headers, text := chat(t, url, key, `{"messages":[{"role":"user","content":"hello"}]}`)
	if status != http.StatusServiceUnavailable || headers.Get("Retry-After") == "" || codeOf(text) != "endpoint_asleep" ||
		!strings.Contains(text, "Your team uses") {
		t.Errorf("want 503 that says why it cannot wake, got %d %v %s", status, headers, text)
	}
	if r := replicas(dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)); str(r["reason"]) == "" {
		t.Errorf("want its owner to see why, got %v", r)
	}
	dana.remove(full)
	eventually(t, "the quota has room", time.Minute, func() bool { return dana.slices() == before })

	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if text, err := stream(url, key, `{"messages":[{"role":"user","content":"good morning"}]}`); err != nil {
				t.Errorf("want the first requests held and served, got %v %s", err, text)
			}
		})
	}
	wg.Wait()
	woken := 0
	for _, e := range items(dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id+"/history", nil)) {
		if e["kind"] == "workload.woken" {
			woken++
		}
	}
	if woken != 1 {
		t.Errorf("want one wake for all of them, got %d", woken)
	}
	dana.ok(http.StatusOK, http.MethodPost, "/workloads/"+id+"/replicas", map[string]int{"wanted": 0})
	page := func() (int, string) {
		r, _ := http.NewRequest(http.MethodGet, url+"/v1/models", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Accept", "text/html")
		resp, err := localhost().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	eventually(t, "a page that looks again", 30*time.Second, func() bool {
		status, text := page()
		return status == http.StatusServiceUnavailable && strings.Contains(text, `http-equiv="refresh"`)
	})
	eventually(t, "it opens", time.Minute, func() bool { status, _ := page(); return status == http.StatusOK })
}

// scalesToTheCeiling has an endpoint scale under load until the quota is full, and gives its id while it holds all.
func scalesToTheCeiling(t *testing.T, dana client) string {
	t.Helper()
	w := dana.running("mig-1g.10gb", endpoint(map[string]any{"storage": "", "replicas": map[string]int{"min": 1,
		"max": 30},
		"scaling": map[string]any{"metric": "concurrency", "target": 0.1, "scaleDownAfter": "10m"}}))
	id := str(w["id"])
	key := dana.keyOf(id)
	eventually(t, "it answers", time.Minute, func() bool {
		_, err := stream(str(w["url"]), key, `{"messages":[{"role":"user","content":"hello"}]}`)
		return err == nil
	})
	stop := callers(str(w["url"]), key, 4)
	defer stop()
	limit := dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id+"/replicas", nil)["quota"].(map[string]any)["limit"]
	dana.until("/workloads/"+id, "at the ceiling", 3*time.Minute, func(w map[string]any) bool {
		return dana.slices() == limit.(float64) && str(replicas(w)["reason"]) != ""
	})
	return id
}
