package e2e

import (
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/notify/notifytest"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// post is the mail server that the portal under test sends to.
var post *notifytest.Post

// outside lets the portal send mail to post, and webhooks to this machine alone; pages of otherSite may embed panels.
func outside(config map[string]any) {
	config["embed"] = map[string]any{"allowedOrigins": []string{otherSite("grafana"), otherSite("backstage")}}
	config["notify"] = map[string]any{"mail": map[string]any{"host": "127.0.0.1", "port": post.Port(),
		"from": "GPU Portal <gpu@example.org>", "tls": "none"},
		"hosts": []string{"127.0.0.1"}, "networks": []string{"127.0.0.1/32"}}
}

// mailed waits for a mail to somebody with a text in it, and gives it as it is read.
func mailed(t *testing.T, to, text string) string {
	t.Helper()
	found := ""
	waittest.Until(t, "a mail", func() error {
		for _, m := range post.Mails() {
			read, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(m)))
			if err == nil && strings.Contains(m, "<"+to+">") && strings.Contains(string(read), text) {
				found = string(read)
				return nil
			}
		}
		return fmt.Errorf("no mail to %s with %q in it; %d mails came", to, text, len(post.Mails()))
	})
	return found
}

// called is a webhook as it came.
type called struct {
	header http.Header
	body   []byte
}

func receiver(t *testing.T) (url string, calls <-chan called) {
	t.Helper()
	got := make(chan called, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case got <- called{r.Header, body}:
		default:
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

// TestADecisionIsTold: Dana chooses mail and a webhook for what is decided; Ada says no; the link in the mail opens the
// request, and the webhook is signed.
func TestADecisionIsTold(t *testing.T) {
	id := asked(t, "9h")
	url, calls := receiver(t)
	dana := signIn(t, "dana", look{})
	dana.open("/account/notifications")
	dana.click("[data-test=address-fold] > summary")
	dana.fill("[data-test=address-url]", url+"/hook")
	dana.click("[data-test=address-enter]")
	dana.reads("[data-test=webhook-secret]", "whsec_")
	said, err := dana.at("[data-test=webhook-secret]").First().TextContent()
	dana.do(err)
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(said)
	for _, way := range []string{"mail", "webhook"} {
		dana.do(dana.at("[data-test=notice-decided-" + way + "]").Check())
	}
	dana.click("[data-test=notices-save]")
	dana.sees("[data-test=flash]")
	dana.accessible()

	ada := as(t, "ada")
	ada.ok(http.StatusOK, http.MethodPost, "/requests/"+id+"/reject", ada.answer(id, "a slice will do"))
	u, _ := world.User("dana")
	mail := mailed(t, u.Email, "/requests/"+id)
	link := regexp.MustCompile(regexp.QuoteMeta(portal.URL) + `/requests/[a-z0-9-]+`).FindString(mail)
	if !strings.Contains(mail, "a slice will do") || link == "" {
		t.Fatalf("want the note and a link to this portal in %s", mail)
	}
	dana.open(link)
	dana.reads("[data-test=request-verdict]", "a slice will do")

	select {
	case c := <-calls:
		want, err := notify.Sign([]string{secret}, c.header.Get("webhook-id"), c.header.Get("webhook-timestamp"), c.body)
		if err != nil || !slices.Contains(strings.Fields(c.header.Get("webhook-signature")), want) {
			t.Errorf("the signature does not hold: %v %v", c.header, err)
		}
		if !strings.Contains(string(c.body), id) {
			t.Errorf("want the request in %s", c.body)
		}
	case <-time.After(2 * time.Minute):
		t.Error("no webhook came")
	}
}

// TestATestShowsWhatCameOfIt: the button says that the mail was taken, and what the receiver of a webhook answered.
func TestATestShowsWhatCameOfIt(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusGone)
	}))
	t.Cleanup(refusing.Close)
	otto := signIn(t, "otto", look{NoScript: true})
	otto.open("/account/notifications")
	otto.click("[data-test=notices-test-mail]")
	otto.reads("[data-test=tried]", "test delivered")
	u, _ := world.User("otto")
	mailed(t, u.Email, "It arrived")
	otto.click("[data-test=address-fold] > summary")
	otto.fill("[data-test=address-url]", refusing.URL)
	otto.click("[data-test=address-enter]")
	otto.click("[data-test=notices-test-webhook]")
	otto.reads("[data-test=tried]", "410")

	pat := signIn(t, "pat", look{Language: "de-DE", Dark: true, Width: 360})
	pat.open("/admin/notifications?state=failed")
	pat.reads("[data-test=delivery] [data-test=state]", "410")
	pat.accessible()
	pat.shot("deliveries-narrow")
	pat.open("/account/notifications")
	pat.sees("[data-test=notices]")
	pat.accessible()
	pat.shot("notices-narrow")
	wide := signIn(t, "pat", look{Language: "de-DE"})
	wide.open("/admin/notifications")
	wide.sees("[data-test=delivery]")
	wide.accessible()
	wide.shot("deliveries")
	wide.open("/account/notifications")
	wide.sees("[data-test=notices]")
	wide.accessible()
	wide.shot("notices")
}

// TestTheRecordShowsBeforeAndAfter: a rule was changed, and the record says from what to what.
func TestTheRecordShowsBeforeAndAfter(t *testing.T) {
	withRule(t, `- {name: recorded, when: 'request.hours == 11.0', outcome: allow}`)
	for name, l := range map[string]look{"wide": {Language: "de-DE"}, "narrow": {Language: "de-DE", Dark: true,
		Width: 360}} {
		pat := signIn(t, "pat", l)
		pat.open("/audit?kind=rules.saved")
		pat.click("[data-test=event-more] summary")
		pat.reads("[data-test=event-facts]", "recorded.outcome")
		pat.reads("[data-test=event-facts]", "recorded.when")
		pat.accessible()
		pat.shot(name)
	}
}
