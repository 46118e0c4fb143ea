package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func fromInternet(o *Options, _ *PodsOptions) { o.ExternalDomain = "models.example.com" }

// out calls a host of the external domain.
func (w *world) out(method, name, path, body string, headers ...string) *http.Response {
	w.t.Helper()
	return w.callHost(method, name+".models.example.com", path, strings.NewReader(body), headers...)
}

// TestFromOutside: by the external domain a key opens an endpoint that is reached from outside, until a time, and
// nothing else opens anything; what is not reached and what does not exist are answered alike.
func TestFromOutside(t *testing.T) {
	w := newWorld(t, fromInternet)
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	cookie := w.signIn("anna-portal-session", "nb-anna")
	const path = "/v1/embeddings"
	no := func(name, host string, headers ...string) {
		t.Helper()
		unknown := w.out(http.MethodPost, "no-such", path, "{}", headers...)
		res := w.out(http.MethodPost, host, path, "{}", headers...)
		want, got := errorOf(t, unknown), errorOf(t, res)
		if res.StatusCode != http.StatusUnauthorized || res.StatusCode != unknown.StatusCode || got != want ||
			res.Header.Get("Www-Authenticate") != unknown.Header.Get("Www-Authenticate") ||
			len(res.Cookies()) > 0 || res.Header.Get("Location") != "" {
			t.Errorf("%s: want what is said of an unknown name, %d %+v, got %d %+v", name, unknown.StatusCode, want,
				res.StatusCode, got)
		}
	}
	no("a key before the endpoint is opened", "ep-anna", key...)
	if res := w.chat("ep-anna", "{}", key...); res.StatusCode != http.StatusOK {
		t.Errorf("from inside it goes on: %d", res.StatusCode)
	}
	until := w.Now().Add(time.Hour)
	w.change("ep-anna", func(wl *workload.Workload) { wl.Reach = workload.Reach{External: true, Until: until} })
	saw := sawOf(t, w.out(http.MethodPost, "ep-anna", path, "{}", key...))
	if got := saw.Header["Authorization"]; len(got) != 1 || got[0] != "Bearer pod-secret-of-ep-anna" {
		t.Errorf("want the endpoint's own secret and nothing else, got %v", got)
	}
	w.change("nb-anna", func(wl *workload.Workload) { wl.Reach = workload.Reach{External: true} })
	no("a notebook, even one that somebody marked", "nb-anna", "Cookie", cookie)
	no("a notebook with a key", "nb-anna", key...)
	no("an endpoint with the cookie of a session", "ep-anna", "Cookie", cookie)
	no("a person's token", "ep-anna", "Authorization", "Bearer "+identity.TokenPrefix+"abc")
	no("nothing", "ep-anna")
	for _, own := range []string{callbackPath + "?code=x&state=y&return=/", forgetPath} {
		res := w.out(http.MethodGet, "ep-anna", own, "", "Sec-Fetch-Mode", "navigate", "Accept", "text/html", "Cookie",
			cookie)
		if body := text(t, res); res.StatusCode != http.StatusUnauthorized || strings.Contains(body, portalURL) {
			t.Errorf("%s: there is no way to the portal from outside, got %d %s", own, res.StatusCode, body)
		}
	}
	w.pass(2 * time.Hour)
	later := w.Now().Add(time.Hour)
	w.changeKey("a", func(k *endpointkey.Key) { k.ExpiresAt = later })
	no("after its time", "ep-anna", key...)
}

// TestAccessFromOutsideIsTakenAway: a stream that is under way ends, and no call passes any more; from inside the same
// key opens the endpoint as before.
func TestAccessFromOutsideIsTakenAway(t *testing.T) {
	w := newWorld(t, fromInternet)
	w.pod.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		_, _ = rw.Write([]byte("data: {}\n\n"))
		if r.URL.Path == "/v1/chat/completions" {
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		}
	})
	w.change("ep-anna", func(wl *workload.Workload) { wl.Reach = workload.Reach{External: true} })
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	stream := w.out(http.MethodPost, "ep-anna", "/v1/chat/completions", "{}", key...)
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.StatusCode)
	}
	w.change("ep-anna", func(wl *workload.Workload) { wl.Reach = workload.Reach{} })
	waittest.For(t, "no call passes", func() bool {
		return w.out(http.MethodPost, "ep-anna", "/v1/embeddings", "{}", key...).StatusCode == http.StatusUnauthorized
	})
	buffer := make([]byte, 64)
	for {
		if _, err := stream.Body.Read(buffer); err != nil {
			break
		}
	}
	if res := w.call(http.MethodPost, "ep-anna", "/v1/embeddings", strings.NewReader("{}"), key...); res.StatusCode !=
		http.StatusOK {
		t.Errorf("from inside: %d", res.StatusCode)
	}
}

// TestModelsFromOutside: of the models of a key, those of endpoints that are reached from outside.
func TestModelsFromOutside(t *testing.T) {
	w, key := withModels(t, fromInternet)
	w.change("large", func(wl *workload.Workload) { wl.Reach = workload.Reach{External: true} })
	var list struct{ Data []modelView }
	if err := json.NewDecoder(w.out(http.MethodGet, "models", "/v1/models", "", key...).Body).Decode(&list); err != nil ||
		len(list.Data) != 1 || list.Data[0].Endpoint != "large" {
		t.Errorf("want the one endpoint, got %+v %v", list, err)
	}
	var inside struct{ Data []modelView }
	if err := json.NewDecoder(w.get("models", "/v1/models", key...).Body).Decode(&inside); err != nil ||
		len(inside.Data) != 3 {
		t.Errorf("want all three from inside, got %+v %v", inside, err)
	}
	res := w.out(http.MethodPost, "models", "/v1/chat/completions", `{"model":"org/large-70b"}`, key...)
	var got routed
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil || got.Host != "large.models.example.com" {
		t.Errorf("want the endpoint by its external name, got %d %+v %v", res.StatusCode, got, err)
	}
	for _, name := range []string{"org/small-1b", "small", "none"} {
		if res := w.out(http.MethodPost, "models", "/v1/chat/completions", `{"model":"`+name+`"}`,
			key...); res.StatusCode != http.StatusNotFound || errorOf(t, res).Error.Code != "model_not_found" {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
}

// TestNoExternalDomain: without the setting there is no such site.
func TestNoExternalDomain(t *testing.T) {
	w := newWorld(t)
	w.change("ep-anna", func(wl *workload.Workload) { wl.Reach = workload.Reach{External: true} })
	if w.gw.Serves("ep-anna.models.example.com") {
		t.Error("it serves what nobody set")
	}
	key := w.key("a", "ep-anna", endpointkey.Limits{})
	if res := w.out(http.MethodPost, "ep-anna", "/v1/embeddings", "{}", key...); res.StatusCode != http.StatusNotFound {
		t.Errorf("want no such host, got %d", res.StatusCode)
	}
}
