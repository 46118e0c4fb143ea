package reconcile

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// Change is how a field of a live object differs from the rendered one.
type Change string

// The changes.
const (
	Added   Change = "added"   // server-side apply leaves it: only a removal by path takes it back
	Altered Change = "altered" // another value than the rendered one, or none: a forced apply sets it
)

// Edit is one field that differs from what was rendered. It carries no value: values may be secrets.
type Edit struct {
	Path        string // for people: spec.template.spec.containers[main].env[LD_PRELOAD]
	Change      Change
	Strict      bool      // carries security: the object is what was rendered
	By          string    // field manager; "" where no entry of managedFields has the field
	At          time.Time // of that entry; zero for unknown
	pointer     string    // RFC 6901, into the live object
	fingerprint string    // path and value, to know an addition of the platform again
}

// Drift compares a rendered object with the live one, both as kube.Content gives them, and tells by managedFields who
// owns each difference. What API server and controllers fill in is no difference (see defaults). Outside of the strict
// fields only what another field manager owns counts.
func Drift(kind string, rendered, live map[string]any, entries []metav1.ManagedFieldsEntry) []Edit {
	c := comparison{kind: kind, live: live, owners: ownersOf(entries)}
	c.fields(fieldPath{}, rendered, live)
	return c.edits
}

type comparison struct {
	kind   string
	live   map[string]any
	owners []fieldOwner
	edits  []Edit
}

// fieldPath is where in an object the comparison is.
type fieldPath struct {
	path    string // for people
	pattern string // with [] for every item of a list
	pointer string
	fields  []any // names, and items of keyed lists as map[string]any
}

func (p fieldPath) field(name string) fieldPath {
	next := fieldPath{path: name, pattern: name, pointer: p.pointer + "/" + escape(name),
		fields: append(slices.Clip(p.fields), name)}
	if p.path != "" {
		next.path, next.pattern = p.path+"."+name, p.pattern+"."+name
		if strings.ContainsAny(name, "./") {
			next.path = p.path + "[" + name + "]"
		}
	}
	return next
}

func (p fieldPath) item(index int, name string, item map[string]any) fieldPath {
	return fieldPath{path: p.path + "[" + name + "]", pattern: p.pattern + "[]",
		pointer: fmt.Sprintf("%s/%d", p.pointer, index), fields: append(slices.Clip(p.fields), item)}
}

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func (c *comparison) fields(at fieldPath, rendered, live map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(live)) {
		next := at.field(name)
		if !c.concerns(next.pattern) {
			continue
		}
		want, has := rendered[name]
		switch {
		case has:
			c.value(next, want, live[name])
		case !c.usual(next.pattern, live[name]):
			c.addition(next, live[name])
		}
	}
	for name := range rendered {
		if _, has := live[name]; !has && c.strict(at.field(name).pattern) && !empty(rendered[name]) {
			c.report(at.field(name), Altered, nil)
		}
	}
}

func (c *comparison) value(at fieldPath, want, live any) {
	wantMap, isMap := want.(map[string]any)
	liveMap, bothMaps := live.(map[string]any)
	wantList, isList := want.([]any)
	liveList, bothLists := live.([]any)
	keys := keysOf[at.pattern]
	switch {
	case isMap && bothMaps:
		c.fields(at, wantMap, liveMap)
	case isList && bothLists && keys != nil:
		c.items(at, keys, wantList, liveList)
	case reflect.DeepEqual(want, live) || hidden(c.kind, at.pattern):
	case c.strict(at.pattern):
		c.report(at, Altered, live)
	}
}

// addition reports what was not rendered; outside of the strict fields a map is looked into, for parts of it are the
// platform's.
func (c *comparison) addition(at fieldPath, live any) {
	m, isMap := live.(map[string]any)
	if isMap && !c.strict(at.pattern) {
		c.fields(at, nil, m)
		return
	}
	if list, isList := live.([]any); isList && at.pattern == finalizers {
		c.finalizers(at, list)
		return
	}
	c.report(at, Added, live)
}

// finalizers are reported one by one: those of Kubernetes come and go.
func (c *comparison) finalizers(at fieldPath, list []any) {
	for _, f := range list {
		if name := fmt.Sprint(f); strings.Contains(name, "/") && !platform(finalizers+"."+name) {
			at.path = finalizers + "[" + name + "]"
			c.report(at, Added, f)
		}
	}
}

// items matches the items of a list by their keys. A second one with the same keys is an addition.
func (c *comparison) items(at fieldPath, keys []string, want, live []any) {
	left := map[string]map[string]any{}
	for _, w := range want {
		if item, ok := w.(map[string]any); ok {
			left[keyOf(item, keys)] = item
		}
	}
	for i, l := range live {
		item, ok := l.(map[string]any)
		if !ok {
			continue
		}
		name := keyOf(item, keys)
		next := at.item(i, name, item)
		if w, wanted := left[name]; wanted {
			delete(left, name)
			c.fields(next, w, item)
			continue
		}
		c.report(next, Added, item)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		c.report(fieldPath{path: at.path + "[" + name + "]", pattern: at.pattern + "[]"}, Altered, nil)
	}
}

