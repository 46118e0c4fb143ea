package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// unused adds volumes of Anna's that nobody uses.
func unused(w *webtest.World, names ...string) {
	for i, name := range names {
		w.PutVolume(workload.Volume{Name: name, Tenant: "vision", Owner: webtest.Anna.ID, OwnerName: webtest.Anna.Name,
			Cluster: "local", Namespace: "gpu-vision", GiB: 10 * (i + 1), UnusedFrom: webtest.Now.Add(-time.Hour)})
	}
}

// attached is a volume that a workload has.
func attached(t *testing.T, w *webtest.World) workload.Volume {
	t.Helper()
	all := w.AllVolumes()
	i := slices.IndexFunc(all, func(v workload.Volume) bool { return v.Workload != "" && v.Owner == webtest.Anna.ID })
	if i < 0 {
		t.Fatal("no volume is attached")
	}
	return all[i]
}

func ticks(doc *goquery.Document) (all, ticked []string) {
	part(doc, "tick").Each(func(_ int, box *goquery.Selection) {
		all = append(all, box.AttrOr("value", ""))
		if _, on := box.Attr("checked"); on {
			ticked = append(ticked, box.AttrOr("value", ""))
		}
	})
	return all, ticked
}

// TestTicksStandWhereAMenuDeletes: in no other row, and only where there are two.
func TestTicksStandWhereAMenuDeletes(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantAbsent(t, read(t, w.Get(webtest.Anna, "/storage"), http.StatusOK), "tick", "tick-all", "bulk-card")
	unused(w, "a-1", "a-2")
	doc := read(t, w.Get(webtest.Anna, "/storage?sort=-size"), http.StatusOK)
	part(doc, "volume-row").Each(func(_ int, row *goquery.Selection) {
		if got, want := In(row, "tick").Length(), In(row, "volume-delete").Length(); got != want {
			t.Errorf("want %d ticks, got %d: %s", want, got, textOf(row))
		}
	})
	if to := part(doc, "storage-unused").Find("a").AttrOr("href", ""); to != "/storage?state=unused" {
		t.Errorf("want what nobody uses to lead to its list, got %q", to)
	}
	if all, ticked := ticks(doc); !slices.Equal(all, []string{"datasets-kept", "a-2", "a-1"}) || len(ticked) > 0 {
		t.Errorf("want three, none of them ticked, got %q, %q", all, ticked)
	}
	if got := textOf(doc.Find(`label[for="` + part(doc, "tick").AttrOr("id", "") + `"]`)); got !=
		"Select datasets-kept, 200 GiB" {
		t.Errorf("want the box to say what it ticks, got %q", got)
	}
	all := read(t, w.Get(webtest.Anna, part(doc, "tick-all").AttrOr("href", "")), http.StatusOK)
	if _, ticked := ticks(all); !slices.Equal(ticked, []string{"datasets-kept", "a-2", "a-1"}) {
		t.Errorf("want all ticked in the same order, got %q", ticked)
	}
	wantText(t, all, "ticked", "3 selected · 230 GiB")
	if u, _ := url.Parse(all.Find("body").AttrOr("data-live-url", "")); u.Query().Get("tick") != "datasets-kept,a-2,a-1" {
		t.Errorf("what comes later is not ticked, got %s", u)
	}
	if _, ticked := ticks(read(t, w.Get(webtest.Anna, part(all, "tick-none").AttrOr("href", "")),
		http.StatusOK)); len(ticked) > 0 {
		t.Errorf("want none ticked, got %q", ticked)
	}
	wantAbsent(t, read(t, w.Get(webtest.Dora, "/storage?scope=team"), http.StatusOK), "tick", "bulk-card")
}

