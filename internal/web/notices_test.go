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

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestOneChoosesWhatOneHearsOf(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, "/account/notifications"), http.StatusOK)
	for test, want := range map[string]bool{"notice-decided-mail": true, "notice-ready-mail": false,
		"notice-decided-chat": false} {
		if _, got := part(doc, test).Attr("checked"); got != want {
			t.Errorf("%s: want it ticked %v", test, want)
		}
	}
	wantText(t, read(t, webtest.Mailing(t).Get(webtest.Anna, "/account/notifications"), http.StatusOK), "channel-address",
		"anna@example.org")
	to := part(doc, "set-up-chat").AttrOr("href", "")
	if to != "/account/notifications?add=chat#address-fold" {
		t.Errorf("want the way to set a chat up, got %q", to)
	}
	asked := read(t, w.Get(webtest.Anna, "/account/notifications?add=chat"), http.StatusOK)
	if got := asked.Find("#address-fold[open] option[selected]").AttrOr("value", ""); got != "chat" {
		t.Errorf("want the form open with a chat chosen, got %q", got)
	}
	// what cannot reach a developer is not offered, and stays as it is
	wantAbsent(t, doc, "notice-statement-mail", "notice-waiting-mail", "notice-budget-mail")
	for _, kind := range []string{"statement", "waiting", "budget"} {
		if got := doc.Find("#notices-form input[type=hidden][name="+kind+"]").AttrOr("value", ""); got != "mail" {
			t.Errorf("%s: want mail kept, got %q", kind, got)
		}
	}
	wantAbsent(t, read(t, w.Get(webtest.Carla, "/account/notifications"), http.StatusOK), "notice-statement-mail")
	if part(read(t, w.Get(webtest.Carla, "/account/notifications"), http.StatusOK), "notice-waiting-mail").Length() != 1 {
		t.Error("an approver hears of requests")
	}
	owner := read(t, w.Get(webtest.Ben, "/account/notifications"), http.StatusOK)
	for _, want := range []string{"A monthly statement is available",
		"For team owners: the team's usage and cost",
		"Under your workload or one of your team's"} {
		if !strings.Contains(owner.Text(), want) {
			t.Errorf("want %q", want)
		}
	}
	german := read(t, w.Do(webtest.Ben, "de", httptest.NewRequest(http.MethodGet, "/account/notifications", nil)),
		http.StatusOK)
	if !strings.Contains(german.Text(), "Die Abrechnung eines Monats liegt vor") {
		t.Error("want it in German too")
	}
	if got := w.Post(webtest.Anna, "/account/notifications", url.Values{"language": {"zh"}, "ready": {"webhook", "fax"},
		"decided": {}}).Code; got != http.StatusSeeOther {
		t.Fatalf("want a redirect, got %d", got)
	}
	preferences, err := w.PreferencesOf(t.Context(), webtest.Anna.ID)
	if err != nil {
		t.Fatal(err)
	}
	if preferences.Language != "zh" || !slices.Equal(preferences.By(notify.Ready), []notify.Channel{notify.Webhook}) ||
		preferences.By(notify.Decided) != nil {
		t.Errorf("got %+v", preferences)
	}
	doc = read(t, w.Get(webtest.Anna, "/account/notifications"), http.StatusOK)
	if _, ticked := part(doc, "notice-decided-mail").Attr("checked"); ticked {
		t.Error("what was unticked stays so")
	}
	read(t, w.Post(webtest.Anna, "/account/notifications", url.Values{"language": {"xx"}}), http.StatusUnprocessableEntity)
}

// TestOneChoosesAmongChannelsThatReachOne: what was chosen for the others is kept.
func TestOneChoosesAmongChannelsThatReachOne(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	w.Post(webtest.Anna, "/account/notifications", url.Values{"language": {"en"}, "ready": {"mail", "webhook"}})
	all := read(t, w.Get(webtest.Anna, "/account/notifications"), http.StatusOK)
	if part(all, "notice-ready-mail").Length() != 1 || part(all, "notice-ready-chat").Length() != 1 {
		t.Error("want every channel while none reaches one")
	}
	w.Post(webtest.Anna, "/account/notifications/addresses", url.Values{"channel": {"webhook"},
		"url": {"https://hooks.example.org/services/x"}})
	doc := read(t, w.Get(webtest.Anna, "/account/notifications"), http.StatusOK)
	wantAbsent(t, doc, "notice-ready-mail", "notice-ready-chat")
	if _, ticked := part(doc, "notice-ready-webhook").Attr("checked"); !ticked {
		t.Error("want the column of the webhook as it was chosen")
	}
	var sent []string
	doc.Find("#notices-form input[name=ready]").Each(func(_ int, s *goquery.Selection) {
		if _, ticked := s.Attr("checked"); ticked || s.AttrOr("type", "") == "hidden" {
			sent = append(sent, s.AttrOr("value", ""))
		}
	})
	slices.Sort(sent)
	if !slices.Equal(sent, []string{"mail", "webhook"}) {
		t.Errorf("the form keeps the choice of mail, got %q", sent)
	}
}

