package notify_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/notify"
)

// closed is the address of a port where nothing listens.
func closed(t *testing.T) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().(*net.TCPAddr)
}

// tries sends a test to Dana by a channel, from a portal that some options differ of.
func (w *world) tries(channel notify.Channel, change func(*notify.Options)) notify.Delivery {
	w.t.Helper()
	opts := w.opts
	mail := *opts.Mail
	opts.Mail = &mail
	change(&opts)
	d, err := notify.New(opts).Try(w.t.Context(), w.actor("dana"), channel)
	if err != nil || d.State != notify.GaveUp {
		w.t.Fatalf("want a test that fails, got %+v %v", d, err)
	}
	return d
}

func (w *world) enters(channel notify.Channel, address string) {
	w.t.Helper()
	if _, err := w.Enter(w.t.Context(), w.actor("dana"), notify.Entry{Channel: channel, URL: address}); err != nil {
		w.t.Fatal(err)
	}
}

// TestWhyAMessageDidNotGetThrough is one sentence for each kind of trouble, with what the other side said where it said
// anything. All of these but one are real attempts.
func TestWhyAMessageDidNotGetThrough(t *testing.T) {
	t.Parallel()
	none := func(*notify.Options) {}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the handshake, which is what is wanted
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, c := range map[string]struct {
		try  func(*world) notify.Delivery
		want string // id of the sentence
		said string // a part of what is quoted; "" for nothing
	}{
		"nobody listens": {func(w *world) notify.Delivery {
			return w.tries(notify.Mail, func(o *notify.Options) { o.Mail.Port = closed(t).Port })
		}, "refused", "connection refused"},
		"no such mailbox": {func(w *world) notify.Delivery {
			w.post.Answer("550 5.1.1 no such user here")
			return w.tries(notify.Mail, none)
		}, "mailbox", "no such user here"},
		"the mail server is busy": {func(w *world) notify.Delivery {
			w.post.Answer("451 come back later")
			return w.tries(notify.Mail, none)
		}, "mail_later", "come back later"},
		"the mail server takes no account": {func(w *world) notify.Delivery {
			return w.tries(notify.Mail, func(o *notify.Options) { o.Mail.Username, o.Mail.Password = "portal", "hidden" })
		}, "auth", "AUTH"},
		"the mail server speaks no TLS": {func(w *world) notify.Delivery {
			return w.tries(notify.Mail, func(o *notify.Options) { o.Mail.TLS = "starttls" })
		}, "tls", "STARTTLS"},
		"a certificate that nobody trusts": {func(w *world) notify.Delivery {
			w.enters(notify.Webhook, secure.URL)
			return w.tries(notify.Webhook, none)
		}, "tls", "certificate"},
		"a webhook where nobody listens": {func(w *world) notify.Delivery {
			w.enters(notify.Webhook, "http://"+closed(t).String()+"/x")
			return w.tries(notify.Webhook, none)
		}, "refused", "connection refused"},
		"an address that is not allowed any more": {func(w *world) notify.Delivery {
			w.enters(notify.Webhook, "https://127.0.0.1:1/x")
			return w.tries(notify.Webhook, func(o *notify.Options) { o.Guard = notify.Guard{} })
		}, "not_allowed", ""},
		"a chat where nobody listens": {func(w *world) notify.Delivery {
			w.enters(notify.Chat, "mattermost://"+closed(t).String()+"/thetoken?disabletls=yes")
			return w.tries(notify.Chat, none)
		}, "refused", "connection refused"},
		"an address sealed with another key": {func(w *world) notify.Delivery {
			w.enters(notify.Webhook, "https://127.0.0.1:1/x")
			return w.tries(notify.Webhook, func(o *notify.Options) {
				o.Open = func(string, string) (string, error) { return "", x509.ErrUnsupportedAlgorithm }
			})
		}, "address_key", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := c.try(w)
			wantProblem(t, d, c.want, c.said)
			if kept := w.list()[0]; kept.Problem.ID != d.Problem.ID || kept.Error != d.Error {
				t.Errorf("want it kept, got %+v", kept)
			}
		})
	}
}

