package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

// attack is the page of a notebook that wants something of the portal, with the session of whoever opened it
// (T-ORIGIN-3). It tells in window.told what each try came to: "nothing" when the page learned nothing, else what it
// learned.
const attack = `<!doctype html><title>attack</title><body><script>
const portal = %q, workload = %q
const form = {method: 'POST', credentials: 'include', body: new URLSearchParams({reason: 'x'})}
const json = {method: 'POST', credentials: 'include', headers: {'Content-Type': 'application/json'},
  body: JSON.stringify({kind: 'notebook', tenant: 'vision', size: 'cpu', image: 'jupyterlab'})}
const text = {...json, headers: {'Content-Type': 'text/plain'}}
const read = (path, how) => async () => {
  const answer = await fetch(portal + path, {credentials: 'include', ...how})
  if (answer.type !== 'opaque') return answer.status + ' ' + await answer.text()
  return answer.status || await answer.text() || 'nothing'
}
const event = (make, good) => () => new Promise(done => {
  const thing = make()
  thing.addEventListener(good, () => done(good))
  thing.addEventListener('error', () => done('nothing'))
})
const post = path => async () => {
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.name = 'post' + path
  const sent = document.body.appendChild(document.createElement('form'))
  Object.assign(sent, {method: 'POST', action: portal + path, target: frame.name})
  sent.submit()
  await new Promise(done => setTimeout(done, 3000)) // a refused answer leaves the frame empty, without an event
  return frame.contentDocument?.body.textContent || 'nothing'
}
const tries = {
  'fetch': read('/api/v1/me'), 'fetch a page': read('/'), 'fetch, no-cors': read('/api/v1/me', {mode: 'no-cors'}),
  'ask for a notebook': read('/api/v1/requests', json),
  'ask in plain text': read('/api/v1/requests', {...text, mode: 'no-cors'}),
  'stop': read('/api/v1/workloads/' + workload + '/stop', {...text, mode: 'no-cors'}),
  'stop by form': read('/workloads/' + workload + '/stop', {...form, mode: 'no-cors'}),
  'delete': read('/api/v1/workloads/' + workload, {method: 'DELETE', credentials: 'include'}),
  'sign out': read('/signout', {...form, mode: 'no-cors'}), 'sign out by form': post('/signout'),
  'stop by form in a frame': post('/workloads/' + workload + '/stop'),
  'image': event(() => Object.assign(new Image(), {src: portal + '/favicon.ico'}), 'load'),
  'websocket': event(() => new WebSocket(portal.replace('http', 'ws') + '/live?page=home'), 'open'),
  'events': event(() => new EventSource(portal + '/live?page=home', {withCredentials: true}), 'open'),
  'script': event(() => document.body.appendChild(Object.assign(document.createElement('script'),
    {src: portal + '/api/v1/me'})), 'load'),
}
;(async () => {
  const frame = document.body.appendChild(document.createElement('iframe'))
  const loaded = new Promise(done => frame.addEventListener('load', done))
  frame.src = portal + '/'
  await loaded
  const told = {}
  const late = () => new Promise(done => setTimeout(done, 5000, 'no answer'))
  for (const [name, go] of Object.entries(tries)) told[name] = await Promise.race([go().catch(() => 'nothing'), late()])
  window.told = told
})()
</script>`

// TestANotebookCannotUseThePortal: whatever a page from a notebook's host tries with the portal, it changes nothing,
// reads nothing and frames nothing, though the person in front of it is signed in there.
func TestANotebookCannotUseThePortal(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("mig-1g.10gb", map[string]any{"name": "evil-notebook"})
	id := str(w["id"])
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(rw, fmt.Sprintf(attack, portal.URL, id))
	}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	route := fmt.Sprintf("/routes?pod=%s/%s&port=8888", w["namespace"], w["pod"])
	control(t, http.MethodPut, route+"&to="+address.Host)
	t.Cleanup(func() { control(t, http.MethodDelete, route) })
	asked := len(items(dana.ok(http.StatusOK, http.MethodGet, "/requests?limit=500", nil)))

	p := signIn(t, "dana", look{})
	p.expecting("console:") // the browser says of each try why it came to nothing
	p.expecting("script:")
	p.open("/workloads/" + id)
	p.reads("[data-test=workload-head] [data-test=state]", "Running")
	notebook := p.popup(func() error { return p.at("[data-test=open]").First().Click() })
	_, err = notebook.WaitForFunction("() => window.told", nil,
		playwright.PageWaitForFunctionOptions{Timeout: playwright.Float(patience)})
	p.do(err)
	said, err := notebook.Evaluate("() => JSON.stringify(window.told)")
	p.do(err)
	var told map[string]any
	if err := json.Unmarshal([]byte(str(said)), &told); err != nil || len(told) < 15 {
		t.Fatalf("%v: %v", err, said)
	}
	for name, learned := range told {
		if learned != "nothing" {
			t.Errorf("%s: the notebook learned %v", name, learned)
		}
	}
	frames := 0
	for _, f := range notebook.Frames() {
		if f.ParentFrame() == nil {
			continue
		}
		frames++
		if text, err := f.Content(); err != nil || strings.Contains(text, "gp-body") { // of each page of the portal
			t.Errorf("the portal can be framed: %s %v", text, err)
		}
	}
	if frames != 3 {
		t.Errorf("want three frames tried, got %d", frames)
	}

	after := dana.ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)
	if after["state"] != "running" || after["generation"] != w["generation"] {
		t.Errorf("the workload changed: %v", after)
	}
	if now := len(items(dana.ok(http.StatusOK, http.MethodGet, "/requests?limit=500", nil))); now != asked {
		t.Errorf("want %d requests, got %d", asked, now)
	}
	p.open("/")
	p.sees("[data-test=user-menu]") // still signed in
}
