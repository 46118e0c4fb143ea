package gateway

import (
	"sync"
	"weak"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// sharedWorkloads has all passes that open a workload at the same version point to one copy of it: one endpoint may be
// open by thousands of keys, and a workload has some 7 KB.
type sharedWorkloads struct {
	mu   sync.Mutex
	byID map[workload.ID]weak.Pointer[workload.Workload]
}

// one is the copy of a workload that is there already, or w. Whatever changes a workload gives it another version.
func (s *sharedWorkloads) one(w *workload.Workload) *workload.Workload {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byID[w.ID].Value(); known != nil && known.Version == w.Version {
		return known
	}
	if s.byID == nil {
		s.byID = map[workload.ID]weak.Pointer[workload.Workload]{}
	}
	s.byID[w.ID] = weak.Make(w)
	return w
}

// forget drops the workloads that no pass points to any more.
func (s *sharedWorkloads) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, known := range s.byID {
		if known.Value() == nil {
			delete(s.byID, id)
		}
	}
}
