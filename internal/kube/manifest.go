package kube

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v2"
	corev1 "k8s.io/api/core/v1"
)

// masked stands in the place of every secret value that a person may read.
const masked = "********"

// Manifest writes objects as YAML for people, as they would be applied: without status, nulls and empty structs of the
// typed form. Values of Secrets are masked, and what the portal alone reads (SpecKey) is left out.
func Manifest(objects []Object) (string, error) {
	var b strings.Builder
	for i, o := range objects {
		content, err := Content(o)
		if err != nil {
			return "", err
		}
		if _, secret := o.(*corev1.Secret); secret {
			mask(content)
		}
		if meta, ok := content["metadata"].(map[string]any); ok {
			if notes, ok := meta["annotations"].(map[string]any); ok {
				delete(notes, SpecKey)
			}
		}
		text, err := yaml.Marshal(whole(content))
		if err != nil {
			return "", fmt.Errorf("write %s as YAML: %w", o.GetName(), err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return b.String(), nil
}

// whole makes integers of the numbers that are: JSON has no type of its own for them, and YAML would write 1e+06.
// sigs.k8s.io/yaml does so by reading its JSON as YAML, which takes longer than all the rest of a manifest.
func whole(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, item := range v {
			v[name] = whole(item)
		}
	case []any:
		for i, item := range v {
			v[i] = whole(item)
		}
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	}
	return value
}

// mask moves the values where they are read as text, since a mask in base64 says nothing.
func mask(content map[string]any) {
	values := map[string]any{}
	for _, field := range []string{"data", "stringData"} {
		data, _ := content[field].(map[string]any)
		for name := range data {
			values[name] = masked
		}
		delete(content, field)
	}
	content["stringData"] = values
}

// Content is the applied part of an object: the fields that the portal decides, without those that only the typed form
// writes.
func Content(o Object) (map[string]any, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", o.GetName(), err)
	}
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("read %s back: %w", o.GetName(), err)
	}
	delete(content, "status")
	if spec, ok := content["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(content, "spec")
	}
	prune(content)
	return content, nil
}

// prune drops nulls, and the structs that are empty only because their typed form cannot leave them out. Other empty
// values mean something: an empty podSelector is every pod.
func prune(m map[string]any) {
	for name, value := range m {
		switch v := value.(type) {
		case nil:
			delete(m, name)
		case map[string]any:
			prune(v)
			if len(v) == 0 && (name == "resources" || name == "strategy" || name == "updateStrategy") {
				delete(m, name)
			}
		case []any:
			for _, item := range v {
				if child, ok := item.(map[string]any); ok {
					prune(child)
				}
			}
		}
	}
}
