package web_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestTheQuestionsKeepWhatWasTyped(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna,
		"/start/size?tenant=vision&kind=notebook&reason=the+demo&lease=3d&name=mine&image=jupyterlab&key=k-1"), http.StatusOK)
	for name, want := range map[string]string{"tenant": "vision", "reason": "the demo", "name": "mine",
		"image": "jupyterlab"} {
		if got, _ := doc.Find(`#sizing input[type=hidden][name="` + name + `"]`).Attr("value"); got != want {
			t.Errorf("%s: want %q kept, got %q", name, want, got)
		}
	}
	if got, _ := doc.Find("#lease option[selected]").Attr("value"); got != "3d" {
		t.Errorf("how long is the same question on both pages, got %q", got)
	}
	if part(doc, "advice").Length() != 0 {
		t.Error("nothing was asked yet")
	}
}

// Ticked storage of the team was lost on the way to the questions and back: an address has each name once, and these
// fields have several values.
func TestTickedStorageIsKept(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for _, name := range []string{"data", "models", "scratch"} {
		v := workload.Volume{Name: workload.ClaimOf("vision", name), Tenant: "vision", Owner: webtest.Ben.ID,
			OwnerName: webtest.Ben.Name, Cluster: "local", Namespace: "gpu-vision", GiB: 10,
			Share: workload.TeamShare{Name: name, Class: "nfs", Access: workload.ManyNodes}}
		w.PutVolume(v)
	}
	ticked := func(what string, doc *goquery.Document) {
		t.Helper()
		got := doc.Find("input[name=mounts][checked]").Map(func(_ int, s *goquery.Selection) string {
			return s.AttrOr("value",
				"")
		})
		if want := []string{"data", "scratch"}; !slices.Equal(got, want) {
			t.Errorf("%s: want %v ticked, got %v", what, want, got)
		}
	}
	typed := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"mig-1g.10gb"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "mounts": {"data", "scratch"}}
	ticked("opened by an address", read(t, w.Get(webtest.Anna, "/start?"+typed.Encode()), http.StatusOK))
	ticked("another size", read(t, w.Post(webtest.Anna, "/start/form", with(typed, "instead", "cpu")), http.StatusOK))
	ticked("looked at first", read(t, w.Post(webtest.Anna, "/start/summary", typed), http.StatusOK))
	ticked("with an error", read(t, w.Post(webtest.Anna, "/start", with(typed, "lease", "soon")),
		http.StatusUnprocessableEntity))
	ticked("with an error of one of them", read(t, w.Post(webtest.Anna, "/start", with(typed, "mounts", "gone")),
		http.StatusUnprocessableEntity))

	ask := read(t, w.Get(webtest.Anna, "/start/size?"+typed.Encode()), http.StatusOK)
	kept := ask.Find("#sizing input[type=hidden][name=mounts]").Map(func(_ int, s *goquery.Selection) string {
		return s.AttrOr("value", "")
	})
	if !slices.Equal(kept, typed["mounts"]) {
		t.Errorf("the questions keep %v", kept)
	}
	back, _ := ask.Find("nav a[href^='/start?']").Attr("href")
	ticked("back without an answer", read(t, w.Get(webtest.Anna, back), http.StatusOK))
	advice := read(t, w.Get(webtest.Anna, "/start/size?"+typed.Encode()+"&work=explore"), http.StatusOK)
	take, _ := In(part(advice, "proposal").First(), "take").Attr("href")
	ticked("back with another size", read(t, w.Get(webtest.Anna, take), http.StatusOK))
}

// with is what was typed, and one more value.
func with(v url.Values, name, value string) url.Values {
	v = maps.Clone(v)
	if name == "mounts" {
		v[name] = append(slices.Clone(v[name]), value)
	} else {
		v.Set(name, value)
	}
	return v
}

func TestTheAnswerFillsTheForm(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t,
		w.Get(webtest.Anna,
			"/start/size?tenant=vision&reason=the+demo&work=inference&model=Llama+3.1+8B&sharing=tenants&lease=2h"),
		http.StatusOK)
	first := part(doc, "proposal").First()
	if name, _ := first.Attr("data-size"); name != "mig-3g.40gb" {
		t.Fatalf("want the slice that holds 17 GiB, got %q", name)
	}
	for test, words := range map[string]string{"reasons": "Needs about 17.3 GiB", "proposal-free": "Available: ",
		"proposal-price": "/h"} {
		if got := textOf(In(first, test)); !strings.Contains(got, words) {
			t.Errorf("%s: want %q, got %q", test, words, got)
		}
	}
	wantText(t, doc, "estimate", "17.3 GiB", "8.03 × 10⁹ × 2 bytes")
	given := read(t, webtest.Busy(t).Get(webtest.Anna, "/start/size?work=explore&memory=12"), http.StatusOK)
	wantText(t, given, "estimate", "12 GiB", "your entry")
	wantText(t, doc, "remarks", "CUDA streams")
	href, _ := In(first, "take").Attr("href")
	back := read(t, w.Get(webtest.Anna, href), http.StatusOK)
	if got, _ := back.Find("input[name=size][checked]").Attr("value"); got != "mig-3g.40gb" {
		t.Errorf("the size is chosen, got %q", got)
	}
	if got := back.Find("input[name=reason]").AttrOr("value", ""); got != "the demo" {
		t.Errorf("the rest is kept, got %q", got)
	}
	if got, _ := back.Find("input[name=lease]").Attr("value"); got != "2h" {
		t.Errorf("how long was answered, got %q", got)
	}
	if got, _ := back.Find("input[name=kind][checked]").Attr("value"); got != "endpoint" {
		t.Errorf("serving is an endpoint, got %q", got)
	}
}

