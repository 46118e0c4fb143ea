package blocks

import (
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/request"
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
		if m.OfTeam() {
			names = append(names, m.Name)
		}
	}
	return names
}

// DatasetNames are the data sets that a workload has.
func DatasetNames(mounts []workload.Mount) []string {
	var names []string
	for _, m := range mounts {
		if m.Dataset != "" {
			names = append(names, m.Dataset)
		}
	}
	return names
}

// readOnly stands behind the name of a personal volume in the start form. No name has a colon.
const readOnly = ":ro"

// VolumeUses are what the start form calls the personal volumes that a workload has.
func VolumeUses(mounts []workload.Mount) []string {
	var uses []string
	for _, m := range mounts {
		switch {
		case !m.Personal:
		case m.ReadOnly:
			uses = append(uses, m.Claim+readOnly)
		default:
			uses = append(uses, m.Claim)
		}
	}
	return uses
}

// chosen leaves out what was not chosen.
func chosen(typed []string) []string {
	return slices.DeleteFunc(slices.Clone(typed), func(text string) bool { return text == "" })
}

// volumeUses reads what VolumeUses has written, and what a form says: "" for a volume that was not chosen.
func volumeUses(typed []string) []request.VolumeUse {
	var uses []request.VolumeUse
	for _, text := range typed {
		if name, ro := strings.CutSuffix(text, readOnly); name != "" {
			uses = append(uses, request.VolumeUse{Name: name, ReadOnly: ro})
		}
	}
	return uses
}

// MountWords are the volumes that a workload has, where it finds them.
func MountWords(mounts []workload.Mount) string {
	var names []string
	for _, m := range mounts {
		names = append(names, m.Path())
	}
	return strings.Join(names, ", ")
}
