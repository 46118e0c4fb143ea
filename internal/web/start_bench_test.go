package web_test

import (
	"net/http"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// BenchmarkStart answers the start page of a team with a size of every technology.
func BenchmarkStart(b *testing.B) {
	w := webtest.EverySize(b)
	for _, path := range []string{"/start", "/start?all=1"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				answer := w.Get(webtest.Anna, path)
				if answer.Code != http.StatusOK {
					b.Fatal(answer.Code)
				}
				b.ReportMetric(float64(answer.Body.Len())/1024, "KiB/page")
			}
		})
	}
}
