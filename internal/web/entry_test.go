package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// formOf is what a browser would send of the form on a page.
func formOf(doc *goquery.Document, id string) url.Values {
	form := url.Values{}
	doc.Find("#" + id).Find("input, textarea, select").Each(func(_ int, s *goquery.Selection) {
		name, _ := s.Attr("name")
		value, _ := s.Attr("value")
		switch _, checked := s.Attr("checked"); {
		case goquery.NodeName(s) == "textarea":
			value = s.Text()
		case goquery.NodeName(s) == "select":
			value, _ = s.Find("option[selected]").Attr("value")
		case s.AttrOr("type", "") == "checkbox" && !checked:
			return
		}
		form.Set(name, value)
	})
	return form
}

const formPath = "/admin/sizes/form"

// TestASizeIsEditedByAForm: the form writes the text that the editor shows, and nothing that was not changed.
func TestASizeIsEditedByAForm(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	list := read(t, w.Get(webtest.Dora, "/admin/sizes"), http.StatusOK)
	href, _ := entry(list, "mig-3g.40gb").Find("a.gp-stack__title").Attr("href")
	doc := read(t, w.Get(webtest.Dora, href), http.StatusOK)
	wantText(t, doc, "others", "placement.tolerations")
	form := formOf(doc, "entry")
	if form.Get("pricePerHour") != "1.65" || form.Get("accelerator.memoryGiB") != "40" || form.Get("isolation") != "hard" {
		t.Errorf("the form is not filled: %v", form)
	}
	form.Set("action", "save")
	wantText(t, read(t, w.Post(webtest.Dora, formPath, form), http.StatusUnprocessableEntity), "problem", "")
	form.Set("pricePerHour", "1,70")
	form.Set("tenants", "speech")
	form.Set("action", "check")
	doc = read(t, w.Post(webtest.Dora, formPath, form), http.StatusOK)
	wantText(t, doc, "change", "MIG slice 40 GB", "pricePerHour.minor", "€1.65/h", "€1.70/h", "Teams")
	wantText(t, doc, "fine", "Saving would change", "MIG slice 40 GB · Price: €1.65/h → €1.70/h, Teams: speech")
	wantText(t, doc, "differ", "0 of 0 starts")
	if saved, err := w.Catalogs(t.Context(), 0, 1); err != nil || len(saved) != 0 {
		t.Fatal("a check saved something")
	}
	form.Set("action", "yaml")
	doc = read(t, w.Post(webtest.Dora, formPath, form), http.StatusOK)
	want := strings.Replace(string(catalog.DefaultYAML()), "minor: 165", "minor: 170", 1)
	want = strings.Replace(want, "  maxLease: 7d\n  order: 30\n", "  maxLease: 7d\n  order: 30\n  tenants: [speech]\n", 1)
	if got := strings.TrimPrefix(part(doc, "text").Text(), "\n"); got != want {
		t.Errorf("want only these lines changed, got %s", got)
	}
	form.Set("action", "save")
	if to := wantRedirect(t, w.Post(webtest.Dora, formPath, form)); to != "/admin/sizes/versions/1" {
		t.Errorf("it leads to %s", to)
	}
	if r, err := w.LatestCatalog(t.Context()); err != nil || r.Text != want {
		t.Errorf("the text is another than the editor's: %v", err)
	}
	form.Set("pricePerHour", "1.80") // from the page as it was
	doc = read(t, w.Post(webtest.Dora, formPath, form), http.StatusConflict)
	wantText(t, doc, "problem", "Dora Dahl saved version 1")
	wantRedirect(t, w.Post(webtest.Dora, formPath, withAction(formOf(doc, "entry"), "save")))
}

func withAction(form url.Values, action string) url.Values {
	form.Set("action", action)
	return form
}

// TestAProblemStandsBesideItsField, and a text that is wrong elsewhere says so as well.
func TestAProblemStandsBesideItsField(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := formOf(read(t, w.Get(webtest.Dora, formPath+"?list=sizes&name=h100"), http.StatusOK), "entry")
	form.Set("cpu", "lots")
	form.Set("accelerator.count", "two")
	for _, action := range []string{"check", "save"} {
		doc := read(t, w.Post(webtest.Dora, formPath, withAction(form, action)), http.StatusUnprocessableEntity)
		wantText(t, doc, "form-errors", "lots")
		for _, id := range []string{"cpu-error", "accelerator.count-error"} {
			if textOf(doc.Find(`[id="`+id+`"]`)) == "" {
				t.Errorf("%s: %s is not on the page", action, id)
			}
		}
		if value, _ := part(doc, "field-cpu").Attr("value"); value != "lots" {
			t.Errorf("what was typed is lost: %q", value)
		}
	}
	form.Set("pricePerHour", "much")
	doc := read(t, w.Post(webtest.Dora, formPath, withAction(form, "save")), http.StatusUnprocessableEntity)
	if textOf(doc.Find(`[id="pricePerHour-error"]`)) == "" {
		t.Error("a price that is none has no problem beside it")
	}
	for path, status := range map[string]int{formPath + "?list=sizes&name=none": http.StatusNotFound,
		formPath + "?list=chairs": http.StatusNotFound} {
		if got := w.Get(webtest.Dora, path).Code; got != status {
			t.Errorf("%s: want %d, got %d", path, status, got)
		}
	}
}

