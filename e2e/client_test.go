package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
)

// client calls the API as one person, with nothing but net/http: what a program of somebody else would do.
type client struct {
	t      testing.TB
	portal *stack.Portal
	who    string
}

func as(t testing.TB, who string) client { return client{t, portal, who} }

// answer is what came back.
type answer struct {
	Status int
	Header http.Header
	Body   map[string]any
	Raw    []byte
}

func (c client) call(method, path string, body any, headers ...string) answer {
	c.t.Helper()
	a, err := c.try(method, path, body, headers...)
	if err != nil {
		c.t.Fatal(err)
	}
	return a
}

func (c client) try(method, path string, body any, headers ...string) (answer, error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		reader = bytes.NewReader(data)
	}
	r, err := http.NewRequest(method, c.portal.URL+"/api/v1"+path, reader)
	if err != nil {
		return answer{}, err
	}
	if c.who != "" {
		r.Header.Set("Authorization", "Bearer "+c.portal.Tokens[c.who])
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{Status: resp.StatusCode, Header: resp.Header}
	if a.Raw, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	_ = json.Unmarshal(a.Raw, &a.Body)
	return a, nil
}

// ok calls and insists on a status.
func (c client) ok(status int, method, path string, body any, headers ...string) map[string]any {
	c.t.Helper()
	a := c.call(method, path, body, headers...)
	if a.Status != status {
		c.t.Fatalf("%s %s as %s: want %d, got %d: %s", method, path, c.who, status, a.Status, a.Raw)
	}
	return a.Body
}

// answer is the body of an approval or a rejection of a request as it is now.
func (c client) answer(id, note string) map[string]any {
	c.t.Helper()
	now := c.ok(http.StatusOK, http.MethodGet, "/requests/"+id, nil)
	return map[string]any{"seen": now["version"], "note": note}
}

// start asks for a notebook; change alters the body.
func (c client) start(size string, change map[string]any) map[string]any {
	c.t.Helper()
	body := map[string]any{"kind": "notebook", "tenant": "vision", "size": size, "image": "jupyterlab", "lease": "8h",
		"storage": "10Gi", "reason": "end-to-end test"}
	for k, v := range change {
		body[k] = v
	}
	return c.ok(http.StatusCreated, http.MethodPost, "/requests", body)
}

// until reads a thing again and again until the condition holds, and gives it.
func (c client) until(path, what string, patience time.Duration, holds func(map[string]any) bool) map[string]any {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	var last answer
	for time.Now().Before(deadline) {
		a, err := c.try(http.MethodGet, path, nil)
		if err == nil {
			last = a
			if a.Status == http.StatusOK && holds(a.Body) {
				return a.Body
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.t.Fatalf("%s: not %s within %s; last: %d %s", path, what, patience, last.Status, last.Raw)
	return nil
}

// reaches waits until a workload is in a state.
func (c client) reaches(id, state string) map[string]any {
	c.t.Helper()
	return c.reachesWithin(3*time.Minute, id, state)
}

// reachesWithin is reaches with another patience.
func (c client) reachesWithin(patience time.Duration, id, state string) map[string]any {
	c.t.Helper()
	return c.until("/workloads/"+id, state, patience, func(w map[string]any) bool { return w["state"] == state })
}

// running asks for a notebook that is allowed at once, and waits until it runs.
func (c client) running(size string, change map[string]any) map[string]any {
	c.t.Helper()
	r := c.start(size, change)
	if r["state"] != "approved" {
		c.t.Fatalf("want %s to start at once, got %v", size, r)
	}
	w := c.reaches(r["workload"].(string), "running")
	c.t.Cleanup(func() { c.remove(w["id"].(string)) })
	return w
}

// remove deletes a workload with its storage and waits until both are gone, so that tests do not use each other's quota
// and names.
func (c client) remove(id string) {
	c.t.Helper()
	if a := c.call(http.MethodGet, "/workloads/"+id, nil); a.Body["state"] == "ended" {
		return // the story ended it, with its storage or without
	}
	a := c.call(http.MethodDelete, "/workloads/"+id+"?storage=delete", nil)
	if a.Status != http.StatusOK {
		c.t.Errorf("delete %s: %d %s", id, a.Status, a.Raw)
		return
	}
	w := c.reachesWithin(afterOutage, id, "ended") // the cluster may have been away a moment ago
	home := str(w["name"]) + "-home"
	c.until("/volumes", "without "+home, afterOutage, func(list map[string]any) bool {
		return !slices.ContainsFunc(items(list), func(v map[string]any) bool { return v["name"] == home })
	})
}

func items(body map[string]any) []map[string]any {
	list, _ := body["items"].([]any)
	all := make([]map[string]any, len(list))
	for i, item := range list {
		all[i] = item.(map[string]any)
	}
	return all
}

func find(t testing.TB, list []map[string]any, key, value string) map[string]any {
	t.Helper()
	for _, item := range list {
		if item[key] == value {
			return item
		}
	}
	t.Fatalf("nothing with %s = %s in %v", key, value, list)
	return nil
}

func str(v any) string { return fmt.Sprint(v) }

// waitForMetrics covers two rounds of scraping.
const waitForMetrics = 3 * time.Minute

func hasDevices(m map[string]any) bool {
	devices, _ := m["devices"].([]any)
	return len(devices) > 0
}
