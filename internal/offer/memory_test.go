package offer_test

import (
	"context"
	"slices"
	"sync"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/offer"
)

// memory keeps revisions in a slice, oldest first.
type memory struct {
	mu        sync.Mutex
	Revisions []offer.Revision
	Events    []audit.Event
	Uses      func() []offer.Use // nil: nothing is held
	// Before is called at the start of each save, for a test that lets another be faster.
	Before func()
}

var _ offer.Store = (*memory)(nil)

func none() error { return fault.New(fault.NotFound, i18n.T("store.no_catalog")) }

// LatestCatalog gives the last one.
func (s *memory) LatestCatalog(context.Context) (offer.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.Revisions) == 0 {
		return offer.Revision{}, none()
	}
	return s.Revisions[len(s.Revisions)-1], nil
}

// Catalog gives one by version.
func (s *memory) Catalog(_ context.Context, version int64) (offer.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.Revisions, func(r offer.Revision) bool { return r.Version == version })
	if i < 0 {
		return offer.Revision{}, none()
	}
	return s.Revisions[i], nil
}

// Catalogs lists, newest first.
func (s *memory) Catalogs(_ context.Context, before int64, limit int) ([]offer.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []offer.Revision
	for _, r := range slices.Backward(s.Revisions) {
		if (before == 0 || r.Version < before) && len(list) < limit {
			r.Text = ""
			list = append(list, r)
		}
	}
	return list, nil
}

// SaveCatalog appends one that follows the last.
func (s *memory) SaveCatalog(_ context.Context, r offer.Revision, events ...audit.Event) error {
	if s.Before != nil {
		s.Before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := int64(0)
	if len(s.Revisions) > 0 {
		last = s.Revisions[len(s.Revisions)-1].Version
	}
	if r.Version != last+1 {
		return fault.New(fault.Conflict, i18n.T("store.lost_race"))
	}
	s.Revisions, s.Events = append(s.Revisions, r), append(s.Events, events...)
	return nil
}

// UseOfCatalog gives Uses.
func (s *memory) UseOfCatalog(context.Context) ([]offer.Use, error) {
	if s.Uses == nil {
		return nil, nil
	}
	return s.Uses(), nil
}
