package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// Tunnel lets people connect to the SSH server and the TCP ports that the image of a workload has which they may open:
// gpuctl ssh and gpuctl forward pass the bytes through the portal, and no port of the cluster is opened. Start and end
// are in the audit, what passes is kept nowhere.
type Tunnel struct {
	// whether there are tunnels
	Enabled bool `json:"enabled,omitempty"`
	// a tunnel in which nothing passes for so long ends; default 1h
	Idle catalog.Duration `json:"idle,omitempty"`
	// a tunnel ends after so long in any case; default 24h
	Longest catalog.Duration `json:"longest,omitempty"`
	// GiB that one tunnel passes, both directions together; default 100
	MaxGiB int `json:"maxGiB,omitempty"`
	// tunnels of one person at once, in each process; an editor opens several; default 10
	PerPerson int `json:"perPerson,omitempty"`
	// tunnels at once in each process; default 200
	Most int `json:"most,omitempty"`
}

func (t Tunnel) withDefaults() Tunnel {
	t.Idle = cmp.Or(t.Idle, catalog.Duration(time.Hour))
	t.Longest = cmp.Or(t.Longest, catalog.Duration(24*time.Hour))
	t.MaxGiB, t.PerPerson, t.Most = cmp.Or(t.MaxGiB, 100), cmp.Or(t.PerPerson, 10), cmp.Or(t.Most, 200)
	return t
}

func (t Tunnel) problems() []error {
	var all []error
	if t.PerPerson < 0 || t.Most < 0 || t.MaxGiB < 0 || t.MaxGiB > 1<<20 {
		all = append(all, fmt.Errorf("tunnel: perPerson, most and maxGiB must not be below zero, nor maxGiB above 1048576"))
	}
	if t.Idle < 0 || t.Longest < t.Idle {
		all = append(all, fmt.Errorf("tunnel.longest: %s is shorter than tunnel.idle, %s", t.Longest, t.Idle))
	}
	return all
}