func keyOf(item map[string]any, keys []string) string {
	var parts []string
	for _, k := range keys {
		if v, has := item[k]; has {
			parts = append(parts, fmt.Sprint(v))
		}
	}
	return strings.Join(parts, "/")
}

func (c *comparison) report(at fieldPath, change Change, live any) {
	e := Edit{Path: at.path, Change: change, Strict: c.strict(at.pattern), pointer: at.pointer}
	for _, o := range c.owners {
		if o.At.After(e.At) || e.By == "" {
			if o.has(at.fields) {
				e.By, e.At = o.Manager, o.At
			}
		}
	}
	if !e.Strict && (e.By == "" || change != Added) {
		return
	}
	text, err := json.Marshal(live)
	if err != nil {
		text = []byte(err.Error())
	}
	e.fingerprint = digest(at.path, string(change), string(text))
	c.edits = append(c.edits, e)
}

// strict reports whether a field carries security.
func (c *comparison) strict(pattern string) bool {
	if below(pattern, "metadata.ownerReferences") || ownKey(pattern) {
		return true
	}
	return slices.ContainsFunc(strictFields[c.kind], func(top string) bool { return below(pattern, top) })
}

// concerns leaves out what is not compared: identity, bookkeeping of the API server, status.
func (c *comparison) concerns(pattern string) bool {
	if pattern == nudged || pattern == checkpointed {
		return false
	}
	if slices.Contains(ancestors, pattern) || c.strict(pattern) {
		return true
	}
	shown := append(slices.Clip(shownFields), shownSpec[c.kind]...)
	return !platform(pattern) && slices.ContainsFunc(shown, func(top string) bool {
		return below(pattern, top) || below(top, pattern)
	}) || slices.ContainsFunc(strictFields[c.kind], func(top string) bool { return below(top, pattern) })
}

func below(pattern, top string) bool {
	return pattern == top || strings.HasPrefix(pattern, top+".") || strings.HasPrefix(pattern, top+"[]")
}

// empty values say nothing. Zero and false do: user 0 is root.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return false
}

// Removal is a JSON patch (RFC 6902) that takes strict additions out of the object that was seen: with its uid and
// resourceVersion, so that the API server answers Conflict when it is another one by now. Later items of a list go
// first. nil for nothing to remove.
func Removal(edits []Edit, uid, version string) ([]byte, error) {
	type op struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value,omitempty"`
	}
	var ops []op
	for _, e := range slices.Backward(edits) {
		if e.Strict && e.Change == Added {
			ops = append(ops, op{Op: "remove", Path: e.pointer})
		}
	}
	if len(ops) == 0 {
		return nil, nil
	}
	return json.Marshal(append(ops, op{"replace", "/metadata/uid", uid},
		op{"replace", "/metadata/resourceVersion", version}))
}

// driftOf compares an object with what the API server or the caches have of it.
func (o Object) driftOf(found metav1.Object) ([]Edit, error) {
	object, ok := found.(kube.Object)
	if !ok {
		return nil, fmt.Errorf("compare %s: %T is no typed object", o.Key, found)
	}
	live, err := kube.Content(object)
	if err != nil {
		return nil, err
	}
	return Drift(o.Kind, o.content, live, found.GetManagedFields()), nil
}

// fieldOwner is an entry of managedFields that is not ours.
type fieldOwner struct {
	Manager string
	At      time.Time
	set     map[string]any
}

func ownersOf(entries []metav1.ManagedFieldsEntry) []fieldOwner {
	var list []fieldOwner
	for _, e := range entries {
		if ours(e) || e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		o := fieldOwner{Manager: e.Manager}
		if e.Time != nil {
			o.At = e.Time.Time
		}
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &o.set) == nil {
			list = append(list, o)
		}
	}
	return list
}

// has reports whether the set holds a field, or something below it. A node without children is owned as a whole.
func (o fieldOwner) has(fields []any) bool {
	node := o.set
	for i, f := range fields {
		if len(node) == 0 {
			return i > 0
		}
		switch f := f.(type) {
		case string:
			child, ok := node["f:"+f].(map[string]any)
			if !ok {
				return false
			}
			node = child
		case map[string]any:
			child, ok := itemOf(node, f)
			if !ok {
				return false
			}
			node = child
		}
	}
	return len(fields) > 0
}

func itemOf(node, item map[string]any) (map[string]any, bool) {
	for name, child := range node {
		if text, found := strings.CutPrefix(name, "k:"); found && sameKey(text, item) {
			children, ok := child.(map[string]any)
			return children, ok
		}
	}
	return nil, false
}
