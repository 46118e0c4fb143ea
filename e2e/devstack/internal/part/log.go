package part

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxLog is the size at which the log of an earlier run is set aside (one is kept).
const maxLog = 8 << 20

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("log folder: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("set the old log aside: %w", err)
		}
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

// lastLines are the last n lines of a log, for a person who asks why something ended.
func lastLines(path string, n int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const window = 16 << 10
	if info, err := f.Stat(); err == nil && info.Size() > window {
		_, _ = f.Seek(-window, 2)
	}
	var text bytes.Buffer
	_, _ = text.ReadFrom(f)
	trimmed := strings.TrimRight(text.String(), "\n")
	if trimmed == "" {
		return ""
	}
	lines := strings.Split(trimmed, "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	for i, line := range lines {
		if len(line) > 300 {
			line = line[:300] + " …"
		}
		lines[i] = "    " + line
	}
	return strings.Join(lines, "\n")
}
