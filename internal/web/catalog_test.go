package web_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func entry(doc *goquery.Document, name string) *goquery.Selection {
	return doc.Find(`[data-test=entry][data-name="` + name + `"]`)
}

func TestTheCatalogShowsWhatIsOnOffer(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Dora, "/admin/sizes"), http.StatusOK)
	if got := textOf(entry(doc, "mig-1g.10gb")); !strings.Contains(got, "MIG slice 10 GB") ||
		!strings.Contains(got, "offered") || !strings.Contains(got, "12 of 14") ||
		strings.Contains(got, "nvidia.com/") {
		t.Errorf("want what it is and how many are free, got %q", got)
	}
	if got := textOf(In(entry(doc, "mig-1g.10gb"), "in-use")); got != "1" {
		t.Errorf("want one in use, got %s", got)
	}
	if got := textOf(In(entry(doc, "cpu"), "in-use")); got != "0 1 not running" {
		t.Errorf("want a stopped workload told apart from those that run, got %s", got)
	}
	images := read(t, w.Get(webtest.Dora, "/admin/images"), http.StatusOK)
	if got := textOf(In(entry(images, "vllm"), "reference")); got != "docker.io/vllm/vllm-openai:v0.11.0" {
		t.Errorf("want where an image lies, without its digest, got %s", got)
	}
	if offered := textOf(entry(images, "vllm")); !strings.Contains(offered, "all teams") ||
		strings.Contains(offered, "offered") {
		t.Errorf("want the usual case without a mark, got %q", offered)
	}
	wantText(t, doc, "history", "Version 0", "from the configuration", "current")
	if part(doc, "edit").Length() != 1 || part(doc, "do-hide").Length() == 0 {
		t.Error("an administrator can change it")
	}
	wantAbsent(t, read(t, w.Get(webtest.Eli, "/admin/sizes"), http.StatusOK), "edit", "do-hide", "offer-it", "hide-it")
	for _, path := range []string{"/admin/sizes", "/admin/images", "/admin/sizes/edit", "/admin/sizes/versions/0",
		"/admin/sizes/deprecate?list=sizes&name=cpu"} {
		if got := w.Get(webtest.Anna, path).Code; got != http.StatusNotFound {
			t.Errorf("%s for a developer: want 404, got %d", path, got)
		}
	}
}

func TestAQuickChangeLeadsBackToItsPageOfTheList(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const here = "/admin/sizes?p=2"
	form := read(t, w.Get(webtest.Dora, here), http.StatusOK).Find("form[action='/admin/sizes/change']").First()
	values := url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, in *goquery.Selection) {
		values.Set(in.AttrOr("name", ""), in.AttrOr("value", ""))
	})
	if to := wantRedirect(t, w.Post(webtest.Dora, "/admin/sizes/change", values)); to != here {
		t.Errorf("want %s, it leads to %s: %v", here, to, values)
	}
	values = url.Values{"action": {"hide"}, "list": {"sizes"}, "name": {"gpu-shared"}, "base": {"1"},
		"back": {"//evil.example.org"}}
	if to := w.Post(webtest.Dora, "/admin/sizes/change", values).Header().Get("Location"); to != "/admin/sizes" {
		t.Errorf("want the list, it leads to %s", to)
	}
}

func TestAQuickChangeCountsAtOnce(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	hide := url.Values{"action": {"hide"}, "list": {"sizes"}, "name": {"gpu-shared"}, "base": {"0"}}
	if to := wantRedirect(t, w.Post(webtest.Dora, "/admin/sizes/change", hide)); to != "/admin/sizes" {
		t.Errorf("it leads to %s", to)
	}
	if got := textOf(In(entry(read(t, w.Get(webtest.Dora, "/admin/sizes"), http.StatusOK), "gpu-shared"),
		"state")); got != "hidden" {
		t.Errorf("want it hidden, got %q", got)
	}
	start := read(t, w.Get(webtest.Anna, "/start?size=gpu-shared"), http.StatusOK)
	if part(start, "size-gpu-shared").Length() != 0 {
		t.Error("what is hidden is in the price list")
	}
	wantText(t, start, "verdict", "“Shared GPU” is no longer offered")
	form := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"gpu-shared"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "key": {"k"}}
	wantText(t, read(t, w.Post(webtest.Anna, "/start", form), http.StatusUnprocessableEntity), "form-errors",
		"no longer offered")
	again := read(t, w.Post(webtest.Dora, "/admin/sizes/change", hide), http.StatusConflict) // from the page as it was
	wantText(t, again, "problem", "Dora Dahl saved version 1")
}

