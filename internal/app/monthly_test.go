package app

import (
	"encoding/csv"
	"html"
	"io"
	"mime/quotedprintable"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/notify/notifytest"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// TestTheMonthIsToldOnce: the portal as it is put together writes one event for the team, by its own prices and
// catalog, however often it looks and whoever else does.
func TestTheMonthIsToldOnce(t *testing.T) {
	w := newWorld(t)
	id, now := w.running(developer, "vision").ID, w.clock.now()
	for _, until := range []time.Time{{}, now.Add(time.Hour)} {
		item, err := w.store.Workload(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		held := usage.Interval{Workload: string(id), Tenant: "vision", Size: item.Size.Name, PerHour: item.Size.PricePerHour,
			From: now, Until: until}
		if err := w.store.SaveObserved(t.Context(), item, nil, &held); err != nil {
			t.Fatal(err)
		}
	}
	month := usage.MonthOf(now, w.usage.Zone)
	w.clock.pass(month.Span(w.usage.Zone).Until.Add(9 * 24 * time.Hour).Sub(now))
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := w.monthly.Send(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if err := w.monthly.Send(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, _, err := w.store.Events(t.Context(), audit.Filter{Kinds: []audit.Kind{audit.StatementSent}, Limit: 10})
	if err != nil || len(events) != 1 || events[0].Tenant != "vision" {
		t.Fatalf("want one event, got %+v %v", events, err)
	}
	if got := i18n.MustLoad().For("en").Say(events[0].Detail); !strings.Contains(got, " for "+month.String()+".") {
		t.Errorf("want %s, got %q", month, got)
	}
}

// TestTheMonthIsMailed: the owner of the team, and nobody else, has one mail, whose total is that of the page it leads
// to, of the file and of the API, to the minor unit; and no second one, however often it is looked.
func TestTheMonthIsMailed(t *testing.T) {
	post, err := notifytest.NewPost()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = post.Close() })
	w := newWorld(t, func(c *config.Config) {
		c.Notify.Mail = &config.Mail{Host: "127.0.0.1", Port: post.Port(), From: "GPU Portal <gpu@example.org>", TLS: "none"}
	})
	for _, subject := range []string{owner, developer, other} {
		w.signedIn(subject)
	}
	id, now := w.running(developer, "vision").ID, w.clock.now()
	for _, until := range []time.Time{{}, now.Add(7*time.Minute + 3*time.Second)} {
		item, err := w.store.Workload(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		held := usage.Interval{Workload: string(id), Tenant: "vision", Size: item.Size.Name, PerHour: usage.Money{Minor: 4321,
			Currency: "EUR"}, From: now, Until: until}
		if err := w.store.SaveObserved(t.Context(), item, nil, &held); err != nil {
			t.Fatal(err)
		}
	}
	month := usage.MonthOf(now, w.usage.Zone)
	w.sends()
	w.clock.pass(month.Span(w.usage.Zone).Until.Add(9 * 24 * time.Hour).Sub(now))
	var mails []string
	for range 3 {
		if err := w.monthly.Send(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.sends()
		mails = slices.DeleteFunc(post.Mails(), func(m string) bool { return !strings.Contains(m, "Statement of team") })
	}
	if len(mails) != 1 || !strings.Contains(mails[0], "<olga@example.org>") {
		t.Fatalf("want one mail, to the owner, got %d: %q", len(mails), mails)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(mails[0])))
	if err != nil {
		t.Fatal(err)
	}
	const total = "5.08" // 423 seconds at 43.21 an hour are 5.077
	link := regexp.MustCompile(regexp.QuoteMeta(w.url) + `(/usage[^\s"<>]*)`).FindStringSubmatch(
		html.UnescapeString(string(text)))
	if link == nil || !strings.Contains(string(text), total+" EUR") {
		t.Fatalf("want %s EUR and a link to the statement in %s", total, text)
	}
	page := w.signedIn(owner).get(link[1]).page(t)
	if got := page.Find("[data-test=usage-cost]").First().Text(); !strings.Contains(got, total) {
		t.Errorf("%s: want %s, got %q", link[1], total, got)
	}
	scope := "scope=team&month=" + month.String()
	if a := w.call(w.token(owner), http.MethodGet, "/api/v1/usage?"+scope, nil); !strings.Contains(a.body,
		`"cost":[{"amount":"`+total+`","currency":"EUR"}]`) {
		t.Errorf("the API: %s", a.body)
	}
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(w.signedIn(owner).get("/usage/export?"+scope).body,
		"\ufeff"))).ReadAll()
	if err != nil || len(rows) != 2 || !slices.Contains(rows[1], total) {
		t.Errorf("the file: %v %q", err, rows)
	}
}

// sends composes and sends what there is to be told, as the controller does.
func (w *world) sends() {
	w.t.Helper()
	if _, err := w.notify.Derive(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.notify.Deliver(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}
