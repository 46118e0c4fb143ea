package app

import (
	"net/http"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// A gateway of the site asks at the portal's own address. The key that comes with the call is nobody's session or
// token: it is not refused before it is looked at, and opens nothing else of the portal.
func TestASiteGatewayAsksAboutAKey(t *testing.T) {
	w := newWorld(t)
	item := w.running(developer, "vision")
	item.ID, item.Name, item.Kind, item.Volume = workload.ID(newID("w-")), "asked", catalog.Endpoint, ""
	w.save(func(tx request.Tx) error { return tx.SaveWorkload(t.Context(), item) })
	_, key, err := w.keys.Create(t.Context(), w.actorOf(developer), item.ID, endpointkey.Draft{Name: "ci",
		Expires: w.clock.now().Add(time.Hour), Limits: endpointkey.Limits{RequestsPerMinute: 60}})
	if err != nil {
		t.Fatal(err)
	}
	path := endpointkey.AnswerPath + "?" + endpointkey.QueryNamespace + "=gpu-vision&" + endpointkey.QueryEndpoint + "="
	reply := w.call(key, http.MethodGet, path+"asked", nil)
	got := reply.json(t)
	if id := key[len(endpointkey.Prefix):][:8]; reply.status != http.StatusOK || got["id"] != id ||
		got["requestsPerMinute"] != 60.0 {
		t.Errorf("want the key %s, got %d %s", id, reply.status, reply.body)
	}
	// Envoy asks with the method, the host and the path of the call, and reads the headers alone
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path+"asked&"+endpointkey.QueryPath+
		"=/v1/chat/completions", nil)
	if err != nil {
		t.Fatal(err)
	}
	ask.Host = "asked.models.example.org"
	ask.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if h := answer.Header; answer.StatusCode != http.StatusOK || h.Get(endpointkey.KeyHeader) != got["id"] ||
		h.Get(endpointkey.RequestsHeader) != "60" || h.Get(endpointkey.TokensHeader) != "0" {
		t.Errorf("as Envoy asks: %d %v", answer.StatusCode, h)
	}
	for name, c := range map[string]struct{ token, path string }{
		"another endpoint":        {key, path + "other"},
		"a person's token":        {w.token(developer), path + "asked"},
		"nothing":                 {"", path + "asked"},
		"the key at the API":      {key, "/api/v1/workloads"},
		"a token that is made up": {identity.TokenPrefix + "abc.def", path + "asked"},
	} {
		if reply := w.call(c.token, http.MethodGet, c.path, nil); reply.status != http.StatusUnauthorized {
			t.Errorf("%s: want 401, got %d %s", name, reply.status, reply.body)
		}
	}
	limits, err := w.store.KeyLimits(t.Context(), item.ID)
	if err != nil || len(limits.Requests) != 1 || limits.Requests[0] != 60 {
		t.Errorf("want its limit for the policies, got %+v %v", limits, err)
	}
}
