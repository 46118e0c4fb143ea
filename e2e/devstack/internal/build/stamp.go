package build

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

type staleProgram struct {
	program program
	stamp   string
}

// staleOnes are the programs that are missing, or were made from something else.
func staleOnes(ctx context.Context, source, out string, wanted []program) ([]staleProgram, error) {
	version, err := exec.CommandContext(ctx, "go", "version").Output()
	if err != nil {
		return nil, fmt.Errorf("ask go for its version: %w", err)
	}
	var stale []staleProgram
	for _, p := range wanted {
		stamp, err := stampOf(source, p, string(version))
		if err != nil {
			return nil, err
		}
		old, _ := os.ReadFile(stampPath(out, p))
		if _, err := os.Stat(filepath.Join(out, p.name)); err != nil || string(old) != stamp {
			stale = append(stale, staleProgram{p, stamp})
		}
	}
	return stale, nil
}

func stampPath(out string, p program) string { return filepath.Join(out, "."+p.name+".stamp") }

// stampOf is a hash over all that decides what a program becomes: the modules, our sources, the flags, the compiler.
func stampOf(source string, p program, goVersion string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, goVersion, p.pkg, p.ldflags, p.tags)
	files := []string{filepath.Join(p.module, "go.mod"), filepath.Join(p.module, "go.sum")}
	for _, dir := range p.sources {
		err := filepath.WalkDir(filepath.Join(source, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(source, path)
			files = append(files, rel)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("read the sources of %s: %w", p.name, err)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(source, file))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", file, len(text), text)
	}
	return fmt.Sprintf("%x\n", sum.Sum(nil)), nil
}
