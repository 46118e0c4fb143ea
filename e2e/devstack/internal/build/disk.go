package build

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// What a build needs beside what is there already. Measured: the programs 0.3 GB, their modules 1.6 GB unpacked and
// about 0.5 GB as downloads, the compiler's cache 0.8 GB; the linker's work folder is guessed at 1 GB.
const (
	needCold  = 5 << 30
	needWarm  = 3 << 29
	warmCache = 700 << 20 // a cache that holds Kubernetes is at least this big
)

// checkDisk refuses to begin a build that would fill the disk.
func checkDisk(ctx context.Context, out string) error {
	cache, err := goEnv(ctx, "GOCACHE")
	if err != nil {
		return err
	}
	modules, err := goEnv(ctx, "GOMODCACHE")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	need := uint64(needCold)
	if _, err := os.Stat(filepath.Join(modules, "k8s.io", "kubernetes@"+Kubernetes)); err == nil &&
		atLeast(cache, warmCache) {
		need = needWarm
	}
	return checkFree(need, cache, out)
}

// checkFree wants all of it where the first folder is, and a part of it where the others are.
func checkFree(need uint64, dirs ...string) error {
	for _, dir := range dirs {
		free, err := freeBytes(dir)
		if err != nil {
			return err
		}
		if free < need {
			return fmt.Errorf("the build needs %.1f GB of disk and %s has %.1f GB free: make room, or move the cache with "+
				"GOCACHE",
				gigabytes(need), dir, gigabytes(free))
		}
		need = min(need, needWarm)
	}
	return nil
}

func gigabytes(n uint64) float64 { return float64(n) / (1 << 30) }

func freeBytes(dir string) (uint64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("ask for the free space of %s: %w", dir, err)
	}
	return stat.Bavail * uint64(stat.Bsize), nil
}

// atLeast says whether the files below dir have this size together; it stops counting once they do.
func atLeast(dir string, size int64) bool {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			total += info.Size()
		}
		if total >= size {
			return fs.SkipAll
		}
		return nil
	})
	return total >= size
}

func goEnv(ctx context.Context, name string) (string, error) {
	text, err := exec.CommandContext(ctx, "go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(text)), nil
}
