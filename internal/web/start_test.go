package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// form is a good one; changes are pairs of name and value.
func form(changes ...string) url.Values {
	f := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"mig-1g.10gb"}, "image": {"jupyterlab"},
		"lease": {"8h"}, "storage": {"10Gi"}, "key": {"k-1"}}
	for i := 0; i < len(changes); i += 2 {
		f.Set(changes[i], changes[i+1])
	}
	return f
}

// tile is the tile of a size.
func tile(doc *goquery.Document, size string) *goquery.Selection {
	return doc.Find(`[data-test="size-tile"][data-size="` + size + `"]`)
}

// chosen is the size that the form would send.
func chosen(doc *goquery.Document) string {
	value, _ := doc.Find("input[name=size][checked]").Attr("value")
	return value
}

func TestSizesAreTilesByMemory(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/start"), http.StatusOK)
	want := []string{"No GPU", "10 GiB", "12 GiB", "80 GiB"}
	titles := doc.Find("[data-test=size-tile] label")
	if got := titles.Map(func(_ int, s *goquery.Selection) string { return textOf(s) }); !slices.Equal(got, want) {
		t.Errorf("want %q, got %q", want, got)
	}
	for size, want := range map[string][]string{
		"mig-1g.10gb": {"MIG slice 10 GB", "H100 80GB hardware isolation", "€0.55/h", "12 of 14 free", "instant"},
		"h100":        {"Whole H100", "€3.90/h", "1 of 2 free, 1 waiting", "approval"},
		"cpu":         {"CPU only", "2 CPU, 8 GiB RAM", "€0.06/h", "instant"},
	} {
		for _, text := range want {
			if got := textOf(tile(doc, size)); !strings.Contains(got, text) {
				t.Errorf("%s: want %q, got %q", size, text, got)
			}
		}
	}
	if got := chosen(doc); got != "h100" {
		t.Errorf("what was used last is chosen and stands for its class, got %q", got)
	}
	fresh := webtest.Busy(t)
	fresh.ForgetRequests()
	doc = read(t, fresh.Get(webtest.Anna, "/start"), http.StatusOK)
	if got := chosen(doc); got != "mig-1g.10gb" {
		t.Errorf("without a last one the smallest that is free is chosen, got %q", got)
	}
	if tile(doc, "mig-3g.40gb").Length() != 1 {
		t.Error("want the slice with memory of its own for up to 80 GB, not the cheaper card that is shared in turns")
	}
}

// TestOtherWorkBeginsWithWhatStartsAtOnce: the size of the last notebook needs an approval and waits, so a job does not
// begin with it; the next notebook does.
func TestOtherWorkBeginsWithWhatStartsAtOnce(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{"job": "mig-1g.10gb", "notebook": "h100"} {
		doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/start?kind="+kind), http.StatusOK)
		if got := chosen(doc); got != want {
			t.Errorf("%s: want %s, got %q", kind, want, got)
		}
	}
}

// TestNothingIsInstantThatWaitsForAGPU: without an approval, and not at once.
func TestNothingIsInstantThatWaitsForAGPU(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(webtest.Scenes(), func(s webtest.Scene) bool {
		return s.Area == "start" &&
			s.Name == "all taken"
	})
	answer, err := webtest.Scenes()[i].Render("en", "")
	if err != nil {
		t.Fatal(err)
	}
	got := textOf(tile(read(t, answer, http.StatusOK), "mig-1g.10gb"))
	if !strings.Contains(got, "no approval") || strings.Contains(got, "instant") {
		t.Errorf("got %q", got)
	}
}

// TestTheManifestIsWrittenOnDemand: when the details are opened, without scripts by a button, and from then on.
func TestTheManifestIsWrittenOnDemand(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/start"), http.StatusOK)
	if doc.Find("#manifest").Length() > 0 {
		t.Error("nobody has opened the details")
	}
	if details := part(doc, "details"); details.AttrOr("hx-post", "") != "/start/summary" ||
		details.AttrOr("hx-vals", "") != `{"manifest": "1"}` {
		t.Errorf("the details ask for it when they are opened, got %s", details.AttrOr("hx-post", ""))
	}
	show := part(doc, "show-manifest")
	if show.AttrOr("formaction", "") != "/start/summary" || show.AttrOr("name", "") != "manifest" {
		t.Error("without scripts a button of the form asks for it")
	}
	doc = read(t, w.Post(webtest.Anna, "/start/summary", form("manifest", "1")), http.StatusOK)
	if got := doc.Find("#manifest").Text(); !strings.Contains(got, "kind: ") {
		t.Errorf("got %q", got)
	}
	if _, open := part(doc, "details").Attr("open"); !open || doc.Find("input[name=manifest][value='1']").Length() != 1 {
		t.Error("the details stay open, and the next summary has it too")
	}
}

