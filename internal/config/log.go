package config

import (
	"fmt"
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/logging"
)

// Log is how the portal logs, to standard error.
type Log struct {
	// lowest level that is written: debug, info, warn, error. Administrators can override it for a time with
	// PUT /api/v1/log-level; default info
	Level  string `json:"level,omitempty"`
	Format string `json:"format,omitempty"` // of lines: text (key=value) or json; default text
}

func (l Log) problems() []error {
	var all []error
	if _, err := logging.ParseLevel(l.Level); err != nil {
		all = append(all, fmt.Errorf("log.level: %w", err))
	}
	if !slices.Contains(logging.Formats(), l.Format) {
		all = append(all, fmt.Errorf("log.format: %q is none of %v", l.Format, logging.Formats()))
	}
	return all
}
