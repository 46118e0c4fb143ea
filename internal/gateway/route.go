package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Bounds of calls at ModelsHost, whose bodies are read before it is known where they go.
const (
	maxRouted    = 16 << 20         // bytes of a body
	maxRoutedAll = 256 << 20        // bytes of all bodies that are held at once
	routedWithin = 30 * time.Second // for a body to arrive
	modelsFor    = time.Minute      // how long the names hold that a server told
)

// model is one that a key may use.
type model struct {
	id       string // what callers write: the name that its server knows, or the endpoint's where several have that
	endpoint workload.Workload
	served   string // the name that its server knows; "" where nobody knows it, and what was written goes on as it is
}

// modelLists remembers for Recheck which models a key may use, and for modelsFor what servers call theirs.
type modelLists struct {
	mu     sync.Mutex
	ofKey  map[string]modelList // by the hash of the whole key, and from where it was used
	served map[workload.ID]servedNames
	bodies *semaphore.Weighted
}

type modelList struct {
	key    endpointkey.Key
	models []model
	at     time.Time
}

type servedNames struct {
	revision int
	names    []string
	at       time.Time
}

func newModelLists() modelLists {
	return modelLists{ofKey: map[string]modelList{}, served: map[workload.ID]servedNames{},
		bodies: semaphore.NewWeighted(maxRoutedAll)}
}

// route answers a call at ModelsHost: the models of a key under one address, as OpenAI's API has them. "model" in the
// body says which endpoint the call goes to.
func (g *Gateway) route(w http.ResponseWriter, r *http.Request) {
	text, credential, err := bearerOf(r)
	if err == nil && text == "" {
		err = errKey
	}
	if err != nil {
		g.denied(w, r, workload.ModelsHost, err)
		return
	}
	list, err := g.modelsOf(r.Context(), text, credential)
	if err != nil {
		g.denied(w, r, workload.ModelsHost, err)
		return
	}
	name, one := strings.CutPrefix(r.URL.Path, "/v1/models/")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case reads && r.URL.Path == "/v1/models":
		views := make([]modelView, len(list))
		for i, m := range list {
			views[i] = viewOf(m)
		}
		g.sayJSON(w, r, map[string]any{"object": "list", "data": views})
	case reads && one:
		m, ok := find(list, name)
		if !ok {
			g.noModel(w, r, list, name)
			return
		}
		g.sayJSON(w, r, viewOf(m))
	case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/v1/"):
		g.routeCall(w, r, list)
	default:
		g.notFound(w, r)
	}
}

// modelView is a model as OpenAI's API lists it. Endpoint tells which workload serves it.
type modelView struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Created  int64  `json:"created"`
	OwnedBy  string `json:"owned_by"`
	Endpoint string `json:"endpoint"`
}

func viewOf(m model) modelView {
	return modelView{ID: m.id, Object: "model", Created: m.endpoint.CreatedAt.Unix(), OwnedBy: m.endpoint.Tenant,
		Endpoint: m.endpoint.Name}
}

func (g *Gateway) sayJSON(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		g.denied(w, r, workload.ModelsHost, err)
		return
	}
	h := w.Header()
	g.setHeaders(h)
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// find gives the model that a caller means, by its id or by the name of its endpoint.
func find(list []model, name string) (model, bool) {
	for _, is := range []func(model) bool{
		func(m model) bool { return m.id == name },
		func(m model) bool { return m.endpoint.Name == name },
	} {
		if i := slices.IndexFunc(list, is); i >= 0 {
			return list[i], true
		}
	}
	return model{}, false
}

// modelsOf lists the models of a key. Errors as checkKey.
func (g *Gateway) modelsOf(ctx context.Context, text string, c identity.Credential) ([]model, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	hash, now := identity.HashSecret(text), g.opts.Now()
	if fromOutside(ctx) {
		hash = "outside " + hash
	}
	g.models.mu.Lock()
	known, ok := g.models.ofKey[hash]
	g.models.mu.Unlock()
	if age := now.Sub(known.at); ok && age >= 0 && age < g.opts.Recheck {
		return known.models, nil
	}
	k, err := g.goodKey(ctx, c)
	if err != nil {
		return nil, err
	}
	models, err := g.listModels(ctx, k)
	if err != nil {
		return nil, err
	}
	g.models.mu.Lock()
	defer g.models.mu.Unlock()
	for other, l := range g.models.ofKey {
		if now.Sub(l.at) >= g.opts.Recheck {
			delete(g.models.ofKey, other)
		}
	}
	g.models.ofKey[hash] = modelList{key: k, models: models, at: now}
	return models, nil
}

// listModels asks which of the endpoints of a key answer calls, and what they serve.
func (g *Gateway) listModels(ctx context.Context, k endpointkey.Key) ([]model, error) {
	var list []model
	for _, id := range k.Endpoints() {
		w, err := g.opts.Workloads.Workload(ctx, id)
		switch {
		case fault.Is(err, fault.NotFound):
			continue
		case err != nil:
			return nil, err
		case w.Kind != catalog.Endpoint || !w.Answers(),
			fromOutside(ctx) && !w.ReachedFromOutside(g.opts.Now()):
			continue
		}
		names := g.servedBy(ctx, w)
		if len(names) == 0 {
			list = append(list, model{id: w.Name, endpoint: w})
		}
		for _, name := range names {
			list = append(list, model{id: name, endpoint: w, served: name})
		}
	}
	count := map[string]int{}
	for _, m := range list {
		count[m.id]++
	}
	for i, m := range list {
		if count[m.id] > 1 {
			list[i].id = m.endpoint.Name
		}
	}
	return list, nil
}

