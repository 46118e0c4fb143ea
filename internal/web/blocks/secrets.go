package blocks

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// SecretNames are what the start form calls the secrets of something that was started before, as far as a reader can
// start it with them again: those of the team, and their own.
func SecretNames(reader, owner identity.PersonID, uses []workload.SecretUse) []string {
	var names []string
	for _, u := range uses {
		if !u.Hidden() && (u.Team || owner == reader) {
			names = append(names, secret.ReferenceTo(u))
		}
	}
	return names
}

// SecretWords are the secrets of a workload as far as the reader may know them.
func SecretWords(k page.Call, w workload.Workload) string {
	named, others := w.SecretsFor(k.Actor)
	var words []string
	for _, u := range named {
		words = append(words, u.Name)
	}
	if others > 0 {
		words = append(words, k.Words.S("workload.secrets_of", "Count", k.Words.Number(float64(others)), "Name", w.OwnerName))
	}
	return strings.Join(words, ", ")
}

// GitWords are the repository that is cloned, with its branch.
func GitWords(g *workload.Git) string {
	if g == nil {
		return ""
	}
	if g.Ref == "" {
		return g.URL
	}
	return g.URL + " · " + g.Ref
}

// GitForm is a repository as the start form has it.
type GitForm struct{ URL, Ref, Secret string }

// LikeGit fills in the repository of something that was started before. The secret is ticked among the others.
func (f StartForm) LikeGit(g *workload.Git) StartForm {
	if g != nil {
		f.Git = GitForm{URL: g.URL, Ref: g.Ref}
	}
	return f
}
