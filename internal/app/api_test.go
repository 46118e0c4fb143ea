package app

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/api"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// fieldsOf is the name of every field of a model, as JSON might spell it.
func fieldsOf(models ...reflect.Type) []string {
	var names []string
	for _, m := range models {
		for i := range m.NumField() {
			tag, _, _ := strings.Cut(m.Field(i).Tag.Get("json"), ",")
			names = append(names, tag, m.Field(i).Name, strings.ToLower(m.Field(i).Name[:1])+m.Field(i).Name[1:])
		}
	}
	return append(names, "approved", "price", "priority", "isAdmin", "roles", "version", "__proto__", "$schema")
}

// TestOnlyDocumentedFieldsCount sends every field of every model in every body: what a body does not document is
// refused (T-AUTHZ-4).
func TestOnlyDocumentedFieldsCount(t *testing.T) {
	w := newWorld(t)
	token := w.token(developer)
	documented := map[string]bool{}
	body := reflect.TypeFor[api.RequestBody]()
	for i := range body.NumField() {
		name, _, _ := strings.Cut(body.Field(i).Tag.Get("json"), ",")
		documented[name] = true
	}
	valid := func() map[string]any {
		return map[string]any{"kind": "notebook", "tenant": "vision", "size": "cpu", "image": "jupyterlab"}
	}
	all := fieldsOf(reflect.TypeFor[request.Request](), reflect.TypeFor[request.Spec](), reflect.TypeFor[request.Draft](),
		reflect.TypeFor[request.Decision](), reflect.TypeFor[workload.Workload](),
		reflect.TypeFor[workload.Volume](), reflect.TypeFor[tenant.Tenant](), reflect.TypeFor[identity.Person](),
		reflect.TypeFor[identity.Actor](), reflect.TypeFor[api.Request](), reflect.TypeFor[api.Workload]())
	for _, name := range all {
		if name == "" || name == "-" || documented[name] {
			continue
		}
		b := valid()
		b[name] = "x"
		if a := w.call(token, http.MethodPost, "/api/v1/requests", b); a.status != http.StatusUnprocessableEntity ||
			!strings.Contains(a.body, `"name":"`+name+`"`) {
			t.Errorf("submit with %s: %d %s", name, a.status, a.body)
		}
	}
	if n := len(w.events("request.submitted")); n != 0 {
		t.Errorf("%d requests were made of it", n)
	}
	item, r := w.running(developer, "vision"), w.pending(developer, "vision")
	for path, b := range map[string]map[string]any{
		"/workloads/" + string(item.ID) + "/extend": {"lease": "1h"}, "/workloads/" + string(item.ID) +
			"/share": {"shared": true}, "/requests/" + string(r.ID) + "/approve": {"seen": 1}, "/requests/" + string(r.ID) +
			"/reject": {"seen": 1}} {
		for _, name := range []string{"tenant", "owner", "state", "size", "until", "approved", "by", "decision", "workload"} {
			b[name] = "x"
			if a := w.call(w.token(admin), http.MethodPost, "/api/v1"+path, b); a.status != http.StatusUnprocessableEntity {
				t.Errorf("%s with %s: %d %s", path, name, a.status, a.body)
			}
			delete(b, name)
		}
	}
	// In the pages' forms such fields mean nothing.
	form := w.form("POST /start")
	for _, name := range all {
		if !documented[name] && name != "key" && name != "preset" && name != "instead" {
			form.Set(name, "admin")
		}
	}
	if got := w.signedIn(developer).post("/start", form); got.status != http.StatusSeeOther {
		t.Fatalf("the form: %d", got.status)
	}
	items, _, err := w.store.Workloads(t.Context(), workload.Filter{Tenants: []string{"vision"}})
	if err != nil || len(items) != 2 || items[0].Owner != w.person(developer).ID || items[0].State != workload.Queued ||
		items[0].Size.PricePerHour.Minor != 6 {
		t.Errorf("want what the form asks for, of the one who asks: %v %v", items, err)
	}
}

// TestOneChoosesByProgram: what one is told of comes back as it was chosen, for every kind there is, and what there is
// not is refused.
func TestOneChoosesByProgram(t *testing.T) {
	w := newWorld(t)
	token := w.token(developer)
	const path = "/api/v1/account/notifications"
	if a := w.call(token, http.MethodGet, path, nil); a.status != http.StatusOK ||
		!strings.Contains(a.body, `{"kind":"decided","channels":["mail"]},{"kind":"ready","channels":[]}`) {
		t.Errorf("want the usual ones, got %d %s", a.status, a.body)
	}
	var choices []any
	var want []string
	for i, kind := range notify.Kinds() {
		channel := string(notify.Channels()[i%3])
		choices = append(choices, map[string]any{"kind": string(kind), "channels": []string{channel}})
		want = append(want, fmt.Sprintf(`{"kind":%q,"channels":[%q]}`, kind, channel))
	}
	saved := w.call(token, http.MethodPut, path, map[string]any{"language": "ko", "choices": choices})
	for _, a := range []answer{saved, w.call(token, http.MethodGet, path, nil)} {
		if a.status != http.StatusOK || !strings.Contains(a.body, `"language":"ko"`) ||
			!strings.Contains(a.body, strings.Join(want, ",")) {
			t.Errorf("want what was chosen, got %d %s", a.status, a.body)
		}
	}
	for name, bad := range map[string]map[string]any{
		"a kind":     {"language": "ko", "choices": []any{map[string]any{"kind": "weather", "channels": []string{"mail"}}}},
		"a channel":  {"language": "ko", "choices": []any{map[string]any{"kind": "ready", "channels": []string{"fax"}}}},
		"a language": {"language": "xx", "choices": []any{}},
	} {
		if a := w.call(token, http.MethodPut, path, bad); a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s that there is not: %d %s", name, a.status, a.body)
		}
	}
}

