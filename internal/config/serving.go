package config

import (
	"errors"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// Serving is how calls to endpoints that sleep are treated. Who may sleep is for the rules (replicas_min).
type Serving struct {
	// how long a call waits for an endpoint to wake before it gets 503; keep it below the timeouts of proxies in front.
	// From 1s to 10m; default 1m
	WakeWithin catalog.Duration `json:"wakeWithin,omitempty"`
	// how many calls at once each gateway lets wait for one endpoint. From 1 to 10000; default 100
	HeldRequests int `json:"heldRequests,omitempty"`
}

func (s Serving) problems() (all []error) {
	if d := s.WakeWithin.Std(); d != 0 && (d < time.Second || d > 10*time.Minute) {
		all = append(all, errors.New("serving.wakeWithin: must be from 1s to 10m; default 1m"))
	}
	if n := s.HeldRequests; n < 0 || n > 10_000 {
		all = append(all, errors.New("serving.heldRequests: must be from 1 to 10000; default 100"))
	}
	return all
}
