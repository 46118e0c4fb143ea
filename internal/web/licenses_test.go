package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

func TestLicensesTellWhatIsWrong(t *testing.T) {
	w := webtest.Busy(t)
	now := w.Clock
	w.Virtual = map[string][]string{"local": {"vm-1", "vm-2"}}
	w.OnVGPU(
		license.Device{Cluster: "local", Node: "vm-1", UUID: "a", Index: "0", Model: "NVIDIA A40-12Q",
			State: license.Unlicensed,
			Since: now.Add(-5 * time.Minute), SeenAt: now},
		license.Device{Cluster: "local", Node: "vm-1", UUID: "b", Index: "1", Model: "NVIDIA A40-12Q",
			State: license.Licensed,
			Since: now.Add(-time.Hour), SeenAt: now})
	if err := w.LicenseService.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	page := w.Get(webtest.Dora, "/licenses").Body.String()
	for _, want := range []string{`data-test="lost"`, `data-test="machine"`, "vm-2", "unknown", "full speed until",
		`data-test="license-form"`, `data-test="strip-license"`} {
		if !strings.Contains(page, want) {
			t.Errorf("an administrator does not see %q", want)
		}
	}
	if strings.Contains(w.Get(webtest.Anna, "/").Body.String(), `data-test="strip-license"`) {
		t.Error("a developer who has nothing on the node is alarmed")
	}
	if page = w.Get(webtest.Anna, "/licenses").Body.String(); strings.Contains(page, `data-test="license-form"`) ||
		strings.Contains(page, `data-test="entitlement"`) || !strings.Contains(page, `data-test="lost"`) {
		t.Error("a developer sees that a license is missing, and neither forms nor purchases")
	}
	if !strings.Contains(page, `href="/start?size=`) ||
		strings.Contains(w.Get(webtest.Dora, "/licenses").Body.String(), `data-test="license-start"`) {
		t.Error("want a developer, and no administrator, to be offered a start with the license")
	}
}

// TestAPoolSaysHowShortItsPastIs: a peak of an hour is none of 90 days; and what is nothing is no part of the bar.
func TestAPoolSaysHowShortItsPastIs(t *testing.T) {
	t.Parallel()
	doc := read(t, webtest.Busy(t).Get(webtest.Anna, "/licenses"), http.StatusOK)
	wantText(t, doc, "pool", "Peak since 21 Nov", "0 so far", "1 in use", "3 available")
	if got := textOf(part(doc, "pool")); strings.Contains(got, "90-day") || strings.Contains(got, "reserved") {
		t.Errorf("want no past that nobody saw and no part of nothing, got %q", got)
	}
}