// wantProblem asks for the sentence in both languages of the pages, and for no secret in what is quoted.
func wantProblem(t *testing.T, d notify.Delivery, id, said string) {
	t.Helper()
	if d.Problem.ID != "notify.failed."+id || !strings.Contains(d.Error, said) || said == "" && d.Error != "" {
		t.Errorf("want %s and %q, got %+v %q", id, said, d.Problem, d.Error)
	}
	bundle := i18n.MustLoad()
	if en, de := bundle.For("en").Say(d.Problem), bundle.For("de").Say(d.Problem); en == de ||
		strings.Contains(en, "notify.") {
		t.Errorf("got %q and %q", en, de)
	}
	for _, secret := range []string{"thetoken", "hidden"} {
		if strings.Contains(d.Error, secret) {
			t.Errorf("%q is in %q", secret, d.Error)
		}
	}
}

// TestWhatAReceiverAnswers: chats and webhooks alike, though the libraries of the chats make words of a status, each
// its own.
func TestWhatAReceiverAnswers(t *testing.T) {
	t.Parallel()
	for status, c := range map[int]struct {
		want  string
		state notify.State // after the first attempt
	}{
		http.StatusForbidden: {"status_not_let_in", notify.GaveUp}, http.StatusNotFound: {"status_gone", notify.GaveUp},
		http.StatusGone: {"status_gone", notify.GaveUp}, http.StatusTeapot: {"status", notify.GaveUp},
		http.StatusFound: {"status_elsewhere", notify.GaveUp}, http.StatusTooManyRequests: {"status_busy", notify.Due},
		http.StatusBadGateway: {"status_ill", notify.Due},
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode("what it says is not repeated")
			}))
			t.Cleanup(receiver.Close)
			w := newWorld(t)
			w.enters(notify.Webhook, receiver.URL)
			w.enters(notify.Chat, "mattermost://"+strings.TrimPrefix(receiver.URL, "http://")+"/thetoken?disabletls=yes")
			preferences := notify.Preferences{Language: "en",
				Channels: map[notify.Kind][]notify.Channel{notify.Decided: {notify.Webhook, notify.Chat}}}
			if err := w.Choose(t.Context(), w.actor("dana"), preferences); err != nil {
				t.Fatal(err)
			}
			w.rejected("r-1", "")
			w.round()
			list := w.list()
			if len(list) != 2 {
				t.Fatalf("want two messages, got %+v", list)
			}
			for _, d := range list {
				wantProblem(t, d, c.want, "")
				if d.State != c.state || fmt.Sprint(d.Problem.Args["Code"]) != strconv.Itoa(status) {
					t.Errorf("%s: want %s with its status, got %s %v", d.Channel, c.state, d.State, d.Problem.Args)
				}
			}
		})
	}
}

// refusing is a sender that fails as it is told.
type refusing struct{ err error }

// RoundTrip fails.
func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// TestErrorsThatNoTestCanMake: names that are not found, and receivers that take too long.
func TestErrorsThatNoTestCanMake(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"not_allowed": &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "hooks.example.org",
			IsNotFound: true}},
		"timeout":     context.DeadlineExceeded,
		"unreachable": &net.OpError{Op: "read", Err: fmt.Errorf("connection reset by peer")},
		"auth":        fmt.Errorf("dial failed: %w", fmt.Errorf("login: %w", &textproto.Error{Code: 535, Msg: "5.7.8 no"})),
		"other":       fmt.Errorf("something else"),
	} {
		hooks := notify.Hooks{Client: &http.Client{Transport: refusing{err}}, Now: time.Now}
		got := hooks.Send(t.Context(), notify.Message{Target: notify.Target{URL: "https://hooks.example.org/thetoken",
			Secrets: []string{notify.NewSecret()}}})
		if problem := notify.Reason(got); problem.ID != "notify.failed."+want {
			t.Errorf("want %s, got %s for %v", want, problem.ID, got)
		}
		if strings.Contains(got.Error(), "thetoken") {
			t.Errorf("the address is in %q", got)
		}
	}
}
