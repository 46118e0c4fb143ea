package reconcile

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FieldManager is the name under which the controller owns fields, forever.
const FieldManager = "gpu-portal"

// owns reports whether the controller still owns every field that it wants. When somebody else changes or removes a
// field, the API server takes it from our entry in managedFields; so a foreign edit is found without comparing values,
// which defaults and webhooks would disturb. Objects without an entry (never applied by us) are not owned.
func owns(wanted map[string]any, entries []metav1.ManagedFieldsEntry) bool {
	for _, e := range entries {
		if !ours(e) || e.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			return false
		}
		return ownsAll(withoutIdentity(wanted), fields)
	}
	return false
}

// ours is the one entry that apply writes: other operations and subresources have entries of their own.
func ours(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// withoutIdentity drops what managedFields never lists.
func withoutIdentity(wanted map[string]any) map[string]any {
	rest := make(map[string]any, len(wanted))
	for k, v := range wanted {
		switch k {
		case "apiVersion", "kind":
		case "metadata":
			meta := map[string]any{}
			for name, value := range v.(map[string]any) {
				if name != "name" && name != "namespace" && name != "uid" {
					meta[name] = value
				}
			}
			rest[k] = meta
		default:
			rest[k] = v
		}
	}
	return rest
}

// ownsAll walks what is wanted beside the field set. A node of the set without children is a leaf: owned as a whole.
func ownsAll(wanted any, node map[string]any) bool {
	if len(node) == 0 {
		return true
	}
	switch v := wanted.(type) {
	case map[string]any:
		for name, value := range v {
			child, ok := node["f:"+name].(map[string]any)
			if !ok || !ownsAll(value, child) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !ownsItem(item, node) {
				return false
			}
		}
	}
	return true
}

// ownsItem looks for a list item: "v:<value>" in a set, "k:<keys>" in a list keyed by some of its fields. A key that is
// not in the item has its default.
func ownsItem(item any, node map[string]any) bool {
	object, isObject := item.(map[string]any)
	for name, child := range node {
		children, _ := child.(map[string]any)
		if text, found := strings.CutPrefix(name, "k:"); found && isObject && sameKey(text, object) {
			return ownsAll(withoutKeys(object, text), children)
		}
		if text, found := strings.CutPrefix(name, "v:"); found && !isObject && sameJSON(text, item) {
			return true
		}
	}
	return false
}

func sameKey(text string, item map[string]any) bool {
	var key map[string]any
	if json.Unmarshal([]byte(text), &key) != nil {
		return false
	}
	for name, value := range key {
		if has, ok := item[name]; ok && has != value {
			return false
		}
	}
	return true
}

func withoutKeys(item map[string]any, text string) map[string]any {
	var key map[string]any
	_ = json.Unmarshal([]byte(text), &key) // sameKey has read it
	rest := map[string]any{}
	for name, value := range item {
		if _, isKey := key[name]; !isKey {
			rest[name] = value
		}
	}
	return rest
}

func sameJSON(text string, value any) bool {
	var v any
	return json.Unmarshal([]byte(text), &v) == nil && v == value
}