func TestAServerThatIsAwayIsShownWithItsAge(t *testing.T) {
	w := webtest.Busy(t)
	a := license.Answer{Source: "dls"}
	a = a.Merge(license.Answer{Features: []license.Feature{{Name: "NVIDIA RTX Virtual Workstation", Total: 9, InUse: 3}}},
		nil, w.Clock.Add(-2*time.Hour))
	a = a.Merge(license.Answer{}, context.DeadlineExceeded, w.Clock.Add(-time.Hour))
	w.Answered(a)
	w.Site.Pools[0].Server = "dls"
	if err := w.LicenseService.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	page := w.Get(webtest.Dora, "/licenses").Body.String()
	for _, want := range []string{`data-test="server-away"`, "takes too long", "of 9 available", "3 leased"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestAFileOfLicensesIsSeenBeforeItIsKept(t *testing.T) {
	w := webtest.Busy(t)
	const good = "feature;quantity;reference;colour\nnvidia-vws;7;PO-1;red\n"
	answer := w.Post(webtest.Dora, "/licenses/import", url.Values{"csv": {good}})
	page := answer.Body.String()
	if answer.Code != 200 || len(w.Entered()) != 0 || strings.Count(page, `data-test="import-line"`) != 1 ||
		!strings.Contains(page, "1 to add") || !strings.Contains(page, "colour") {
		t.Fatalf("want the line shown, the column that is not read named, and nothing kept, got %d and %+v", answer.Code,
			w.Entered())
	}
	if answer = w.Post(webtest.Dora, "/licenses/import", url.Values{"csv": {good}, "keep": {"1"}}); answer.Code != 303 ||
		len(w.Entered()) != 1 {
		t.Fatalf("want it kept, got %d", answer.Code)
	}
	if page = w.Post(webtest.Dora, "/licenses/import", url.Values{"csv": {good}}).Body.String(); !strings.Contains(page,
		"1 unchanged") || strings.Contains(page, `data-test="import-keep"`) {
		t.Error("what is there already would be kept again")
	}
	changed := strings.Replace(good, ";7;", ";9;", 1)
	if page = w.Post(webtest.Dora, "/licenses/import", url.Values{"csv": {changed}}).Body.String(); !strings.Contains(page,
		"now 7") {
		t.Error("the change does not say what was there")
	}
	if answer = w.Post(webtest.Dora, "/licenses/import",
		url.Values{"csv": {changed}, "keep": {"1"}}); answer.Code != 303 || len(w.Entered()) != 1 ||
		w.Entered()[0].Seats != 9 {
		t.Errorf("want it changed in place, got %d, %+v", answer.Code, w.Entered())
	}
	bad := "feature,quantity\nnvidia-vws,7\nother,x\nnvidia-vws,-2\n"
	for _, keep := range []string{"", "1"} {
		answer = w.Post(webtest.Dora, "/licenses/import", url.Values{"csv": {bad}, "keep": {keep}})
		page = answer.Body.String()
		if answer.Code != 422 || len(w.Entered()) != 1 || strings.Contains(page, `data-test="import-keep"`) {
			t.Errorf("keep %q: want nothing kept and no way to, got %d", keep, answer.Code)
		}
		if strings.Count(page, ">Refused<") != 2 || !strings.Contains(page, "not a whole number") ||
			!strings.Contains(page, "above zero") {
			t.Errorf("keep %q: want both lines with their reasons", keep)
		}
	}
	if answer = w.Post(webtest.Anna, "/licenses/import", url.Values{"csv": {good}}); answer.Code != 403 {
		t.Errorf("a developer looks at a file: %d", answer.Code)
	}
}

// TestAFileIsUploaded: as a browser sends it, whatever wrote it; one that is too long, or no text, is called that.
func TestAFileIsUploaded(t *testing.T) {
	for name, c := range map[string]struct {
		file []byte
		code int
		want string
	}{
		"UTF-8 with a mark": {append([]byte{0xef, 0xbb, 0xbf}, "feature,quantity,reference\nnvidia-vws,7,Größe\n"...),
			200, "Größe"},
		"Latin-1 with semicolons": {[]byte("feature;quantity;reference\r\nnvidia-vws;7;Gr\xf6\xdfe\r\n"), 200, "Latin-1"},
		"a picture":               {[]byte("\x89PNG\r\n\x1a\n\x00\x00"), 422, "not text in UTF-8"},
		"too long":                {bytes.Repeat([]byte("x"), license.MaxCSV+1), 422, "larger than 512 KiB"},
		"other columns":           {[]byte("Name,Owner\na,b\n"), 422, "is missing. Columns found"},
	} {
		w := webtest.Busy(t)
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", "export.csv")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(c.file)
		if err := errors.Join(form.WriteField("csv", ""), form.Close()); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/licenses/import", &body)
		r.Header.Set("Content-Type", form.FormDataContentType())
		answer := w.Do(webtest.Dora, "en", r)
		if answer.Code != c.code || !strings.Contains(answer.Body.String(), c.want) || len(w.Entered()) != 0 {
			t.Errorf("%s: want %d with %q and nothing kept, got %d", name, c.code, c.want, answer.Code)
		}
	}
}

func TestLicensesAreEnteredByAdministrators(t *testing.T) {
	w := webtest.Busy(t)
	answer := w.Post(webtest.Dora, "/licenses", url.Values{"pool": {"nvidia-vws"}, "seats": {"3"}})
	if answer.Code != 303 || len(w.Entered()) != 1 {
		t.Fatalf("want it entered, got %d", answer.Code)
	}
	if answer = w.Post(webtest.Anna, "/licenses", url.Values{"pool": {"nvidia-vws"}, "seats": {"3"}}); answer.Code != 403 {
		t.Errorf("a developer enters licenses: %d", answer.Code)
	}
	if answer = w.Post(webtest.Dora, "/licenses", url.Values{"pool": {"nvidia-vws"}, "seats": {"-3"},
		"until": {"soon"}}); answer.Code != 422 || !strings.Contains(answer.Body.String(), "above zero") ||
		!strings.Contains(answer.Body.String(), "is not a date") {
		t.Errorf("want both fields named, got %d", answer.Code)
	}
	id := w.Entered()[0].ID
	if answer = w.Post(webtest.Dora, "/licenses/"+id+"/remove", nil); answer.Code != 303 || len(w.Entered()) != 0 {
		t.Errorf("want it taken out, got %d", answer.Code)
	}
}

func TestTheOwnerHearsOfALostLicense(t *testing.T) {
	w := webtest.Busy(t)
	w.Add(w.Workload("on-vgpu", webtest.Anna, "vgpu-12q").Running("vm-1", time.Hour, time.Hour))
	w.Virtual = map[string][]string{"local": {"vm-1"}}
	w.OnVGPU(license.Device{Cluster: "local", Node: "vm-1", UUID: "a", State: license.Unlicensed,
		Since: w.Clock, SeenAt: w.Clock})
	if err := w.LicenseService.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	page := w.Get(webtest.Anna, "/").Body.String()
	if !strings.Contains(page, `data-test="strip-license"`) || !strings.Contains(page, "A vGPU of on-vgpu") {
		t.Error("the owner hears nothing")
	}
}

// TestSeatsByHourAreDrawn: seven days of hours, with the same as numbers; without a past there is nothing to draw.
func TestSeatsByHourAreDrawn(t *testing.T) {
	w := webtest.Empty(t)
	if strings.Contains(w.Get(webtest.Dora, "/licenses").Body.String(), `data-test="week"`) {
		t.Error("something is drawn of no past")
	}
	from := w.Clock.Add(-3 * 24 * time.Hour)
	cad := w.Workload("cad", webtest.Ben, "vgpu-12q")
	cad.State, cad.Desired, cad.LicenseSeats = workload.Ended, workload.WantDeleted, 2
	w.Add(cad)
	w.Meter(cad.ID, usage.Interval{Tenant: cad.Tenant, Size: cad.Size.Name, Seats: cad.Seats(), From: from,
		Until: from.Add(26 * time.Hour)})
	for _, person := range []string{"admin", "developer"} {
		who := webtest.Dora
		if person == "developer" {
			who = webtest.Anna
		}
		page := w.Get(who, "/licenses").Body.String()
		if strings.Count(page, `data-test="week-day"`) != 7 || !strings.Contains(page, `class="gp-heat--free"`) ||
			!strings.Contains(page, `class="gp-heat--unknown"`) || !strings.Contains(page, `data-test="week-numbers"`) {
			t.Errorf("%s: want seven days with free and unknown hours, and the numbers", person)
		}
		if strings.Contains(page, "cad (Vision)") != (person == "admin") {
			t.Errorf("%s: who held the peak is for those who see all", person)
		}
	}
}

// TestWhatIsNotKnownOfAPoolIsAFactOfIt: it says what it takes to be known, and to others nothing of the settings.
func TestWhatIsNotKnownOfAPoolIsAFactOfIt(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Dora, "/licenses"), http.StatusOK)
	wantText(t, doc, "forecast", "unknown", "needs 14 days of data")
	wantText(t, doc, "valid-until", "not entered", "Add licenses")
	doc = read(t, w.Get(webtest.Anna, "/licenses"), http.StatusOK)
	wantText(t, doc, "forecast", "unknown", "needs 14 days of data")
	wantAbsent(t, doc, "valid-until", "enter-end") // a developer enters none
}