// TestSeveralVolumesAreAskedFor: once for all of them; what stays is named with its reason.
func TestSeveralVolumesAreAskedFor(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	unused(w, "a-1", "a-2")
	in := attached(t, w)
	doc := read(t, w.Get(webtest.Anna, "/storage/delete?"+url.Values{"state": {"unused"}, "p": {"2"},
		"volume": {"a-1", "datasets-kept", "a-1", in.Name, "nowhere"}}.Encode()), http.StatusOK)
	wantText(t, doc, "ask", "210 GiB", "The files cannot be restored.", "Delete 2 volumes")
	if got := doc.Find("h1").Text(); got != "Delete 2 volumes?" {
		t.Errorf("want the question, got %q", got)
	}
	wantText(t, doc, "bulk-row", "a-1", "10 GiB", "datasets-kept", "200 GiB", "Anna Albers", "24 d ago")
	wantText(t, doc, "bulk-kept", in.Name, "This storage is in use.", "nowhere", "No storage with this name.")
	form := part(doc, "volumes-delete-form")
	var sent []string
	form.Find("input[name=volume]").Each(func(_ int, s *goquery.Selection) { sent = append(sent, s.AttrOr("value", "")) })
	if !slices.Equal(sent, []string{"a-1", "datasets-kept"}) || form.Find("input[name=state]").AttrOr("value", "") !=
		"unused" {
		t.Errorf("want what can be deleted and the filter, got %q", sent)
	}
	back, _ := url.Parse(part(doc, "volumes-delete-back").AttrOr("href", ""))
	if q := back.Query(); q.Get("tick") != "a-1,datasets-kept" || q.Get("p") != "2" {
		t.Errorf("want the ticks as they were, got %s", back)
	}
	none := read(t, w.Get(webtest.Dora, "/storage/delete?volume=a-1"), http.StatusOK)
	wantText(t, none, "bulk-kept", "a-1", "Only Anna Albers or the team's owner can delete this storage.")
	wantAbsent(t, none, "ask", "volumes-delete-confirm")
	if got := w.Volume("a-1"); got.Deleted {
		t.Error("a question deletes nothing")
	}
	var many strings.Builder
	for i := range 101 {
		fmt.Fprintf(&many, "&volume=v-%d", i)
	}
	for name, query := range map[string]string{"nothing": "", "too many": many.String(), "no name": "&volume="} {
		answer := w.Get(webtest.Anna, "/storage/delete?x"+query)
		if answer.Code != http.StatusUnprocessableEntity || !strings.Contains(answer.Body.String(),
			"Select at least one volume") {
			t.Errorf("%s: want it said, got %d", name, answer.Code)
		}
	}
}

// TestSeveralVolumesAreDeletedOneByOne: each as if it had been asked for alone, with an event of its own.
func TestSeveralVolumesAreDeletedOneByOne(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	unused(w, "a-1", "a-2", "a-3")
	deleted := func() (names []string) {
		for _, e := range w.Record() {
			if e.Kind == audit.VolumeDeleted {
				names = append(names, e.Volume)
			}
		}
		return names
	}
	done := told(t, w, webtest.Anna, "/storage/delete", url.Values{"volume": {"a-1", "datasets-kept"},
		"state": {"unused"}, "p": {"2"}})
	wantText(t, done, "flash", "2 volumes are being deleted.")
	if got := done.Find("#storage-state option[selected]").AttrOr("value", ""); got != "unused" {
		t.Errorf("want the list as it was filtered, got %q", got)
	}
	if got := deleted(); !slices.Equal(got, []string{"a-1", "datasets-kept"}) {
		t.Errorf("want an event for each, got %q", got)
	}
	wantText(t, told(t, w, webtest.Ben, "/storage/delete", url.Values{"volume": {"a-2"}}), "flash",
		"One volume is being deleted.") // the team's owner

	in := attached(t, w)
	w.PutVolume(workload.Volume{Name: "b-1", Tenant: "vision", Owner: webtest.Ben.ID, OwnerName: webtest.Ben.Name,
		Cluster: "local", Namespace: "gpu-vision", GiB: 5})
	some := read(t, w.Post(webtest.Anna, "/storage/delete", url.Values{"volume": {in.Name, "b-1", "a-3", "nowhere"}}),
		http.StatusOK)
	if got := part(some, "bulk-kept-row").Length(); got != 3 {
		t.Errorf("want three that stay, got %d", got)
	}
	wantText(t, some, "bulk-kept", in.Name, "This storage is in use.", "b-1",
		"Only Ben Brandt or the team's owner can delete this storage.", "nowhere", "No storage with this name.")
	if !strings.Contains(some.Text(), "One volume is being deleted.") {
		t.Error("want it said how many go")
	}
	if !w.Volume("a-3").Deleted || w.Volume("b-1").Deleted || w.Volume(in.Name).Deleted {
		t.Error("want a-3 deleted, and no other")
	}
	of := read(t, w.Post(webtest.Olaf, "/storage/delete", url.Values{"volume": {"b-1"}}), http.StatusOK)
	wantText(t, of, "bulk-kept", "b-1", "No storage with this name.") // of a team that he is not in
	wantText(t, read(t, w.Post(webtest.Dora, "/storage/delete", url.Values{"volume": {"b-1"}}), http.StatusOK),
		"bulk-kept", "Only Ben Brandt or the team's owner can delete this storage.")
	if w.Volume("b-1").Deleted {
		t.Error("nobody else deletes it")
	}
	if got := w.Post(webtest.Anna, "/storage/delete", nil).Code; got != http.StatusUnprocessableEntity {
		t.Errorf("nothing ticked: want 422, got %d", got)
	}
}
