package web_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// BenchmarkMap answers the map of a fleet of 5,000 nodes with 40,000 cards, of which 8,000 are cut into 40,000 slices:
// its first page, a group that was opened, and what has changed in a stretch of nodes; as they were drawn for this poll
// already, and with everything to be joined, painted and drawn. KiB are compressed. req/s/core is calls by the
// processor time of this process, so that neighbors do not count.
func BenchmarkMap(b *testing.B) {
	w := webtest.Busy(b)
	w.Crowd(5000)
	group := hrefOf(b, w, "[data-test=map-strip]")
	chunk := attrOf(b, w, group, "[data-map-changes]", "data-map-changes")
	for _, c := range []struct{ name, path string }{{"first", "/fleet/use"}, {"group", group}, {"changes", chunk}} {
		b.Run(c.name, func(b *testing.B) {
			answer := w.Get(webtest.Dora, c.path)
			before := processorTime()
			for b.Loop() {
				if got := w.Get(webtest.Dora, c.path).Code; got != http.StatusOK {
					b.Fatal(got)
				}
			}
			b.ReportMetric(float64(b.N)/(processorTime()-before).Seconds(), "req/s/core")
			b.ReportMetric(compressed(answer.Body.Bytes()), "KiB")
		})
	}
	b.Run("drawn anew", func(b *testing.B) {
		for b.Loop() {
			fresh := *w.Fleets["local"]
			w.Fleets["local"] = &fresh
			w.Get(webtest.Dora, "/fleet/use")
		}
	})
}

func compressed(body []byte) float64 {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = fmt.Fprintf(z, "%s", body)
	_ = z.Close()
	return float64(out.Len()) / 1024
}

func hrefOf(b *testing.B, w *webtest.World, selector string) string {
	b.Helper()
	return attrOf(b, w, "/fleet/use", selector, "href")
}

func attrOf(b *testing.B, w *webtest.World, path, selector, name string) string {
	b.Helper()
	doc, err := goquery.NewDocumentFromReader(w.Get(webtest.Dora, path).Body)
	if err != nil {
		b.Fatal(err)
	}
	value, ok := doc.Find(selector).First().Attr(name)
	if !ok {
		b.Fatalf("%s has no %s", path, selector)
	}
	return value
}
