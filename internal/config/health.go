package config

import (
	"errors"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

// Health says what counts as the state of a card now.
type Health struct {
	// for how long an error counts as recent; older ones are shown as old and call for nothing. From 10m to 30d; default
	// 1d
	RecentErrorWindow catalog.Duration `json:"recentErrorWindow,omitempty"`
}

// ErrorWindow is for how long an error is.
func (h Health) ErrorWindow() time.Duration {
	if h.RecentErrorWindow == 0 {
		return gpumetrics.UsualRecent
	}
	return h.RecentErrorWindow.Std()
}

func (h Health) problems() []error {
	if n := h.ErrorWindow(); n < 10*time.Minute || n > 30*24*time.Hour {
		return []error{errors.New("health.recentErrorWindow: must be from 10m to 30d; default " +
			catalog.Duration(gpumetrics.UsualRecent).String())}
	}
	return nil
}
