package config

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/notify"
)

// Secrets are what people keep for their workloads: keys of object storage, tokens, git credentials.
type Secrets struct {
	// files with keys that were in secretKeyFile before. What was encrypted with them is read, and encrypted anew with the
	// present key, within ten minutes of the start; then they can go; default none
	PreviousKeyFiles []string `json:"previousKeyFiles,omitempty"`
	// image with git 2.31 or later and a shell, by digest, that clones a repository before a workload starts:
	// "registry.example.org/git@sha256:…"; default none, and nothing can be cloned
	GitImage string `json:"gitImage,omitempty"`
	// image with rclone 1.60 or later and a shell, by digest, that copies data sets from object storage before a workload
	// starts: "registry.example.org/rclone@sha256:…"; default none, and no bucket can be offered
	RcloneImage string `json:"rcloneImage,omitempty"`
	// hosts that owners may name as a registry, with those where these give tokens, "ghcr.io" or "*.example.org"; default
	// every public one
	RegistryHosts []string `json:"registryHosts,omitempty"`
	// private CIDRs in which registries may be, which the portal asks whether they take a password; default none
	RegistryNetworks []string `json:"registryNetworks,omitempty"`
}

func (s Secrets) problems() []error {
	var all []error
	for i, file := range s.PreviousKeyFiles {
		if _, err := ReadKey(file); err != nil {
			all = append(all, fmt.Errorf("secrets.previousKeyFiles[%d]: %w", i, err))
		}
	}
	for _, image := range []struct{ setting, name string }{{"gitImage", s.GitImage}, {"rcloneImage", s.RcloneImage}} {
		if name, digest, _ := strings.Cut(image.name, "@"); image.name != "" && (name == "" ||
			!strings.HasPrefix(digest, "sha256:") || len(digest) != len("sha256:")+64 ||
			strings.ContainsAny(image.name, " \t\n")) {
			all = append(all, fmt.Errorf("secrets.%s: %q names no digest: name@sha256:… with 64 characters", image.setting,
				image.name))
		}
	}
	for _, h := range s.RegistryHosts {
		if h == "" || strings.ContainsAny(h, "/: ") || strings.Contains(strings.TrimPrefix(h, "*."), "*") {
			all = append(all, fmt.Errorf("secrets.registryHosts: %q is not a name such as ghcr.io or *.example.org", h))
		}
	}
	for _, cidr := range s.RegistryNetworks {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			all = append(all, fmt.Errorf("secrets.registryNetworks: %q is not a network such as 10.0.0.0/8", cidr))
		}
	}
	return all
}

// Guard is which registries may be called.
func (s Secrets) Guard() notify.Guard {
	return Notify{Hosts: s.RegistryHosts, Networks: s.RegistryNetworks}.Guard()
}

// ReadKey reads 32 bytes in hex.
func ReadKey(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%s must hold 32 bytes in hex (openssl rand -hex 32)", file)
	}
	return key, nil
}
