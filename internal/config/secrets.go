package config

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// Secrets are what people keep for their workloads: keys of object storage, tokens, git credentials.
type Secrets struct {
	// files with keys that were in secretKeyFile before. What was encrypted with them is read, and encrypted anew with the
	// present key, within ten minutes of the start; then they can go; default none
	PreviousKeyFiles []string `json:"previousKeyFiles,omitempty"`
	// image with git 2.31 or later and a shell, by digest, that clones a repository before a workload starts:
	// "registry.example.org/git@sha256:…"; default none, and nothing can be cloned
	GitImage string `json:"gitImage,omitempty"`
}

func (s Secrets) problems() []error {
	var all []error
	for i, file := range s.PreviousKeyFiles {
		if _, err := ReadKey(file); err != nil {
			all = append(all, fmt.Errorf("secrets.previousKeyFiles[%d]: %w", i, err))
		}
	}
	if name, digest, _ := strings.Cut(s.GitImage, "@"); s.GitImage != "" && (name == "" ||
		!strings.HasPrefix(digest, "sha256:") || len(digest) != len("sha256:")+64 || strings.ContainsAny(s.GitImage, " \t\n")) {
		all = append(all, fmt.Errorf("secrets.gitImage: %q names no digest: name@sha256:… with 64 characters", s.GitImage))
	}
	return all
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