func TestAllSizesAreComparedOnDemand(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/start"), http.StatusOK)
	wantAbsent(t, doc, "size-row")
	wantText(t, doc, "compare", "Compare all 6 sizes, from €0.06/h")
	show := part(doc, "show-all")
	if action, _ := show.Attr("formaction"); action != "/start/form" || show.AttrOr("name", "") != "all" {
		t.Errorf("without scripts a button of the form asks for the table, got %q", action)
	}
	doc = read(t, w.Post(webtest.Anna, "/start/form", form("all", "1", "size", "gpu-shared")), http.StatusOK)
	if first := part(doc, "size-row").First().AttrOr("data-size", ""); first != "h100" ||
		doc.Find("#sizes th[aria-sort=descending]").Length() != 1 {
		t.Errorf("want the most GPU memory first, and its column marked, got %q", first)
	}
	whole := doc.Find(`tr[data-size="h100"]`)
	for name, want := range map[string]string{"free": "1 of 2, 1 waiting", "price": "€3.90/h",
		"needs": "by approver"} {
		if got := textOf(In(whole, name)); got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
	if got := textOf(doc.Find(`tr[data-size="mig-1g.10gb"]`)); !strings.Contains(got, "H100 80GB") ||
		!strings.Contains(got, "10 GiB") || !strings.Contains(got, "MIG") ||
		!strings.Contains(got, "Hardware") || !strings.Contains(got, "12 of 14") {
		t.Errorf("the slice says %q", got)
	}
	wantText(t, doc, "isolation-levels", "Hardware: own memory and compute")
	if got := textOf(In(doc.Find(`tr[data-size="vgpu-12q"]`), "needs")); got != "instant 3 of 4 licenses" {
		t.Errorf("a vGPU takes a seat, got %q", got)
	}
	if chosen(doc) != "gpu-shared" || tile(doc, "gpu-shared").Length() != 0 {
		t.Error("the table stands in place of the tiles, with what is chosen")
	}
	fewer := read(t, w.Post(webtest.Anna, "/start/form", form("all", "1", "fewer", "1", "size", "gpu-shared")),
		http.StatusOK)
	if chosen(fewer) != "gpu-shared" || tile(fewer, "gpu-shared").Length() != 1 {
		t.Error("what was chosen in the table stands for its class in the tiles")
	}
	doc.Find("[data-test^=size-][type=radio]").Each(func(_ int, s *goquery.Selection) {
		if test := s.AttrOr("data-test", ""); doc.Find(`[data-test="`+test+`"]`).Length() != 1 {
			t.Errorf("%s is there twice", test)
		}
	})
}

func TestWhatCannotBeHadSaysWhy(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Site.Directory.Tenants[0].Quota["mig-1g.10gb"] = 1
	doc := read(t, w.Get(webtest.Anna, "/start"), http.StatusOK)
	full := tile(doc, "mig-1g.10gb")
	if got := textOf(In(full, "size-why")); !strings.Contains(got, "Your team uses 1 of 1") {
		t.Errorf("want the quota as the reason, got %q", got)
	}
	if _, off := full.Find("input").Attr("disabled"); !off || In(full, "more-quota").Length() != 1 {
		t.Error("it cannot be chosen, and more can be asked for")
	}
	doc = read(t, w.Get(webtest.Anna, "/start?all=1"), http.StatusOK)
	wantText(t, doc, "refused", "1 size is not available to your team", "MIG slice 10 GB", "Your team uses 1 of 1")
	if doc.Find(`tr[data-size="mig-1g.10gb"]`).Length() != 0 {
		t.Error("what cannot be requested is folded, not in the table")
	}
}

// TestOneScreenAsksForAReasonOnlyWhereSomebodyApproves: the field stands in the bar, marked as required, before
// anything is sent.
func TestOneScreenAsksForAReasonOnlyWhereSomebodyApproves(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/start?size=h100"), http.StatusOK)
	if _, required := doc.Find("[data-test=bar] textarea[name=reason]").Attr("required"); !required {
		t.Error("want a reason asked for in the bar")
	}
	doc = read(t, w.Get(webtest.Anna, "/start?size=mig-1g.10gb&reason=kept"), http.StatusOK)
	if doc.Find("textarea[name=reason]").Length() != 0 {
		t.Error("nobody approves a slice, so nobody reads a reason")
	}
	if got := doc.Find("input[type=hidden][name=reason]").AttrOr("value", ""); got != "kept" {
		t.Errorf("what was typed stays for another size, got %q", got)
	}
	for _, text := range []string{"MIG slice 10 GB", "8 h", "€4.40", "Starts now"} {
		wantText(t, doc, "bar", text)
	}
}

// leaseOf is the length of time that the form would send.
func leaseOf(doc *goquery.Document) string {
	if typed := doc.Find("input[name=lease]").AttrOr("value", ""); typed != "" {
		return typed
	}
	return doc.Find("input[name=presetChosen]").AttrOr("value", "")
}

// TestOneLengthOfTimeIsChosenAtATime: a button and the field beside it both seemed to be chosen. The field is empty
// while a button is, and what is typed there counts.
func TestOneLengthOfTimeIsChosenAtATime(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for name, c := range map[string]struct {
		values        []string
		field, button string
	}{
		"a button":            {[]string{"lease", "", "preset", "4h"}, "", "4h"},
		"as it was chosen":    {[]string{"lease", "", "presetChosen", "4h"}, "", "4h"},
		"typed after that":    {[]string{"lease", "90m", "presetChosen", "4h"}, "90m", ""},
		"typed like a button": {[]string{"lease", "4h"}, "", "4h"},
	} {
		doc := read(t, w.Post(webtest.Anna, "/start/form", form(c.values...)), http.StatusOK)
		if got := doc.Find("input[name=lease]").AttrOr("value", ""); got != c.field {
			t.Errorf("%s: want %q in the field, got %q", name, c.field, got)
		}
		if got := doc.Find("input[name=presetChosen]").AttrOr("value", ""); got != c.button {
			t.Errorf("%s: want the button %q, got %q", name, c.button, got)
		}
	}
}

func TestDurationsAreThoseOfTheSize(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for size, want := range map[string]string{"mig-1g.10gb": "1 h 4 h 8 h 1 d max. 7 d",
		"h100": "1 h 4 h 8 h 1 d max. 3 d"} {
		doc := read(t, w.Get(webtest.Anna, "/start?lease=4h&size="+size), http.StatusOK)
		if got := textOf(part(doc, "lease-presets")); got != want {
			t.Errorf("%s: want %q, got %q", size, want, got)
		}
		if got := textOf(doc.Find("[data-test=lease-presets] [aria-pressed=true]")); got != "4 h" {
			t.Errorf("want the chosen one marked, got %q", got)
		}
	}
}

func TestTheSummaryIsTrue(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		form    url.Values
		verdict []string
		total   string
	}{
		"a slice starts now": {form(), []string{"Starts now"}, "€4.40"},
		"a whole card waits": {form("size", "h100", "lease", "4h"),
			[]string{"Needs approval"}, "€15.60"},
		"with a reason it asks for no more": {form("size", "h100", "lease", "4h", "reason", "the demo"),
			[]string{"Needs approval"}, "€15.60"},
		"too long says the most": {form("size", "h100", "lease", "30d"), []string{"Cannot start", "at most 3 d",
			"Use MIG slice"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := webtest.Busy(t)
			r := httptest.NewRequest(http.MethodPost, "/start/summary", strings.NewReader(c.form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("HX-Request", "true")
			doc := read(t, w.Do(webtest.Anna, "en", r), http.StatusOK)
			if doc.Find("h1").Length() != 0 {
				t.Error("htmx gets the part alone")
			}
			wantText(t, doc, "verdict", c.verdict...)
			if got := textOf(part(doc, "total")); !strings.Contains(got, c.total) {
				t.Errorf("want the price %s, got %q", c.total, got)
			}
		})
	}
}

// TestWhereNoSizeCanBeRequested: the page once asked to choose one, and for a duration beside it.
func TestWhereNoSizeCanBeRequested(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	rules, problems := policy.Compile([]policy.Rule{{Name: "closed", When: "true", Outcome: policy.Refuse,
		Sentence: "The cluster is closed until 2 January."}})
	if problems != nil {
		t.Fatal(problems)
	}
	w.Rules = policy.NewService(policy.Options{Store: w.Store, Initial: rules,
		Now: func() time.Time { return w.Clock }})
	doc := read(t, w.Get(webtest.Anna, "/start"), http.StatusOK)
	verdict := textOf(doc.Find("[data-test=verdict]"))
	if want := "Cannot start The cluster is closed until 2 January."; !strings.Contains(verdict, want) {
		t.Errorf("want %q, got %q", want, verdict)
	}
	for _, beside := range []string{"Choose a size", "duration"} {
		if strings.Contains(verdict, beside) {
			t.Errorf("want nothing of %q, got %q", beside, verdict)
		}
	}
	if doc.Find("[data-test=send].pf-m-primary").Length() > 0 {
		t.Error("a start that would be refused is the page's first action")
	}
}

func TestTheSummarySaysWhyItWaits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*inventory.Node)
		want   []string
	}{
		"all held": {func(n *inventory.Node) { hold(n, "nvidia.com/mig-1g.10gb") },
			[]string{"Waits for a free GPU", "in use"}},
		"on a closed node": {func(n *inventory.Node) { n.Cordoned = true }, []string{"unschedulable nodes"}},
		"processors missing": {func(n *inventory.Node) { n.CPU.Requested = n.CPU.Allocatable },
			[]string{"no CPU left"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := webtest.Busy(t)
			s := w.Inventory("local")
			s.Nodes = slices.Clone(s.Nodes)
			for i := range s.Nodes {
				s.Nodes[i].Resources = slices.Clone(s.Nodes[i].Resources)
				c.change(&s.Nodes[i])
			}
			w.PutInventory(s)
			doc := read(t, w.Post(webtest.Anna, "/start/summary", form("all", "1")), http.StatusOK)
			wantText(t, doc, "verdict", c.want...)
			line := doc.Find(`[data-test=size-row][data-size="mig-1g.10gb"], [data-test=size-refused][data-size="mig-1g.10gb"]`)
			if got := textOf(line); !strings.Contains(got, c.want[len(c.want)-1]) {
				t.Errorf("the line says the same, got %q", got)
			}
		})
	}
}

