package config

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// Terminal lets people run a shell in the container of their own workloads, and in those that are shared with them for
// use, from the portal's page. It needs the right to create pods/exec (rbac.terminal in the chart). Start and end are
// in the audit, what is typed and answered is kept nowhere.
type Terminal struct {
	// whether there are terminals
	Enabled bool `json:"enabled,omitempty"`
	// the only teams whose workloads have terminals; none: all
	Tenants []string `json:"tenants,omitempty"`
	// whether files pass between the page and the container, for those who may have a terminal
	Files bool `json:"files,omitempty"`
	// GiB of one file at most; default 1
	FileGiB int `json:"fileGiB,omitempty"`
	// a terminal without a key and without output for so long ends; default 30m
	Idle catalog.Duration `json:"idle,omitempty"`
	// a terminal ends after so long in any case; default 8h
	Longest catalog.Duration `json:"longest,omitempty"`
	// terminals of one person at once, in each process; default 5
	PerPerson int `json:"perPerson,omitempty"`
	// terminals at once in each process; default 100
	Most int `json:"most,omitempty"`
}

func (t Terminal) withDefaults() Terminal {
	t.Idle = cmp.Or(t.Idle, catalog.Duration(30*time.Minute))
	t.Longest = cmp.Or(t.Longest, catalog.Duration(8*time.Hour))
	t.PerPerson, t.Most = cmp.Or(t.PerPerson, 5), cmp.Or(t.Most, 100)
	t.FileGiB = cmp.Or(t.FileGiB, 1)
	return t
}

func (t Terminal) problems() []error {
	var all []error
	if t.PerPerson < 0 || t.Most < 0 || t.FileGiB < 0 {
		all = append(all, fmt.Errorf("terminal: perPerson, most and fileGiB must not be below zero"))
	}
	if t.Longest < t.Idle {
		all = append(all, fmt.Errorf("terminal.longest: %s is shorter than terminal.idle, %s", t.Longest, t.Idle))
	}
	return all
}
