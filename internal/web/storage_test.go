package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestUnusedStorageSaysHowLongItIsKept(t *testing.T) {
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/storage"), http.StatusOK)
	wantText(t, doc, "volume-until", "27 Nov 2026")
	wantText(t, doc, "storage-soon", "datasets-kept is deleted on 27 Nov 2026", "200 GiB")
	if to, _ := In(part(doc, "storage-soon"), "soon-keep").Closest("form").Attr(
		"action"); to != "/storage/datasets-kept/keep" {
		t.Errorf("want it kept from there, got %q", to)
	}
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/storage?scope=team"), http.StatusOK), "storage-soon")
	if n := doc.Find("[data-test=volume-keep]").Length(); n != 1 {
		t.Errorf("want a button where something ends, got %d", n)
	}
	if label, _ := part(doc, "soon-keep").Attr("aria-label"); label != "Keep longer: datasets-kept" {
		t.Errorf("want the button to name what it keeps, got %q", label)
	}
	if part(doc, "volume-keep").Closest(".gp-menu").Length() != 1 {
		t.Error("a row offers it in its menu: the button stands above the list")
	}
	if n := read(t, w.Get(webtest.Dora, "/storage?scope=team"),
		http.StatusOK).Find("[data-test=volume-keep]").Length(); n != 0 {
		t.Errorf("want no button for administrators, got %d", n)
	}
	if got := w.Post(webtest.Dora, "/storage/datasets-kept/keep", nil).Code; got != http.StatusForbidden {
		t.Errorf("want an administrator refused, got %d", got)
	}
	if to := wantRedirect(t, w.Post(webtest.Anna, "/storage/datasets-kept/keep", nil)); to != "/storage" {
		t.Errorf("want the list again, got %s", to)
	}
	if v := w.Volume("datasets-kept"); !v.WarnedAt.IsZero() ||
		w.WorkloadService.Retention.Until(v).Sub(webtest.Now) != 30*24*time.Hour {
		t.Errorf("want the time to begin anew, got %+v", v)
	}
	w.WorkloadService.Retention = workload.Retention{}
	doc = read(t, w.Get(webtest.Anna, "/storage"), http.StatusOK)
	if !strings.Contains(doc.Text(), "They stay until you delete them here") {
		t.Error("the page does not say that storage is kept for ever")
	}
	if n := doc.Find("[data-test=volume-keep]").Length(); n != 0 {
		t.Errorf("want nothing to keep longer where everything is kept, got %d", n)
	}
}

// TestUnusedStorageByItself: the filter leaves what is counted as unused, and says how to see all again.
func TestUnusedStorageByItself(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/storage?state=unused"), http.StatusOK)
	wantText(t, doc, "volume-row", "datasets-kept", "unused")
	wantText(t, doc, "storage-total", "3 volumes")
	if n := part(doc, "volume-row").Length(); n != 1 {
		t.Errorf("want the one unused volume, got %d", n)
	}
	if n := part(read(t, w.Get(webtest.Anna, "/storage"), http.StatusOK), "volume-row").Length(); n != 3 {
		t.Errorf("want all without the filter, got %d", n)
	}
}

// TestStorageSaysWhoseItIs: only what can differ from row to row.
func TestStorageSaysWhoseItIs(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	detail := func(who identity.Person, path string) string {
		return textOf(read(t, w.Get(who, path), http.StatusOK).Find("#volume-datasets-kept .gp-stack__detail").First())
	}
	for path, want := range map[string]string{"/storage": "", "/storage?scope=team": "Anna Albers"} {
		if got := detail(webtest.Anna, path); got != want {
			t.Errorf("%s: want %q, got %q", path, want, got)
		}
	}
	if got := detail(webtest.Dora, "/storage?scope=team"); got != "Anna Albers · Vision" {
		t.Errorf("who sees all teams reads the team, got %q", got)
	}
	w.Site.Clusters = append(w.Site.Clusters, "west")
	if got := detail(webtest.Anna, "/storage"); got != "local" {
		t.Errorf("of several clusters the one is named, got %q", got)
	}
}

// TestStorageSumsUp: what is filtered away counts too.
func TestStorageSumsUp(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, path := range []string{"/storage", "/storage?q=old-notes"} {
		doc := read(t, w.Get(webtest.Anna, path), http.StatusOK)
		wantText(t, doc, "storage-total", "260 GiB", "3 volumes")
		wantText(t, doc, "storage-soon", "27 Nov 2026") // told once
		wantText(t, doc, "storage-unused", "200 GiB", "one volume")
		if text := textOf(part(doc, "storage-unused")); strings.Contains(text, "27 Nov") {
			t.Errorf("the date stands in the notice already, got %q", text)
		}
		wantAbsent(t, doc, "storage-cost")
	}
	w.PutPrices(usage.Price{ID: "p-1", Kind: usage.PriceStorage, Rate: 10_000, From: webtest.Now.Add(-100 * time.Hour)})
	doc := read(t, w.Get(webtest.Anna, "/storage"), http.StatusOK)
	wantText(t, doc, "storage-cost", "€26.00")
	wantText(t, doc, "volume-row", "200 GiB", "€20.00")
}