// hold gives all of a resource to a pod.
func hold(n *inventory.Node, resource string) {
	for i := range n.Resources {
		if n.Resources[i].Name == resource {
			n.Resources[i].Holders = []inventory.Holder{{Namespace: "other", Pod: "p", Count: n.Resources[i].Allocatable}}
		}
	}
}

func TestWithoutScriptsTheSummaryIsThePage(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Post(webtest.Anna, "/start/summary", form("reason", "kept as typed", "preset", "2h",
		"manifest", "1", "kind", "endpoint")), http.StatusOK)
	if got := doc.Find("input[name=reason]").AttrOr("value", ""); got != "kept as typed" {
		t.Errorf("what was typed stays, got %q", got)
	}
	if got, _ := doc.Find("input[name=lease]").Attr("value"); got != "2h" {
		t.Errorf("the preset is taken, got %q", got)
	}
	if got := textOf(doc.Find("select[name=image]")); !strings.Contains(got, "vLLM") ||
		strings.Contains(got, "JupyterLab") {
		t.Errorf("images follow the kind, got %q", got)
	}
	if got := textOf(part(doc, "summary").Find("pre")); !strings.Contains(got, "nvidia.com/mig-1g.10gb") {
		t.Errorf("what will be created is shown, got %.80q", got)
	}
}