// An end is always told with its days; a warning comes when there is still time to order, not all year round.
func TestThePoolTellsWhenItsLicensesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		days  int
		warns bool
	}{"soon": {30, true}, "next year": {300, false}} {
		w := webtest.Busy(t)
		w.Entitle(license.Entitlement{ID: "l-1", Pool: "nvidia-vws", Seats: 4, Until: w.Clock.AddDate(0, 0, c.days)})
		if err := w.LicenseService.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		doc := read(t, w.Get(webtest.Dora, "/licenses"), 200)
		wantText(t, doc, "valid-until", fmt.Sprintf("%d days from now", c.days))
		if got := part(doc, "will-end").Length() > 0; got != c.warns {
			t.Errorf("%s: want a warning %v, got %v", name, c.warns, got)
		}
	}
}

// How seats are counted is data with its source, and a site's own rules stand above it.
func TestThePoolTellsHowItCounts(t *testing.T) {
	w := webtest.Busy(t)
	w.Site.Pools[0].Rules = []license.Rule{{Device: license.MIGBackedVGPU, Unit: license.PerGPU, UpTo: 16,
		Source: "contract 4711"}, {Device: license.TimeSlicedVGPU, Unit: license.PerUser, Source: "contract 4711"}}
	if err := w.LicenseService.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	doc := read(t, w.Get(webtest.Anna, "/licenses"), http.StatusOK)
	rows := part(doc, "rule")
	if rows.Length() != len(license.DeviceKinds()) {
		t.Fatalf("want a row for each kind of device, got %d", rows.Length())
	}
	for i, want := range [][]string{{"person", "contract 4711", "this site"},
		{"physical GPU, for up to 16 devices", "contract 4711", "this site"},
		{"virtual machine", "Packaging, Pricing and Licensing Guide"}} {
		for _, text := range want {
			if got := textOf(rows.Eq(i)); !strings.Contains(got, text) {
				t.Errorf("row %d: want %q in %q", i, text, got)
			}
		}
	}
}

