package web_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestLicencesTellWhatIsWrong(t *testing.T) {
	w := webtest.Busy()
	now := w.Clock
	w.Licences.Virtual = map[string][]string{"local": {"vm-1", "vm-2"}}
	w.Licences.Devices = []license.Device{
		{Cluster: "local", Node: "vm-1", UUID: "a", Index: "0", Model: "NVIDIA A40-12Q", State: license.Unlicensed, Since: now.Add(-5 * time.Minute), SeenAt: now},
		{Cluster: "local", Node: "vm-1", UUID: "b", Index: "1", Model: "NVIDIA A40-12Q", State: license.Licensed, Since: now.Add(-time.Hour), SeenAt: now}}
	if err := w.LicenceService.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	page := w.Get(webtest.Dora, "/licences").Body.String()
	for _, want := range []string{`data-test="lost"`, `data-test="machine"`, "vm-2", "unknown", "full speed until", `data-test="licence-form"`, `data-test="strip-licence"`} {
		if !strings.Contains(page, want) {
			t.Errorf("an administrator does not see %q", want)
		}
	}
	if strings.Contains(w.Get(webtest.Anna, "/").Body.String(), `data-test="strip-licence"`) {
		t.Error("a developer who has nothing on the node is alarmed")
	}
	if page = w.Get(webtest.Anna, "/licences").Body.String(); strings.Contains(page, `data-test="licence-form"`) || strings.Contains(page, `data-test="entitlement"`) || !strings.Contains(page, `data-test="lost"`) {
		t.Error("a developer sees that a licence is missing, and neither forms nor purchases")
	}
}

func TestAServerThatIsAwayIsShownWithItsAge(t *testing.T) {
	w := webtest.Busy()
	a := license.Answer{Source: "dls"}
	a = a.Take(license.Answer{Features: []license.Feature{{Name: "NVIDIA RTX Virtual Workstation", Total: 9, InUse: 3}}}, nil, w.Clock.Add(-2*time.Hour))
	a = a.Take(license.Answer{}, context.DeadlineExceeded, w.Clock.Add(-time.Hour))
	w.Licences.Said = []license.Answer{a}
	w.Site.Pools[0].Server = "dls"
	if err := w.LicenceService.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	page := w.Get(webtest.Dora, "/licences").Body.String()
	for _, want := range []string{`data-test="server-away"`, "takes too long", "of 9 free", "3 leased"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestAFileOfLicencesIsKeptWholeOrNotAtAll(t *testing.T) {
	w := webtest.Busy()
	answer := w.Post(webtest.Dora, "/licences/import", url.Values{"csv": {"feature,quantity\nnvidia-vws,7\nother,x\n"}})
	if page := answer.Body.String(); answer.Code != 422 || !strings.Contains(page, "Line 3") || len(w.Licences.Entered) != 0 {
		t.Errorf("want the third line named and nothing kept, got %d and %+v", answer.Code, w.Licences.Entered)
	}
	if answer = w.Post(webtest.Dora, "/licences/import", url.Values{"csv": {"feature,quantity\nnvidia-vws,7\n"}}); answer.Code != 303 || len(w.Licences.Entered) != 1 {
		t.Errorf("want it kept, got %d", answer.Code)
	}
	if answer = w.Post(webtest.Anna, "/licences", url.Values{"pool": {"nvidia-vws"}, "seats": {"3"}}); answer.Code != 403 {
		t.Errorf("a developer enters licences: %d", answer.Code)
	}
	if answer = w.Post(webtest.Dora, "/licences", url.Values{"pool": {"nvidia-vws"}, "seats": {"-3"}, "until": {"soon"}}); answer.Code != 422 || !strings.Contains(answer.Body.String(), "above zero") || !strings.Contains(answer.Body.String(), "no date") {
		t.Errorf("want both fields named, got %d", answer.Code)
	}
	id := w.Licences.Entered[0].ID
	if answer = w.Post(webtest.Dora, "/licences/"+id+"/remove", nil); answer.Code != 303 || len(w.Licences.Entered) != 0 {
		t.Errorf("want it taken out, got %d", answer.Code)
	}
}

func TestTheOwnerHearsOfALostLicence(t *testing.T) {
	w := webtest.Busy()
	w.Add(w.Workload("on-vgpu", webtest.Anna, "vgpu-12q").Running("vm-1", time.Hour, time.Hour))
	w.Licences.Virtual = map[string][]string{"local": {"vm-1"}}
	w.Licences.Devices = []license.Device{{Cluster: "local", Node: "vm-1", UUID: "a", State: license.Unlicensed, Since: w.Clock, SeenAt: w.Clock}}
	if err := w.LicenceService.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	page := w.Get(webtest.Anna, "/").Body.String()
	if !strings.Contains(page, `data-test="strip-licence"`) || !strings.Contains(page, "A vGPU under on-vgpu") {
		t.Error("the owner hears nothing")
	}
}