func TestASliceStartsAtOnce(t *testing.T) {
	t.Parallel()
	w := webtest.Empty(t)
	to := wantRedirect(t, w.Post(webtest.Anna, "/start", form("name", "first")))
	doc := read(t, w.Get(webtest.Anna, to), http.StatusOK)
	if got := textOf(part(doc, "state")); got != "Queued" {
		t.Errorf("want it queued, got %q", got)
	}
	again := wantRedirect(t, w.Post(webtest.Anna, "/start", form("name", "first")))
	if again != to || len(w.Works()) != 1 {
		t.Errorf("a double click makes one: want %s, got %s and %d workloads", to, again, len(w.Works()))
	}
}

func TestAWholeCardBecomesARequest(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	to := wantRedirect(t, w.Post(webtest.Anna, "/start", form("size", "h100", "lease", "4h", "reason", "the demo")))
	doc := read(t, w.Get(webtest.Anna, to), http.StatusOK)
	wantText(t, doc, "request-verdict", "for approval", "whole-gpus")
	wantText(t, doc, "reason", "the demo")
}

func TestWhatIsWrongComesBack(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		form  url.Values
		field string
		words string
	}{
		"a lease of ten years":  {form("lease", "3650d"), "lease", "at most 7 d"},
		"a lease of nothing":    {form("lease", "0"), "lease", "minimum"},
		"no size":               {form("size", ""), "size", "Choose a size"},
		"an unknown size":       {form("size", "<b>mine</b>"), "size", "does not exist for this team"},
		"the other kind's":      {form("image", "vllm"), "image", "Choose"},
		"too much storage":      {form("storage", "900Ti"), "storage", "The maximum is"},
		"a name of signs":       {form("name", "!!!"), "name", "at least one letter"},
		"a name that is taken":  {form("name", "Train ResNet"), "name", "is in use"},
		"no reason":             {form("size", "h100", "lease", "4h"), "reason", "what it is for"},
		"someone else's volume": {form("volume", "render-farm-home"), "volume", "You have no storage"},
		"another team's":        {form("tenant", "speech"), "tenant", "one of your own teams"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := webtest.Busy(t)
			works, asks := w.Works(), w.AllRequests()
			doc := read(t, w.Post(webtest.Anna, "/start", c.form), http.StatusUnprocessableEntity)
			link := part(doc, "form-errors").Find("a")
			if got := textOf(link); !strings.Contains(got, c.words) {
				t.Errorf("want %q at the top, got %q", c.words, textOf(part(doc, "form-errors")))
			}
			if got, _ := link.Attr("href"); got != "#"+c.field {
				t.Errorf("want it to lead to #%s, got %s", c.field, got)
			}
			if beside := textOf(doc.Find("#" + c.field + "-error")); !strings.Contains(beside, c.words) {
				t.Errorf("want %q beside the field, got %q", c.words, beside)
			}
			if got := leaseOf(doc); got != c.form.Get("lease") {
				t.Errorf("lease: want %q kept, got %q", c.form.Get("lease"), got)
			}
			for _, kept := range []string{"storage", "name"} {
				if got, _ := doc.Find("input[name=" + kept + "]").Attr("value"); got != c.form.Get(kept) {
					t.Errorf("%s: want %q kept, got %q", kept, c.form.Get(kept), got)
				}
			}
			if len(w.Works()) != len(works) || len(w.AllRequests()) != len(asks) {
				t.Error("nothing may have been written")
			}
		})
	}
}

