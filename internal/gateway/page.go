package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// pageModel is what the one page of the gateway shows: already decided, already in words.
type pageModel struct {
	Lang, Title, Text, Reason string
	Refresh                   int // seconds; 0 for never
	Link, LinkText            string
	Style                     template.CSS
}

const style = `:root{color-scheme:light dark;--text:#151515;--back:#fff;--soft:#4d4d4d;--link:#0066cc}
@media (prefers-color-scheme:dark){:root{--text:#fff;--back:#1f1f1f;--soft:#c7c7c7;--link:#92c5f9}}
body{margin:0;background:var(--back);color:var(--text);font:1rem/1.5 "Red Hat Text",system-ui,sans-serif}
main{max-width:36rem;margin:15vh auto 0;padding:0 1.5rem}h1{font-size:1.5rem;font-weight:500;line-height:1.3}
p.reason{color:var(--soft)}a{color:var(--link)}`

var styleHash = func() string {
	sum := sha256.Sum256([]byte(style))
	return base64.StdEncoding.EncodeToString(sum[:])
}()

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="{{.Lang}}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{{- if .Refresh}}
<meta http-equiv="refresh" content="{{.Refresh}}">
{{- end}}
<title>{{.Title}}</title>
<style>{{.Style}}</style>
</head>
<body>
<main data-test="gateway-page">
<h1>{{.Title}}</h1>
{{- if .Text}}
<p>{{.Text}}</p>
{{- end}}
{{- if .Reason}}
<p class="reason" data-test="reason">{{.Reason}}</p>
{{- end}}
<p><a href="{{.Link}}">{{.LinkText}}</a></p>
</main>
</body>
</html>
`))

// answer is what the gateway itself says instead of passing a call on.
type answer struct {
	status  int
	title   i18n.Text
	text    i18n.Text
	reason  i18n.Text
	refresh int
	link    string
	linked  i18n.Text
	// of an error of the OpenAI API; "" for what follows from the status
	kind, code string
}

// setHeaders is what every answer of the gateway's own carries, redirects included (ASVS 3.4).
func (g *Gateway) setHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+styleHash+
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	g.transportPolicy(h)
}

// transportPolicy is ours on answers of workloads too: their hosts are reached as the portal is.
func (g *Gateway) transportPolicy(h http.Header) {
	if g.scheme == "https" {
		h.Set("Strict-Transport-Security", edge.HSTS)
	}
}

// say answers with a page for a person and with application/problem+json (RFC 9457) for a program.
func (g *Gateway) say(w http.ResponseWriter, r *http.Request, a answer) {
	l := g.opts.Bundle.For(r.Header.Get("Accept-Language"))
	h := w.Header()
	g.setHeaders(h)
	h.Set("X-Request-Id", problem.RequestID(r.Context()))
	h.Set("Vary", "Accept, Accept-Language, Cookie, Sec-Fetch-Mode")
	h.Set("Content-Language", l.Lang())
	if a.refresh > 0 {
		h.Set("Retry-After", strconv.Itoa(a.refresh))
	}
	var body bytes.Buffer
	if navigates(r) {
		h.Set("Content-Type", "text/html; charset=utf-8")
		m := pageModel{
			Lang: l.Lang(), Title: l.Say(a.title), Text: l.Say(a.text), Reason: l.Say(a.reason), Refresh: a.refresh,
			Link: a.link, LinkText: l.Say(a.linked), Style: template.CSS(style),
		}
		if err := page.Execute(&body, m); err != nil {
			g.opts.Logger.ErrorContext(r.Context(), "render a gateway page", "error", err.Error())
		}
	} else if openAIRoute(r) {
		h.Set("Content-Type", "application/json")
		a.writeOpenAI(&body, l)
	} else {
		h.Set("Content-Type", "application/problem+json")
		_ = json.NewEncoder(&body).Encode(map[string]any{
			"type": "about:blank", "status": a.status, "title": l.Say(a.title), "detail": l.Say(a.detail()),
			"instance": problem.Instance(problem.RequestID(r.Context())),
		})
	}
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes())
	}
}

func (a answer) detail() i18n.Text {
	if !a.reason.IsZero() {
		return a.reason
	}
	return a.text
}

// refuse says no in one sentence, with a link back to this host's front page.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, status int, text i18n.Text) {
	a := answer{status: status, title: i18n.T("gateway.refused"), text: text, link: "/",
		linked: i18n.T("gateway.try_again")}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "5")
	}
	g.say(w, r, a)
}

// badKey says why what was sent as a key opens nothing. It tells nothing of whether the workload exists.
func (g *Gateway) badKey(w http.ResponseWriter, r *http.Request, status int, code string, text i18n.Text) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	}
	g.say(w, r, answer{status: status, title: i18n.T("gateway.refused"), text: text, link: g.portal + "/",
		linked: i18n.T("gateway.to_portal"), code: code})
}

// tooLarge explains a call with more in its header than servers take, and how to get on: cookies that any host below
// the same domain may have set are the usual reason, and without help they would stay.
func (g *Gateway) tooLarge(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == forgetPath && navigates(r) {
		w.Header().Set("Clear-Site-Data", `"cookies"`)
		g.say(w, r, answer{status: http.StatusOK, title: i18n.T("gateway.cookies.deleted"),
			text: i18n.T("gateway.cookies.again"), link: "/", linked: i18n.T("gateway.try_again")})
		return
	}
	a := answer{status: http.StatusRequestHeaderFieldsTooLarge, title: i18n.T("gateway.refused"),
		text: i18n.T("gateway.headers"), link: "/", linked: i18n.T("gateway.try_again")}
	if cookieBytes(r) > g.opts.MaxHeaderBytes/2 {
		a.title, a.text = i18n.T("gateway.cookies.title"), i18n.T("gateway.cookies", "KiB", cookieBytes(r)>>10)
		a.reason, a.link, a.linked = i18n.T("gateway.cookies.cost"), forgetPath, i18n.T("gateway.cookies.delete")
	}
	g.say(w, r, a)
}

func cookieBytes(r *http.Request) int {
	n := 0
	for _, line := range r.Header["Cookie"] {
		n += len(line)
	}
	return n
}

// notFound is one page for what does not exist and for what the person may not open.
func (g *Gateway) notFound(w http.ResponseWriter, r *http.Request) {
	g.say(w, r, answer{
		status: http.StatusNotFound, title: i18n.T("gateway.not_found.title"), text: i18n.T("gateway.not_found"),
		link: g.portal + "/", linked: i18n.T("gateway.to_portal"),
	})
}

// keyRefusal is what is said of a key that opens nothing; not ok for any other error.
func keyRefusal(err error) (code string, text i18n.Text, ok bool) {
	switch {
	case errors.Is(err, errPersonToken):
		return "invalid_api_key", i18n.T("gateway.person_token"), true
	case errors.Is(err, errKeyExpired):
		return "expired_api_key", i18n.T("gateway.key_expired"), true
	case errors.Is(err, errKey):
		return "invalid_api_key", i18n.T("gateway.key_wrong"), true
	}
	return "", text, false
}

// denied answers an error of check.
func (g *Gateway) denied(w http.ResponseWriter, r *http.Request, name string, err error) {
	code, text, ofKey := keyRefusal(err)
	switch {
	case errors.Is(err, errSignIn):
		g.signIn(w, r, name)
	case ofKey:
		g.badKey(w, r, http.StatusUnauthorized, code, text)
	case fault.Is(err, fault.NotFound):
		g.notFound(w, r)
	case r.Context().Err() != nil:
		panic(http.ErrAbortHandler)
	default:
		g.opts.Logger.ErrorContext(r.Context(), "cannot ask whether a call may pass", "name", name, "error", err.Error())
		g.say(w, r, answer{
			status: http.StatusServiceUnavailable, title: i18n.T("gateway.unavailable.title"),
			text: i18n.T("gateway.unavailable"), refresh: 3,
			link: g.portal + "/", linked: i18n.T("gateway.to_portal"),
		})
	}
}

// waiting tells the state of a workload that cannot be opened now, and looks again by itself.
func (g *Gateway) waiting(w http.ResponseWriter, r *http.Request, wl workload.Workload) {
	state := wl.State
	if wl.Desired == workload.WantRunning && wl.CanOpen() {
		state = workload.Starting // it runs, but its address is not known yet
	}
	g.say(w, r, answer{
		status: http.StatusServiceUnavailable, title: i18n.T("gateway.state."+string(state), "Name", wl.Name),
		text:   i18n.T("gateway.state.next"),
		reason: wl.Reason, refresh: 3, link: g.portal + "/", linked: i18n.T("gateway.to_portal"),
	})
}

// unreachable tells that the pod gave no answer, and looks again by itself.
func (g *Gateway) unreachable(w http.ResponseWriter, r *http.Request, status int, text i18n.Text,
	wl workload.Workload) {
	g.say(w, r, answer{
		status: status, title: text, text: i18n.T("gateway.state.next"), refresh: 3, link: g.portal + "/",
		linked: i18n.T("gateway.to_portal"),
	})
}
