package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Mirror is where a site without the Internet has copies of images. A copy lies at the mirror under the path that the
// image has at its registry, as oc-mirror and Rancher lay them out: quay.io/jupyter/base becomes
// mirror.example.org/copies/jupyter/base.
type Mirror struct {
	// registry with the copies, and the path below which they lie: mirror.example.org:5000/copies; default none
	Registry string `json:"registry,omitempty"`
	// registries that nodes reach themselves, host or host:port; that of registry is one of them; default none
	Except []string `json:"except,omitempty"`
}

// Docker Hub goes by two names, and by none; its images without a user are in library.
const (
	dockerHub    = "docker.io"
	dockerHubOld = "index.docker.io"
	dockerUser   = "library/"
)

// Of is where an image is pulled from. Tag and digest stay: what is behind a digest is the same everywhere.
func (m Mirror) Of(image string) string {
	to := strings.TrimRight(m.Registry, "/")
	registry, rest := splitImage(image)
	host, _, _ := strings.Cut(to, "/")
	if to == "" || rest == "" || registry == host || slices.Contains(m.Except, registry) {
		return image
	}
	return to + "/" + rest
}

// splitImage gives the registry of an image and the rest. The first part of a name is a registry where it has a dot or
// a port, or is localhost; otherwise the image is Docker Hub's.
func splitImage(image string) (registry, rest string) {
	first, rest, is := strings.Cut(image, "/")
	if !is || !strings.ContainsAny(first, ".:") && first != "localhost" {
		first, rest = dockerHub, image
	}
	if first == dockerHubOld {
		first = dockerHub
	}
	if name, _, _ := strings.Cut(rest, "@"); first == dockerHub && rest != "" && !strings.Contains(name, "/") {
		rest = dockerUser + rest
	}
	return first, rest
}

var (
	registryHost = regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*(:[0-9]{1,5})?$`)
	registryPath = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*$`)
)

// Problem says what is wrong with the setting; nil for nothing.
func (m Mirror) Problem() error {
	host, path, below := strings.Cut(strings.TrimRight(m.Registry, "/"), "/")
	if m.Registry == "" {
		if len(m.Except) > 0 {
			return fmt.Errorf("except needs a registry")
		}
		return nil
	}
	// without a dot or a port the name would be taken for a user of Docker Hub
	if !registryHost.MatchString(host) || !strings.ContainsAny(host, ".:") && host != "localhost" {
		return fmt.Errorf("registry: %q does not begin with a registry, such as mirror.example.org:5000", m.Registry)
	}
	for part := range strings.SplitSeq(path, "/") {
		if below && !registryPath.MatchString(part) {
			return fmt.Errorf("registry: %q is no registry with a path: no scheme, no tag, small letters", m.Registry)
		}
	}
	for _, e := range m.Except {
		if !registryHost.MatchString(e) {
			return fmt.Errorf("except: %q is no registry, such as registry.example.org:5000", e)
		}
	}
	return nil
}