// TestANewEntryIsMadeByAForm: of nothing, and like another.
func TestANewEntryIsMadeByAForm(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := formOf(read(t, w.Get(webtest.Dora, formPath+"?list=images&like=pytorch"), http.StatusOK), "entry")
	if form.Get("args") == "" || form.Get("name") != "" {
		t.Errorf("want everything but the name, got %v", form)
	}
	form.Set("name", "jupyterlab")
	doc := read(t, w.Post(webtest.Dora, formPath, withAction(form, "save")), http.StatusUnprocessableEntity)
	if !strings.Contains(textOf(doc.Find("#name-error")), "jupyterlab") {
		t.Errorf("a name that is taken: %q", textOf(doc.Find("#name-error")))
	}
	form = formOf(doc, "entry")
	form.Set("name", "pytorch-next")
	form.Set("title", "PyTorch, next")
	wantRedirect(t, w.Post(webtest.Dora, formPath, withAction(form, "save")))
	s, err := w.Offer.Status(w.Actor(webtest.Dora))
	if err != nil {
		t.Fatal(err)
	}
	like, _ := s.Catalog.Image("pytorch")
	made, ok := s.Catalog.Image("pytorch-next")
	if !ok || made.Reference != like.Reference || len(made.Args) != len(like.Args) || made.Order <= like.Order {
		t.Errorf("want one like the other, got %+v", made)
	}
	form = formOf(read(t, w.Get(webtest.Dora, formPath+"?list=sizes"), http.StatusOK), "entry")
	doc = read(t, w.Post(webtest.Dora, formPath, withAction(form, "check")), http.StatusUnprocessableEntity)
	for _, id := range []string{"name-error", "title-error", "cpu-error", "defaultLease-error"} {
		if textOf(doc.Find("#"+id)) == "" {
			t.Errorf("%s is not on the page", id)
		}
	}
}

// TestAnotherCatalogIsTriedOnWhatWasAsked: what could not be asked for again, and what the rest would have cost.
func TestAnotherCatalogIsTriedOnWhatWasAsked(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	form := formOf(read(t, w.Get(webtest.Dora, formPath+"?list=sizes&name=h100"), http.StatusOK), "entry")
	form.Set("maxLease", "3h") // Anna asked for four hours, three times, Olaf for two
	form.Set("defaultLease", "2h")
	form.Set("pricePerHour", "5")
	doc := read(t, w.Post(webtest.Dora, formPath, withAction(form, "check")), http.StatusOK)
	wantText(t, doc, "differ", "3 of 4 starts", "€10.00 instead of €7.80")
	wantText(t, doc, "preview", "Anna", "at most 3 h")
	text := strings.Replace(string(catalog.DefaultYAML()), "- name: h100\n", "- name: h100\n  tenants: [speech]\n", 1)
	doc = read(t, w.Post(webtest.Dora, "/admin/sizes/edit", url.Values{"text": {text}, "action": {"check"}}),
		http.StatusOK)
	wantText(t, doc, "differ", "3 of 4 starts")
}

// TestRuntimesOfTheClusterAreProposed, and the catalog warns of an image whose runtime is not among them.
func TestRuntimesOfTheClusterAreProposed(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	taken, ok := w.Snapshot(t.Context(), w.Site.Clusters[0])
	if !ok {
		t.Fatal("no inventory")
	}
	taken.ServingRuntimes = &[]inventory.ServingRuntime{
		{Name: "kserve-huggingfaceserver", Formats: []string{"huggingface"}},
		{Name: "kserve-tritonserver", Formats: []string{"onnx", "tensorrt"}, Disabled: true}}
	if err := w.SaveSnapshot(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	doc := read(t, w.Get(webtest.Dora, formPath+"?list=images&like=vllm"), http.StatusOK)
	var proposed []string
	doc.Find("datalist option").Each(func(_ int, s *goquery.Selection) {
		proposed = append(proposed, s.AttrOr("value", ""))
	})
	if want := []string{"kserve-huggingfaceserver", "kserve-tritonserver", "huggingface", "onnx",
		"tensorrt"}; !slices.Equal(want, proposed) {
		t.Errorf("want %v proposed, got %v", want, proposed)
	}
	if !strings.Contains(textOf(doc.Find("#entry")), "kserve-tritonserver (disabled)") {
		t.Error("that a runtime is disabled is not told")
	}
	form := formOf(doc, "entry")
	form.Set("name", "hf")
	form.Set("runtime.servingRuntime", "kserve-tritonserver")
	form.Set("runtime.modelFormat", "onnx")
	doc = read(t, w.Post(webtest.Dora, formPath, withAction(form, "save")), http.StatusUnprocessableEntity)
	if got := textOf(doc.Find("[id='runtime.servingRuntime-error']")); !strings.Contains(got, "backend: kserve") {
		t.Errorf("beside the field stands %q", got)
	}

	text := string(catalog.DefaultYAML()) + `
- name: hf
  title: On Triton
  kind: endpoint
  port: 8080
  runtime:
    engine: triton
    backend: kserve
    servingRuntime: kserve-tritonserver
    modelFormat: onnx
    sources: [{kind: hub}]
`
	if _, err := w.Offer.Save(t.Context(), w.Actor(webtest.Dora), offer.Draft{Text: text}); err != nil {
		t.Fatal(err)
	}
	doc = read(t, w.Get(webtest.Dora, "/admin/images"), http.StatusOK)
	wantText(t, doc, "finding-unserved", "On Triton", "kserve-tritonserver is disabled")
}