// TestAFormThatWasSentIsNotSentAgainWithOtherContents: back in the browser, another size, send. The key of the form is
// the old one, so nothing was started and the reader was led to what they had before.
func TestAFormThatWasSentIsNotSentAgainWithOtherContents(t *testing.T) {
	t.Parallel()
	w := webtest.Empty(t)
	to := wantRedirect(t, w.Post(webtest.Anna, "/start", form("name", "first")))
	changed := form("name", "second", "lease", "2h")
	doc := read(t, w.Post(webtest.Anna, "/start", changed), http.StatusConflict)
	wantText(t, doc, "form-errors", "already sent", "first")
	if got, _ := doc.Find("#lease, input[name=lease]").Attr("value"); got != "2h" {
		t.Errorf("what was typed stays, got %q", got)
	}
	earlier, _ := part(doc, "see-earlier").Attr("href")
	if !strings.HasPrefix(earlier, "/requests/r-") {
		t.Fatalf("want the way to the earlier request, got %q", earlier)
	}
	read(t, w.Get(webtest.Anna, earlier), http.StatusOK)
	if owner, _ := part(doc, "send-another").Attr("form"); owner != "start-form" {
		t.Errorf("the button sends the form, got %q", owner)
	}
	key, _ := doc.Find("input[name=key]").Attr("value")
	changed.Set("key", key)
	if another := wantRedirect(t, w.Post(webtest.Anna, "/start", changed)); another == to || len(w.Works()) != 2 {
		t.Errorf("sent as another request: want a second workload, got %s and %d", another, len(w.Works()))
	}
}
