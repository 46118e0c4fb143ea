package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/fault"
)

// NextKey is the key of a form that comes back: another one where a request was made with it.
func (w *Blocks) NextKey(key string, cause error) string {
	if fault.As(cause).See != "" {
		return w.Requests.NewKey()
	}
	return key
}