func TestWhatGoesIsSaidWithWhatToTakeInstead(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := url.Values{"list": {"sizes"}, "name": {"vgpu-12q"}, "base": {"0"}}
	wantText(t, read(t, w.Post(webtest.Dora, "/admin/sizes/deprecate", form), http.StatusUnprocessableEntity),
		"form-errors", "Explain in a sentence why")
	form.Set("message", "The A40 leave in May.")
	form.Set("successor", "mig-1g.10gb")
	wantRedirect(t, w.Post(webtest.Dora, "/admin/sizes/deprecate", form))
	start := read(t, w.Get(webtest.Anna, "/start?size=vgpu-12q"), http.StatusOK)
	wantText(t, start, "deprecated-size", "vGPU 12 GB is deprecated", "The A40 leave in May.", "MIG slice 10 GB")
	if value, _ := part(start, "deprecated-size-instead").Attr("value"); value != "mig-1g.10gb" {
		t.Errorf("the button chooses %q", value)
	}
	image := offer.Change{Action: offer.Deprecate, List: offer.Images, Name: "jupyterlab", Message: "Take the newer one."}
	if _, err := w.Offer.Change(t.Context(), w.Actor(webtest.Dora), image, 1); err != nil {
		t.Fatal(err)
	}
	wantText(t, read(t, w.Get(webtest.Anna, "/start?image=jupyterlab"), http.StatusOK), "deprecated-image",
		"Take the newer one.")
}

func TestTheEditor(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	text := string(catalog.DefaultYAML())
	field := func(doc *goquery.Document) string { return strings.TrimPrefix(part(doc, "text").Text(), "\n") }
	if got := field(read(t, w.Get(webtest.Dora, "/admin/sizes/edit"), http.StatusOK)); got != text {
		t.Errorf("want the text as it is, got %.80q", got)
	}
	wrong := strings.Replace(strings.Replace(text, "isolation: hard", "isolation: steel", 1), "memory: 8Gi",
		"memory: lots", 1)
	for _, do := range []string{"check", "save"} {
		doc := read(t, w.Post(webtest.Dora, "/admin/sizes/edit", url.Values{"action": {do}, "text": {wrong},
			"note": {"my note"}}), http.StatusUnprocessableEntity)
		if part(doc, "problem").Length() != 3 { // the notice and two entries of its list
			t.Errorf("%s: want all problems, got %q", do, textOf(part(doc, "problems")))
		}
		line := strings.Count(wrong[:strings.Index(wrong, "isolation: steel")], "\n") + 1
		wantText(t, doc, "problems", "Line "+itoa(line), "isolation: steel", "sizes[1].isolation", "memory: lots")
		if field(doc) != wrong {
			t.Errorf("%s: what was typed is lost", do)
		}
		if doc.Find("#line-"+itoa(line)).Text() != "  isolation: steel" {
			t.Errorf("%s: the link of a problem leads nowhere", do)
		}
	}
	dearer := strings.Replace(text, "minor: 55", "minor: 60", 1)
	doc := read(t, w.Post(webtest.Dora, "/admin/sizes/edit", url.Values{"action": {"check"}, "text": {dearer}}),
		http.StatusOK)
	wantText(t, doc, "fine", "No problems")
	wantText(t, doc, "change", "MIG slice 10 GB", "pricePerHour.minor", "55", "60")
	if saved, err := w.Catalogs(t.Context(), 0, 1); err != nil || len(saved) != 0 {
		t.Fatal("a check saved something")
	}
	held := strings.Replace(text, "name: cpu\n", "name: cpu-2\n", 1)
	doc = read(t, w.Post(webtest.Dora, "/admin/sizes/edit", url.Values{"action": {"save"}, "text": {held}}),
		http.StatusUnprocessableEntity)
	wantText(t, doc, "problem", "This removes CPU only, which one workload uses")
	if part(doc, "confirm").Length() != 1 {
		t.Error("it cannot be confirmed")
	}
	if to := wantRedirect(t, w.Post(webtest.Dora, "/admin/sizes/edit", url.Values{"action": {"save"}, "text": {held},
		"confirm": {"on"}, "note": {"renamed"}})); to != "/admin/sizes/versions/1" {
		t.Errorf("it leads to %s", to)
	}
	wantText(t, read(t, w.Get(webtest.Dora, "/admin/sizes"), http.StatusOK), "gone", "CPU only: one workload")
	version := read(t, w.Get(webtest.Dora, "/admin/sizes/versions/1"), http.StatusOK)
	wantText(t, version, "version", "Dora Dahl")
	wantText(t, version, "diff", "cpu-2", "new", "removed")
	doc = read(t, w.Post(webtest.Dora, "/admin/sizes/edit", url.Values{"action": {"save"}, "text": {dearer},
		"confirm": {"on"}}), http.StatusConflict)
	wantText(t, doc, "problem", "Dora Dahl saved version 1")
	if field(doc) != dearer {
		t.Error("what was typed is lost to a conflict")
	}
	wantRedirect(t, w.Post(webtest.Dora, "/admin/sizes/versions/0/revert", url.Values{"base": {"1"}}))
	if _, ok := w.Offer.Catalog().Size("cpu"); !ok {
		t.Error("going back did not")
	}
}

