package policy

import (
	"bytes"
	"errors"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Written is the text with one rule changed, or added where name is ""; it stands before the rule of that name, last
// for "". Comments stay, and so does what is not among the fields: the steps of an approval.
func Written(text, name string, r Rule, before string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return "", unreadable(err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.SequenceNode {
		return "", unreadable(errors.New("the rules are no list"))
	}
	list := doc.Content[0]
	item := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if name != "" {
		i := ruleAt(list, name)
		if i < 0 {
			return "", fault.New(fault.NotFound, i18n.T("policy.no_such_rule"))
		}
		item = list.Content[i]
		list.Content = slices.Delete(list.Content, i, i+1)
	}
	for _, v := range []struct{ key, value string }{{"name", r.Name}, {"when", r.When}, {"outcome", string(r.Outcome)},
		{"by", string(r.By)}, {"sentence", r.Sentence}} {
		put(item, v.key, v.value)
	}
	if r.Outcome != Approve {
		put(item, "steps", "")
	}
	at := len(list.Content)
	if i := ruleAt(list, before); before != "" && i >= 0 {
		at = i
	}
	list.Content, list.Style = slices.Insert(list.Content, at, item), 0
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return "", unreadable(err)
	}
	return b.String(), e.Close()
}

func unreadable(err error) error {
	return fault.Wrap(fault.Invalid, err, i18n.T("policy.text_unreadable"))
}

func ruleAt(list *yaml.Node, name string) int {
	return slices.IndexFunc(list.Content, func(n *yaml.Node) bool {
		i := keyAt(n, "name")
		return i >= 0 && n.Content[i+1].Value == name
	})
}

func keyAt(n *yaml.Node, key string) int {
	if n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// put sets a value where it differs; "" takes it away.
func put(n *yaml.Node, key, value string) {
	i := keyAt(n, key)
	switch {
	case value == "" && i >= 0:
		n.Content = slices.Delete(n.Content, i, i+2)
	case value == "":
	case i >= 0 && n.Content[i+1].Kind == yaml.ScalarNode && n.Content[i+1].Value == value:
	case i >= 0:
		v := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, LineComment: n.Content[i+1].LineComment}
		n.Content[i+1] = v
	default:
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
	}
}
