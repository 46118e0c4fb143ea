package audit

import (
	"slices"
	"strings"
)

// Category is what a kind of event is about, for readers who know no kinds. Each has a name "audit.category.<category>"
// in the messages.
type Category string

// The categories, in the order in which people are offered them.
const (
	AboutRequests     Category = "requests"
	AboutWorkloads    Category = "workloads"
	AboutStorage      Category = "storage"
	AboutAccess       Category = "access"
	AboutOrganization Category = "organization"
	AboutPlatform     Category = "platform"
)

// nouns are the first words of the kinds of each category.
var nouns = map[Category][]string{
	AboutRequests:  {"request", "quota", "delegation"},
	AboutWorkloads: {"workload", "revision", "schedule", "lease", "advice"},
	AboutStorage:   {"volume", "snapshot", "dataset"},
	AboutAccess: {"session", "sessions", "standing", "impersonation", "access", "person", "token", "embed", "secret",
		"key", "reach", "terminal", "file", "tunnel"},
	AboutOrganization: {"tenant", "member", "budget", "statement"},
	AboutPlatform: {"catalog", "rules", "idle", "price", "license", "hardware", "cluster", "difference", "object",
		"address", "delivery", "loglevel"},
}

// Categories lists every category.
func Categories() []Category {
	return []Category{AboutRequests, AboutWorkloads, AboutStorage, AboutAccess, AboutOrganization, AboutPlatform}
}

// Kinds lists the kinds of a category; none for what is no category.
func (c Category) Kinds() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		noun, _, _ := strings.Cut(string(k), ".")
		return !slices.Contains(nouns[c], noun)
	})
}