// A license pool that does not license the vGPU of its size is refused in the reader's language, and told where it is.
func TestALicenseThatDoesNotFitIsRefusedAndTold(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	compute := strings.ReplaceAll(string(catalog.DefaultYAML()), "A40-12Q", "A40-12C")
	for language, want := range map[string]string{"en": "does not license A40-12C", "de": "lizenziert A40-12C nicht"} {
		r := httptest.NewRequest(http.MethodPost, "/admin/sizes/edit",
			strings.NewReader(url.Values{"action": {"save"}, "text": {compute}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		wantText(t, read(t, w.Do(webtest.Dora, language, r), http.StatusUnprocessableEntity), "problems", want,
			"sizes[4].licensePool")
	}
	if part(read(t, w.Get(webtest.Dora, "/admin/sizes"), http.StatusOK), "license-mismatch").Length() != 0 {
		t.Error("the first set is warned of")
	}
	// by a release without the check
	if err := errors.Join(w.SaveCatalog(t.Context(), offer.Revision{Version: 1, Text: compute, At: w.Clock}),
		w.Offer.Refresh(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/admin/sizes", "/licenses"} {
		wantText(t, read(t, w.Get(webtest.Dora, path), http.StatusOK), "license-mismatch", "vGPU 12 GB",
			"need a license for NVIDIA AI Enterprise, Virtual Compute Server")
	}
	if part(read(t, w.Get(webtest.Anna, "/licenses"), http.StatusOK), "license-mismatch").Length() != 0 {
		t.Error("a developer is warned of what only administrators can mend")
	}
	doc := read(t, w.Post(webtest.Dora, "/admin/sizes/edit", url.Values{"action": {"check"},
		"text": {strings.Replace(compute, "minor: 55", "minor: 60", 1)}}), http.StatusOK)
	wantText(t, doc, "license-mismatch", "does not license A40-12C")
	wantText(t, doc, "fine", "No problems")
}

func TestAProposalBecomesASizeWithOneClick(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	s := w.Inventory("local")
	node := s.Nodes[3]
	node.Name, node.Model, node.Labels = "gpu-99", "NVIDIA-A100-SXM4-80GB",
		map[string]string{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "2",
			"nvidia.com/gpu.memory": "81920"}
	s.Nodes = append(s.Nodes, node)
	w.PutInventory(s)
	doc := read(t, w.Get(webtest.Dora, "/admin/sizes"), http.StatusOK)
	wantText(t, doc, "finding-unoffered", "A100")
	form := url.Values{}
	part(doc, "offer-it").First().Closest("form").Find("input[type=hidden]").Each(func(_ int, s *goquery.Selection) {
		form.Set(s.AttrOr("name", ""), s.AttrOr("value", ""))
	})
	first, _ := part(doc, "edit-first").First().Attr("href")
	wantText(t, read(t, w.Get(webtest.Dora, first), http.StatusOK), "change", "new")
	before := len(w.Offer.Catalog().Sizes)
	wantRedirect(t, w.Post(webtest.Dora, "/admin/sizes/accept", form))
	if after := len(w.Offer.Catalog().Sizes); after != before+1 {
		t.Errorf("want one more size, got %d after %d", after, before)
	}
	if got := w.Post(webtest.Dora, "/admin/sizes/accept", form).Code; got != http.StatusNotFound {
		t.Errorf("once more: want 404, got %d", got)
	}
}

// What stands in a catalog was written by people, and comes back to others' browsers.
func TestNothingInACatalogBecomesMarkup(t *testing.T) {
	t.Parallel()
	const bad = `"><script>alert(1)</script>`
	w := webtest.Busy(t)
	text := strings.Replace(string(catalog.DefaultYAML()), "title: CPU only", `title: '`+bad+`'`, 1)
	if _, err := w.Offer.Save(t.Context(), w.Actor(webtest.Dora), offer.Draft{Text: text + "\n# </textarea>" + bad + "\n",
		Note: bad}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Offer.Change(t.Context(), w.Actor(webtest.Dora), offer.Change{Action: offer.Deprecate,
		List: offer.Sizes, Name: "cpu", Message: bad}, 1); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/admin/sizes", "/admin/images", "/admin/sizes/edit", "/admin/sizes/versions/1",
		"/admin/sizes/versions/2", "/admin/sizes/deprecate?list=sizes&name=cpu", "/start?size=cpu"} {
		if body := w.Get(webtest.Dora, path).Body.String(); strings.Contains(body, "<script>alert") {
			t.Errorf("%s runs it", path)
		}
	}
	if body := w.Get(webtest.Anna, "/start?size=cpu").Body.String(); strings.Contains(body, "<script>alert") ||
		!strings.Contains(body, "alert(1)") {
		t.Error("/start runs it, or does not show it")
	}
	body := w.Post(webtest.Dora, "/admin/sizes/edit", url.Values{"text": {"sizes:\n- " + bad}}).Body.String()
	if strings.Contains(body, "<script>alert") {
		t.Error("what is wrong is shown as markup")
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
