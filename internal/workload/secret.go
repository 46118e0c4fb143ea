package workload

import (
	"path"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// SecretsDir is where a workload finds the files of its secrets, those of each in a directory of its name.
const SecretsDir = "/secrets"

// SecretUse is a reference to a secret as it was when the workload was requested. It never holds a value: those are
// read when the workload is rendered.
type SecretUse struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Kind  string   `json:"kind"`           // secret.Kind
	Team  bool     `json:"team,omitempty"` // of the team; else of the workload's owner alone
	Env   []string `json:"env,omitempty"`  // variables that it sets
	Files []string `json:"files,omitempty"`
	// Copies: data sets are copied with it, and no program of the workload sees it.
	Copies bool `json:"copies,omitempty"`
}

// PullKind is the kind of a secret with which an image is pulled. No program sees it, and nobody asks for it by name.
const PullKind = "registry"

// Pulls reports whether it is one of PullKind.
func (u SecretUse) Pulls() bool { return u.Kind == PullKind }

// Hidden reports whether the programs of the workload do not have it.
func (u SecretUse) Hidden() bool { return u.Pulls() || u.Copies }

// EnvKey is the key of a variable in the workload's Kubernetes Secret.
func (u SecretUse) EnvKey(name string) string { return u.ID + ".env." + name }

// FileKey is the key of a file in the workload's Kubernetes Secret.
func (u SecretUse) FileKey(name string) string { return u.ID + ".file." + name }

// Path is where a workload finds a file of it.
func (u SecretUse) Path(file string) string { return path.Join(SecretsDir, u.Name, file) }

// Keys are all keys that it has in the workload's Kubernetes Secret.
func (u SecretUse) Keys() []string {
	var keys []string
	for _, name := range u.Env {
		keys = append(keys, u.EnvKey(name))
	}
	for _, name := range u.Files {
		keys = append(keys, u.FileKey(name))
	}
	return keys
}

// HasSecret reports whether a workload was asked for with a secret.
func (w Workload) HasSecret(id string) bool {
	return slices.ContainsFunc(w.Secrets, func(u SecretUse) bool { return u.ID == id })
}

// SecretsFor are its secrets that somebody may see the names of, and how many there are beside those: what a person has
// of their own is for them and for administrators.
func (w Workload) SecretsFor(a identity.Actor) (named []SecretUse, others int) {
	own := identity.Can(a, identity.ReadSecrets, identity.Resource{Owner: w.Owner})
	for _, u := range w.Secrets {
		if u.Team || own {
			named = append(named, u)
			continue
		}
		others++
	}
	return named, others
}

// OwnSecrets are those of its owner alone: whoever can open the workload can read them there.
func (w Workload) OwnSecrets() []SecretUse {
	return slices.DeleteFunc(slices.Clone(w.Secrets), func(u SecretUse) bool { return u.Team })
}

// GitContainer is the container that clones the repository.
const GitContainer = "git-clone"

// Git is a repository that an init container clones, unless it is there already.
type Git struct {
	URL   string `json:"url"`             // https, without a user
	Ref   string `json:"ref,omitempty"`   // branch, tag or commit; "" for the default branch
	Image string `json:"image,omitempty"` // with git, of the site
}

// Dir is the name of the directory that it is cloned into, below the home of the image.
func (g Git) Dir() string {
	name := strings.TrimSuffix(path.Base(strings.TrimRight(g.URL, "/")), ".git")
	if name == "" || name == "." || name == "/" {
		return "repository"
	}
	return name
}