// TestOneWayToSayHowMuchMemory: what was typed for another way does not count.
func TestOneWayToSayHowMuchMemory(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	all := "work=inference&model=Llama+3.1+8B&billions=many&memory=12"
	for query, want := range map[string]struct{ way, total string }{
		all + "&by=model":                             {"model", "17.3 GiB"},
		all + "&by=memory":                            {"memory", "12 GiB"},
		"work=explore&memory=12":                      {"memory", "12 GiB"},
		"work=inference&model=Llama+3.1+8B":           {"model", "17.3 GiB"},
		"work=inference&billions=1&memory=&by=":       {"billions", "GiB"},
		"work=explore&memory=many&billions=&by=model": {"model", "GiB"},
	} {
		doc := read(t, w.Get(webtest.Anna, "/start/size?"+query), http.StatusOK)
		wantText(t, doc, "estimate", want.total)
		if got := doc.Find("input[name=by][checked]").AttrOr("value", ""); got != want.way {
			t.Errorf("%s: want %s chosen, got %s", query, want.way, got)
		}
	}
}

func TestNoSizeWillDo(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/start/size?work=train&billions=70"), http.StatusOK)
	wantText(t, doc, "nothing", "GiB")
	if part(doc, "proposal").Length() != 0 {
		t.Error("nothing is proposed that would not do")
	}
}

func TestAnswersThatMakeNoSenseComeBack(t *testing.T) {
	t.Parallel()
	for field, query := range map[string]string{"billions": "billions=many", "memory": "memory=-1", "work": "work=sleep",
		"sharing": "sharing=all", "model": "model=HAL", "tokens": "tokens=1e99", "lease": "lease=ages"} {
		values, _ := url.ParseQuery("work=train&" + query)
		if field == "work" {
			values.Set("work", "sleep")
		}
		doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/start/size?"+values.Encode()), http.StatusOK)
		if href, _ := part(doc, "form-errors").Find("a").Attr("href"); href != "#"+field {
			t.Errorf("%s: want the problem to lead there, got %q", field, href)
		}
		if part(doc, "advice").Length() != 0 {
			t.Errorf("%s: no answer is given", field)
		}
	}
}

func TestGermansWriteCommas(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Do(webtest.Anna, "de", httptest.NewRequest(http.MethodGet,
		"/start/size?work=train&billions=0,5", nil)), http.StatusOK)
	wantText(t, doc, "estimate", "GiB", "0,5 × 10⁹ × 16")
}

// The platform ranks the technologies there, in the reader's language, with what is no choice and why.
func TestTheWaysOnAPlatform(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const ask = "/start/size?work=inference&sharing=tenants&lease=8h&precision=fp16&platform=cloud&latency=on"
	doc := read(t, w.Get(webtest.Anna, ask), http.StatusOK)
	rows := part(doc, "way")
	if rows.Length() != 7 {
		t.Fatalf("want the seven technologies, got %d", rows.Length())
	}
	for i, want := range map[int][]string{0: {"Whole GPU", "recommended", "An instance type"},
		6: {"unsuitable"}} {
		for _, text := range want {
			if got := textOf(rows.Eq(i)); !strings.Contains(got, text) {
				t.Errorf("row %d: want %q in %q", i, text, got)
			}
		}
	}
	wantText(t, doc, "ways", "You cannot partition a card there yourself", "Do not share like this between tenants",
		"Do not share like this if response times matter")
	wantText(t, doc, "remarks", "If response times matter, do not share compute")
	if part(doc, "q-latency").AttrOr("checked", "no") == "no" || doc.Find("option[value=cloud][selected]").Length() != 1 {
		t.Error("what was answered is not kept")
	}
	german := read(t, w.Do(webtest.Anna, "de", httptest.NewRequest(http.MethodGet, ask, nil)), http.StatusOK)
	wantText(t, german, "ways", "empfohlen", "ungeeignet", "Ein Instanztyp mit eigenen Karten")
	if part(read(t, w.Get(webtest.Anna, "/start/size?work=inference"), http.StatusOK), "ways").Length() != 0 {
		t.Error("nobody asked for a platform")
	}
}

// TestAProposalSaysWhatItTakes: a size that needs an approval, or for which others wait, says so as the start page
// does.
func TestAProposalSaysWhatItTakes(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna,
		"/start/size?tenant=vision&work=inference&model=Llama+3.1+8B&precision=fp16&sharing=tenants&lease=8h"), http.StatusOK)
	whole := textOf(doc.Find("#advice li").FilterFunction(func(_ int, s *goquery.Selection) bool {
		return strings.Contains(textOf(s), "Whole H100")
	}))
	for _, want := range []string{"needs approval", "1 of 2, 1 waiting"} {
		if !strings.Contains(whole, want) {
			t.Errorf("want %q, got %q", want, whole)
		}
	}
	if slice := textOf(doc.Find("#advice li").First()); strings.Contains(slice, "needs approval") {
		t.Errorf("want nothing of an approval at what starts at once, got %q", slice)
	}
}