// servedBy is what the server of an endpoint calls its models: as the request said, else as the server tells. None
// while that is not known; no endpoint is woken for it.
func (g *Gateway) servedBy(ctx context.Context, w workload.Workload) []string {
	if w.Model != nil {
		return []string{w.Model.ServedName()}
	}
	now := g.opts.Now()
	g.models.mu.Lock()
	known, ok := g.models.served[w.ID]
	g.models.mu.Unlock()
	if age := now.Sub(known.at); ok && known.revision == w.Revision() && age >= 0 && age < modelsFor {
		return known.names
	}
	gr := g.granted(grant{workload: &w})
	if !gr.open {
		return known.names
	}
	ctx, stop := context.WithTimeout(context.WithValue(ctx, workloadKey{}, w), 2*time.Second)
	defer stop()
	body, err := g.opts.Pods.get(ctx, w, gr.target, "/v1/models")
	if err != nil {
		g.opts.Logger.DebugContext(ctx, "an endpoint does not tell its models", "workload", string(w.ID),
			"error", err.Error())
		return known.names
	}
	names := modelIDs(body)
	g.models.mu.Lock()
	defer g.models.mu.Unlock()
	for id, old := range g.models.served {
		if now.Sub(old.at) >= modelsFor {
			delete(g.models.served, id)
		}
	}
	g.models.served[w.ID] = servedNames{revision: w.Revision(), names: names, at: now}
	return names
}

const (
	maxModelIDs = 100 // of a server, which its owner may have written
	maxModelID  = 200 // bytes
)

// modelIDs reads an answer to GET /v1/models; none where it is not one.
func modelIDs(body []byte) []string {
	var told struct{ Data []struct{ ID string } }
	if json.Unmarshal(body, &told) != nil {
		return nil
	}
	var names []string
	for _, d := range told.Data {
		if name := plain(d.ID); name != "" && len(d.ID) <= maxModelID && len(names) < maxModelIDs {
			names = append(names, d.ID)
		}
	}
	return names
}

// routeCall sends a call to the endpoint whose model it names.
func (g *Gateway) routeCall(w http.ResponseWriter, r *http.Request, list []model) {
	wanted := r.ContentLength
	if wanted < 0 || wanted > maxRouted {
		wanted = maxRouted
	}
	if !g.models.bodies.TryAcquire(wanted) {
		w.Header().Set("Retry-After", "1")
		g.badCall(w, r, http.StatusServiceUnavailable, "overloaded", i18n.T("gateway.models_busy"))
		return
	}
	defer g.models.bodies.Release(wanted)
	body, err := readRouted(w, r)
	switch {
	case errors.Is(err, errTooLong):
		g.badCall(w, r, http.StatusRequestEntityTooLarge, "body_too_large", i18n.T("gateway.models_large", "MiB",
			maxRouted>>20))
		return
	case err != nil:
		g.badCall(w, r, http.StatusBadRequest, "body_unreadable", i18n.T("gateway.models_unreadable"))
		return
	}
	name, from, to, ok := modelIn(body)
	if !ok {
		g.badCall(w, r, http.StatusBadRequest, "model_missing", i18n.T("gateway.models_missing"))
		return
	}
	m, ok := find(list, name)
	if !ok {
		g.noModel(w, r, list, name)
		return
	}
	if m.served != "" && m.served != name {
		written, _ := json.Marshal(m.served) // a string has no way to fail
		body = slices.Concat(body[:from], written, body[to:])
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	at := g.siteOfCall(r.Context())
	r.Host = m.endpoint.Name + "." + at.domain + at.port
	g.pass(w, r, m.endpoint.Name)
}

var errTooLong = errors.New("gateway: the body is too long")

// readRouted reads a body, for as long and as much as may be.
func readRouted(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxRouted {
		return nil, errTooLong
	}
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Now().Add(routedWithin)) == nil {
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRouted+1))
	if err == nil && len(body) > maxRouted {
		return nil, errTooLong
	}
	return body, err
}

// modelIn finds "model" of a JSON object: its value, and where it stands. Not ok where there is none, or two, of which
// the server might read the other.
func modelIn(body []byte) (name string, from, to int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", 0, 0, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return "", 0, 0, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return "", 0, 0, false
		}
		if word, _ := key.(string); !strings.EqualFold(word, "model") {
			continue
		}
		if ok || json.Unmarshal(value, &name) != nil || name == "" {
			return "", 0, 0, false
		}
		to, ok = int(d.InputOffset()), true
		from = to - len(value)
	}
	if _, err := d.Token(); err != nil {
		return "", 0, 0, false
	}
	return name, from, to, ok
}

// noModel says which models there are.
func (g *Gateway) noModel(w http.ResponseWriter, r *http.Request, list []model, name string) {
	var ids []string
	for _, m := range list[:min(len(list), 20)] {
		ids = append(ids, m.id)
	}
	text := i18n.T("gateway.models_unknown", "Model", name[:min(len(name), maxModelID)], "Models", strings.Join(ids, ", "))
	if len(ids) == 0 {
		text = i18n.T("gateway.models_none")
	}
	g.badCall(w, r, http.StatusNotFound, "model_not_found", text)
}

func (g *Gateway) badCall(w http.ResponseWriter, r *http.Request, status int, code string, text i18n.Text) {
	g.say(w, r, answer{status: status, title: i18n.T("gateway.refused"), text: text, link: g.portal + "/",
		linked: i18n.T("gateway.to_portal"), code: code})
}