func TestAWebhookShowsItsSecretOnce(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	const address = "https://hooks.example.org/services/hush-hush"
	doc := read(t, w.Post(webtest.Anna, "/account/notifications/addresses",
		url.Values{"channel": {"webhook"}, "url": {address}}), http.StatusOK)
	wantText(t, doc, "webhook-secret", "whsec_")
	again := w.Get(webtest.Anna, "/account/notifications")
	if body := again.Body.String(); strings.Contains(body, "whsec_") || strings.Contains(body, "hush-hush") ||
		!strings.Contains(body, "hooks.example.org") {
		t.Error("want the host alone afterwards")
	}
	for _, bad := range []string{"http://hooks.example.org", "https://", "file:///etc/passwd", "javascript:alert(1)", ""} {
		doc := read(t, w.Post(webtest.Anna, "/account/notifications/addresses", url.Values{"channel": {"webhook"},
			"url": {bad}}), http.StatusUnprocessableEntity)
		wantText(t, doc, "address-form", "not allowed")
	}
	for _, e := range w.Record() {
		if strings.Contains(e.Detail.ID, "hush") {
			t.Error("the record holds the address")
		}
	}
	addresses := func() []notify.Address {
		list, err := w.Addresses(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	id := addresses()[0].ID
	if got := w.Post(webtest.Olaf, "/account/notifications/addresses/"+id+"/remove",
		nil).Code; got != http.StatusNotFound {
		t.Errorf("somebody else's: want 404, got %d", got)
	}
	if got := w.Post(webtest.Anna, "/account/notifications/addresses/"+id+"/remove",
		nil).Code; got != http.StatusSeeOther || len(addresses()) != 0 {
		t.Errorf("want it gone, got %d", got)
	}
	if got := w.Post(webtest.Olaf, "/account/notifications/addresses", url.Values{"channel": {"webhook"}, "url": {address},
		"tenant": {"vision"}}).Code; got != http.StatusNotFound {
		t.Errorf("a team that one does not lead: want 404, got %d", got)
	}
}

func TestMessagesAreForThoseWhoSeeAll(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	failed := notify.Delivery{ID: "n-1", Event: 1, Kind: notify.Lease, Name: "Anna", Channel: notify.Mail,
		State: notify.GaveUp, Attempts: 8, Problem: i18n.T("notify.failed.mailbox"), Error: "550 no such user"}
	w.PutDelivery(failed)
	w.PutDelivery(notify.Delivery{ID: "n-2", Event: 2, Kind: notify.Decided, Name: "Anna", Channel: notify.Mail,
		State: notify.Sent, Attempts: 1})
	doc := read(t, w.Get(webtest.Eli, "/admin/notifications?state=failed"), http.StatusOK)
	if n := part(doc, "delivery").Length(); n != 1 {
		t.Errorf("want the failed one, got %d", n)
	}
	wantText(t, doc, "state", "refuses the recipient’s address")
	wantText(t, doc, "delivery-said", "“550 no such user”")
	wordless := failed
	wordless.Problem = i18n.Text{} // sent before there were sentences for it
	w.PutDelivery(wordless)
	wantText(t, read(t, w.Get(webtest.Eli, "/admin/notifications?state=failed"), http.StatusOK), "state",
		"could not be delivered")
	w.PutDelivery(failed)
	wantAbsent(t, doc, "delivery-retry") // an auditor only reads
	read(t, w.Get(webtest.Anna, "/admin/notifications"), http.StatusNotFound)
	if n := part(read(t, w.Get(webtest.Dora, "/admin/notifications"), http.StatusOK), "delivery-retry").Length(); n != 1 {
		t.Errorf("want a button for the failed one, got %d", n)
	}
	for who, want := range map[*identity.Person]int{&webtest.Anna: http.StatusNotFound, &webtest.Eli: http.StatusForbidden,
		&webtest.Dora: http.StatusSeeOther} {
		if got := w.Post(*who, "/admin/notifications/n-1/retry", nil).Code; got != want {
			t.Errorf("%s: want %d, got %d", who.Name, want, got)
		}
	}
	if got := w.Delivery("n-1"); got.State != notify.Due {
		t.Errorf("got %+v", got)
	}
}

// TestAWarningSaysWhetherItGotThere: on the page of what will end, with the reason where it did not.
func TestAWarningSaysWhetherItGotThere(t *testing.T) {
	t.Parallel()
	sent := notify.Delivery{ID: "n-1", Person: webtest.Anna.ID, Name: "Anna Albers", Channel: notify.Mail,
		State: notify.Sent, UpdatedAt: webtest.Now.Add(-time.Minute)}
	lost := sent
	lost.State, lost.Problem, lost.Error = notify.GaveUp, i18n.T("notify.failed.mailbox"), "550 no such user"
	for name, c := range map[string]struct {
		sent []notify.Delivery
		back int64 // events that nobody has looked at
		want []string
	}{
		"delivered": {[]notify.Delivery{sent}, 0, []string{"Message to Anna Albers: delivered at 11:59 UTC (Mail)."}},
		"given up": {[]notify.Delivery{lost}, 0, []string{"Message to Anna Albers: failed at 11:59 UTC (Mail).",
			"refuses the recipient’s address", "“550 no such user”"}},
		"nobody to tell": {nil, 0, []string{"No message: Anna Albers has no channel for it."}},
		"on its way":     {nil, 1, []string{"Message to Anna Albers: queued."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := webtest.Busy(t)
			w.Warned("w-llm-chat", audit.LeaseWarned, webtest.Now.Add(-2*time.Minute), c.sent...)
			w.Looked(c.back)
			doc := read(t, w.Get(webtest.Anna, "/workloads/w-llm-chat"), http.StatusOK)
			wantText(t, doc, "attention-ending", c.want...)

			w.EndsWhenIdle(6 * time.Hour)
			w.IsIdle("w-train-resnet", webtest.Now.Add(-5*time.Hour), webtest.Now.Add(-5*time.Minute))
			w.Warned("w-train-resnet", audit.WorkloadIdle, webtest.Now.Add(-5*time.Minute), c.sent...)
			w.Looked(c.back)
			wantText(t, read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK), "idle", c.want...)
		})
	}
}
