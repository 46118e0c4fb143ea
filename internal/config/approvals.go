package config

import (
	"fmt"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// Approvals is what goes for all decisions of approvers.
type Approvals struct {
	// how long an approver can undo a decision made on the pages, or over the API with undoable; it takes effect after
	// that. An extension that a rule granted can be undone for as long, by who asked for it. 0s: at once, and no undo; at
	// most 5m; default 10s
	Undo *catalog.Duration `json:"undo,omitempty"`
}

const longestUndo = 5 * time.Minute

// UndoPeriod is how long a decision can be undone.
func (a Approvals) UndoPeriod() time.Duration {
	if a.Undo == nil {
		return request.UndoPeriod
	}
	return a.Undo.Std()
}

func (a Approvals) problems() []error {
	if p := a.UndoPeriod(); p < 0 || p > longestUndo {
		return []error{fmt.Errorf("approvals.undo: must be between 0s and %s", catalog.Duration(longestUndo))}
	}
	return nil
}
