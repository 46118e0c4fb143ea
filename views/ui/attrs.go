package ui

import (
	"strings"

	"github.com/a-h/templ"
)

// classAttr is the class of an element. A class expression makes two maps for each.
func classAttr(always string, more ...string) templ.OrderedAttributes {
	for _, name := range more {
		always += name
	}
	return templ.OrderedAttributes{{Key: "class", Value: always}}
}

// when is what stands in a class only on a condition, with the space before it.
func when(condition bool, parts ...string) string {
	if !condition {
		return ""
	}
	return strings.Join(parts, "")
}