// Beside each seat stands what the license server says of its machine; where it does not tell, that is unknown.
func TestTheLeaseStandsBesideTheSeat(t *testing.T) {
	w := webtest.Busy(t)
	w.Site.Pools[0].Server = "dls"
	const feature = "NVIDIA RTX Virtual Workstation"
	page := func(known bool, leases ...license.Lease) string {
		w.Answered(license.Answer{Source: "dls"}.Merge(license.Answer{LeasesKnown: known,
			Leases: leases, Features: []license.Feature{{Name: feature, Total: 9, InUse: 1}}}, nil, w.Clock))
		if err := w.LicenseService.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		return textOf(part(read(t, w.Get(webtest.Dora, "/licenses"), http.StatusOK), "seat"))
	}
	node := ""
	for _, item := range w.Works() {
		if item.Size.LicensePool != "" && item.Holds() {
			node = item.Observed.Node
		}
	}
	if got := page(false); !strings.Contains(got, "unknown") {
		t.Errorf("nobody told: %q", got)
	}
	if got := page(true, license.Lease{Feature: feature, Client: node + ".lab", Count: 1}); !strings.Contains(got,
		"one on "+node) {
		t.Errorf("want the lease of %s, got %q", node, got)
	}
	if got := page(true); !strings.Contains(got, "0 on "+node) {
		t.Errorf("the server told that there is none, got %q", got)
	}
}

// TestOneSeatHasNoOrder: columns are sorted, and seats counted by team, only where there is more than one.
func TestOneSeatHasNoOrder(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	one := part(read(t, w.Get(webtest.Dora, "/licenses"), http.StatusOK), "pool").First()
	if n := In(one, "seat").Length(); n != 1 {
		t.Fatalf("want one seat, got %d", n)
	}
	if n := one.Find("a.gp-sort").Length() + In(one, "seats-by-team").Length(); n > 0 {
		t.Errorf("want nothing to sort and no sum of one seat, got %d", n)
	}
	w.Add(w.Workload("render-two", webtest.Ben, "vgpu-12q").Running("gpu-04", time.Hour, time.Hour))
	two := part(read(t, w.Get(webtest.Dora, "/licenses"), http.StatusOK), "pool").First()
	if In(two, "seat").Length() != 2 || two.Find("a.gp-sort").Length() == 0 {
		t.Errorf("want two seats in an order, got %q", textOf(two))
	}
}

// TestThePoolTellsWhenItRunsOut: within a month it is a warning, and it counts what people had in the weeks before.
func TestThePoolTellsWhenItRunsOut(t *testing.T) {
	t.Parallel()
	w := sceneWorld(t, "licenses", "an administrator's look")
	doc := read(t, w.Get(webtest.Dora, "/licenses"), http.StatusOK)
	wantText(t, doc, "forecast-soon", "in 27 days, at the current rate")
	wantText(t, doc, "peak", "2 seats", "render-08-0")
}
