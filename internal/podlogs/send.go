package podlogs

import (
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Form is how a log is sent as text.
type Form struct {
	Follow     bool
	Timestamps bool
	File       string // name of a download; "" for none
}

// Send writes a log as plain text. A followed one is sent line by line, and has no deadline.
func Send(w http.ResponseWriter, log *Reader, say func(i18n.Text) string, form Form) error {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if form.File != "" {
		h.Set("Content-Disposition", `attachment; filename="`+form.File+`"`)
	}
	controller := http.NewResponseController(w)
	flush := func() error { return nil }
	if form.Follow {
		h.Set("X-Accel-Buffering", "no")
		_ = controller.SetWriteDeadline(time.Time{})
		flush = controller.Flush
	}
	w.WriteHeader(http.StatusOK)
	if err := flush(); err != nil {
		return err
	}
	for {
		line, err := log.Next()
		if err != nil {
			return nil
		}
		if err := line.Write(w, say, form.Timestamps); err != nil {
			return err
		}
		if log.buffered() {
			continue // a burst is sent at once
		}
		if err := flush(); err != nil {
			return err
		}
	}
}
