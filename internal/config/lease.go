package config

import (
	"fmt"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Lease is what goes for all leases; how long they may be, and whether they become longer by themselves, is said by
// size in the catalog.
type Lease struct {
	// how long before the end the owner is told, one message each; default 1d, 1h, 10m
	Warnings []catalog.Duration `json:"warnings,omitempty"`
}

// Storage is what becomes of the storage of workloads that stand still or have ended.
type Storage struct {
	Retention catalog.Duration `json:"retention,omitempty"` // how long unused storage is kept; default for ever
	// how long before storage is reclaimed the owner is told, one message each; default 7d, 1d
	Warnings []catalog.Duration `json:"warnings,omitempty"`
	// how long a shared volume that an owner has deleted can be restored; default 7d
	Grace catalog.Duration `json:"grace,omitempty"`
}

// WarningTimes are the warnings of the end of a lease.
func (l Lease) WarningTimes() workload.Warnings {
	return warnings(l.Warnings, workload.LeaseWarnings())
}

// RetentionRules is how long unused storage is kept.
func (s Storage) RetentionRules() workload.Retention {
	return workload.Retention{Period: s.Retention.Std(), Warnings: warnings(s.Warnings, workload.StorageWarnings())}
}

func warnings(set []catalog.Duration, usual workload.Warnings) workload.Warnings {
	if len(set) == 0 {
		return usual
	}
	list := make(workload.Warnings, len(set))
	for i, d := range set {
		list[i] = d.Std()
	}
	return list
}

func warningProblems(place string, list []catalog.Duration) []error {
	var all []error
	for i, d := range list {
		if d <= 0 {
			all = append(all, fmt.Errorf("%s[%d]: a length of time above zero is needed, such as 1h", place, i))
		}
	}
	return all
}
