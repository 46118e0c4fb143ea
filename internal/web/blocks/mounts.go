package blocks

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// AccessWords are the access of a volume in a word, and what it means.
func AccessWords(say page.Words, s workload.TeamShare) (word, about string) {
	word, about = say.S("team.access_many"), say.S("team.access_many_why")
	if s.Access == workload.OneNode {
		word, about = say.S("team.access_one"), say.S("team.access_one_why")
	}
	if s.ReadOnly {
		word += ", " + say.S("team.read_only")
	}
	return word, about
}

// MountNames are what the start form calls the team's volumes that a workload has.
func MountNames(mounts []workload.Mount) []string {
	var names []string
	for _, m := range mounts {
		names = append(names, m.Name)
	}
	return names
}

// MountWords are the team's volumes that a workload has.
func MountWords(mounts []workload.Mount) string {
	var names []string
	for _, m := range mounts {
		names = append(names, workload.SharedDir+"/"+m.Name)
	}
	return strings.Join(names, ", ")
}
