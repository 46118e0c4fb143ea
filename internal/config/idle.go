package config

import (
	"errors"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/idle"
)

// Idle says how closely is looked at what runs; what counts as idle and what follows is set in the portal.
type Idle struct {
	// how often is looked, and the interval that must be measured without a gap: at least twice Prometheus's scrape
	// interval. From 10s to 1h; default 5m
	Every catalog.Duration `json:"every,omitempty"`
}

func (i Idle) problems() []error {
	if e := i.Every.Std(); e != 0 && (e < 10*time.Second || e > time.Hour || e%time.Second != 0) {
		return []error{errors.New("idle.every: must be whole seconds, from 10s to 1h; default " +
			catalog.Duration(idle.DefaultEvery).String())}
	}
	return nil
}
