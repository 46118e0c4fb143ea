package web_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// dated moves all that comes from outside to a moment.
func dated(w *webtest.World, at time.Time) {
	s := w.Inventory("local")
	s.TakenAt = at
	w.PutInventory(s)
	for name, f := range w.Fleets {
		moved := *f
		moved.At = at
		w.Fleets[name] = &moved
	}
	for pod, r := range w.Readings {
		r.Live.At = at
		for i := range r.Live.Devices {
			r.Live.Devices[i].Engine.At = at
		}
		w.Readings[pod] = r
	}
	for pod, r := range w.Pasts {
		r.At = at
		w.Pasts[pod] = r
	}
	w.Site.Pools[0].Server = "dls"
	w.Answered(license.Answer{Source: "dls"}.Merge(license.Answer{
		Features: []license.Feature{{Name: w.Site.Pools[0].Feature, Total: 9, InUse: 3}}}, nil, at))
	if err := w.LicenseService.Refresh(context.Background()); err != nil {
		panic(err)
	}
}

// TestEveryPageOfDataTellsItsAge: the age stands beside the data and goes on counting, one that is older than three of
// its refreshes says so in a word, and a clock that is ahead gives no moment in the future.
func TestEveryPageOfDataTellsItsAge(t *testing.T) {
	t.Parallel()
	for path, who := range map[string]identity.Person{"/fleet": webtest.Anna, "/fleet/use": webtest.Anna,
		"/fleet/health": webtest.Dora, "/start": webtest.Anna, "/workloads/w-train-resnet": webtest.Anna,
		"/workloads/w-train-resnet/metrics": webtest.Anna, "/licenses": webtest.Dora} {
		for ago, want := range map[time.Duration]string{-50 * time.Second: "now", 40 * time.Second: "40 s ago",
			10 * time.Minute: "10 min ago"} {
			t.Run(fmt.Sprintf("%s %s", path, ago), func(t *testing.T) {
				t.Parallel()
				w := webtest.Busy(t)
				dated(w, webtest.Now.Add(-ago))
				doc := read(t, w.Get(who, path), http.StatusOK)
				found, old := false, false
				doc.Find(".gp-age").Each(func(_ int, s *goquery.Selection) {
					at := s.Find("time[data-time=past]")
					if at.Text() == want {
						found, old = true, old || s.Is(".gp-age--old") && s.Text() != "" && textOf(s)[:len("stale:")] == "stale:"
					}
				})
				if !found || old != (ago > 3*time.Minute) {
					t.Errorf("want %q beside the data, stale: %t; got found %t, stale %t", want, ago > 3*time.Minute, found, old)
				}
			})
		}
	}
}

// TestPagesOfSeveralClustersTellTheOldestAge: a cluster that was last read long ago does not look fresh because another
// one was read just now, whichever of the two comes first.
func TestPagesOfSeveralClustersTellTheOldestAge(t *testing.T) {
	t.Parallel()
	stale, now := webtest.Now.Add(-25*time.Minute), webtest.Now.Add(-2*time.Second)
	for _, clusters := range [][]string{{"local", "remote"}, {"remote", "local"}} {
		for path, who := range map[string]identity.Person{"/fleet": webtest.Anna, "/fleet/use": webtest.Anna,
			"/fleet/health": webtest.Dora, "/platform": webtest.Dora} {
			t.Run(path+" "+clusters[0], func(t *testing.T) {
				t.Parallel()
				w := webtest.Busy(t)
				w.Site.Clusters = clusters
				for name, at := range map[string]time.Time{"local": now, "remote": stale} {
					s := w.Inventory("local")
					s.Cluster, s.TakenAt = name, at
					w.PutInventory(s)
				}
				doc := read(t, w.Get(who, path), http.StatusOK)
				if got := doc.Find("[data-as-of]").AttrOr("data-as-of", ""); got != stale.UTC().Format(time.RFC3339) {
					t.Errorf("want the age of the cluster that was read %s, got %q", stale.UTC().Format(time.RFC3339), got)
				}
			})
		}
	}
}