// TestProblems: trouble is told in one form, with its fields and in the reader's language.
func TestProblems(t *testing.T) {
	w := newWorld(t)
	token := w.token(developer)
	good := func(change func(map[string]any)) map[string]any {
		b := map[string]any{"kind": "notebook", "tenant": "vision", "size": "cpu", "image": "jupyterlab"}
		change(b)
		return b
	}
	cases := map[string]struct {
		method, path string
		body         any
		status       int
		kind, field  string
		german       string // in the detail or the field's reason
	}{
		"an unknown size": {http.MethodPost, "/requests", good(func(b map[string]any) { b["size"] = "huge" }), 422,
			"invalid", "size", "huge"},
		"an unknown image": {http.MethodPost, "/requests", good(func(b map[string]any) { b["image"] = "evil" }), 422,
			"invalid", "image", "evil"},
		"an unknown team": {http.MethodPost, "/requests", good(func(b map[string]any) { b["tenant"] = "nobody" }), 422,
			"invalid", "tenant", "nobody"},
		"somebody's team": {http.MethodPost, "/requests", good(func(b map[string]any) { b["tenant"] = "speech" }), 422,
			"invalid", "tenant", "speech"},
		"no time": {http.MethodPost, "/requests", good(func(b map[string]any) { b["lease"] = "0s" }), 422,
			"invalid", "lease", ""},
		"ten years": {http.MethodPost, "/requests", good(func(b map[string]any) { b["lease"] = "3650d" }), 422,
			"invalid", "lease", ""},
		"hidden characters": {http.MethodPost, "/requests", good(func(b map[string]any) { b["reason"] = "a\u202eb" }), 422,
			"invalid", "reason", ""},
		"too much storage": {http.MethodPost, "/requests", good(func(b map[string]any) { b["storage"] = "999999Ti" }), 422,
			"invalid", "storage", ""},
		"a missing field": {http.MethodPost, "/requests", good(func(b map[string]any) { delete(b, "kind") }), 422, "invalid",
			"kind", "fehlt"},
		"a wrong kind": {http.MethodPost, "/requests", good(func(b map[string]any) { b["kind"] = "vm" }), 422, "invalid",
			"kind", "Möglich sind"},
		"a wrong type": {http.MethodPost, "/requests", good(func(b map[string]any) { b["size"] = 7 }), 422, "invalid",
			"size", "Text"},
		"an unknown field": {http.MethodPost, "/requests", good(func(b map[string]any) { b["owner"] = "me" }), 422, "invalid",
			"owner", "gibt es nicht"},
		"a wrong limit": {http.MethodGet, "/requests?limit=x", nil, 422, "invalid", "limit", "Zahl"},
		"nothing there": {http.MethodGet, "/requests/r-none", nil, 404, "not-found", "", ""},
		"no operation":  {http.MethodGet, "/none", nil, 404, "not-found", "", ""},
	}
	for name, c := range cases {
		a := w.call(token, c.method, "/api/v1"+c.path, c.body, "Accept-Language", "de")
		p := a.json(t)
		if a.status != c.status || a.header.Get("Content-Type") != "application/problem+json" ||
			p["type"] != "urn:gpu-portal:problem:"+c.kind || p["status"] != float64(c.status) || p["title"] == "" ||
			p["detail"] == "" {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if want := "urn:gpu-portal:request:" + a.header.Get("X-Request-Id"); p["instance"] != want {
			t.Errorf("%s: want the instance %s, got %v", name, want, p["instance"])
		}
		if c.field != "" && !strings.Contains(a.body, `"name":"`+c.field+`"`) || !strings.Contains(a.body, c.german) ||
			a.header.Get("Content-Language") != "de" {
			t.Errorf("%s: want the field %s with %q, got %s", name, c.field, c.german, a.body)
		}
		for _, english := range []string{"expected", "unexpected", "invalid integer", "validation failed", "Please",
			"There is"} {
			if strings.Contains(a.body, english) {
				t.Errorf("%s: English for a German reader: %s", name, a.body)
			}
		}
	}
	a := w.call("", http.MethodGet, "/api/v1/me", nil)
	if a.status != 401 || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("nobody: %d %v", a.status, a.header)
	}
	lists := []string{"/tenants", "/sizes", "/images", "/inventory", "/licenses", "/requests", "/workloads", "/volumes"}
	for _, path := range lists {
		l := w.call(token, http.MethodGet, "/api/v1"+path, nil).json(t)
		if _, ok := l["items"].([]any); !ok || l["next"] != "" {
			t.Errorf("%s: want items and next, got %v", path, l)
		}
	}
}
