package gateway

import (
	"context"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

const (
	ownPaths     = "/.gpu-portal/"
	callbackPath = ownPaths + "callback"
	forgetPath   = ownPaths + "forget-cookies"

	// AuthorizePath is the portal's page that sends a browser to its workload; its handler calls Authorize.
	AuthorizePath = "/gateway/authorize"

	codeLife  = 30 * time.Second
	stateLife = 10 * time.Minute
	maxReturn = 4 << 10
)

// signIn sends a browser to the portal, which knows who it is; anything else is told that it has to show something.
// Whether the workload exists is not looked at.
func (g *Gateway) signIn(w http.ResponseWriter, r *http.Request, name string) {
	if !navigates(r) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+name+`"`)
		g.refuse(w, r, http.StatusUnauthorized, i18n.T("gateway.sign_in"))
		return
	}
	state := identity.NewCredential().Secret
	if states := statesOf(r); len(states) > 0 {
		state = states[0]
	}
	http.SetCookie(w, edge.Cookie(edge.State, state, stateLife))
	query := url.Values{"workload": {name}, "return": {localPath(r.URL.RequestURI())}, "state": {state}}
	g.redirect(w, g.portal+AuthorizePath+"?"+query.Encode())
}

// statesOf reads the state that ties the way back to this browser, and what else came under its name. It is used again
// while it lives, so that several tabs opened at once all find in.
func statesOf(r *http.Request) []string {
	return slices.DeleteFunc(edge.Values(r, edge.State), func(v string) bool { return !isState(v) })
}

// isState reports whether text could be a state of ours: 256 random bits in base64url.
func isState(text string) bool {
	if len(text) != 43 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Authorize is the portal's half of the way in: it asks whether the person may open the workload and gives the address
// to send the browser to, with a code that works once. Faults: NotFound when there is no such workload or the person
// may not open it, in the same words; Invalid for a state that no gateway made; Unauthenticated for anybody but a
// person in a browser.
func (g *Gateway) Authorize(ctx context.Context, a identity.Actor, portalSession, name, returnPath,
	state string) (string, error) {
	if a.IsZero() || a.Via != identity.ViaSession || portalSession == "" {
		return "", fault.New(fault.Unauthenticated, i18n.T("gateway.sign_in"))
	}
	if !isState(state) {
		return "", fault.New(fault.Invalid, i18n.T("gateway.expired"))
	}
	if !isLabel(name) {
		return "", notFoundFault()
	}
	w, err := g.opts.Workloads.WorkloadByName(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return "", notFoundFault()
	}
	if err != nil {
		return "", err
	}
	if !identity.Can(a, identity.OpenWorkload, w.ResourceAt(g.opts.Now())) || !w.Answers() {
		if w.Answers() && a.Impersonator == nil && identity.Can(a, identity.ReadWorkload, w.Resource()) {
			return "", fault.New(fault.Forbidden, i18n.T("gateway.not_shared", "Owner", w.OwnerName, "Name", w.Name))
		}
		return "", notFoundFault()
	}
	code := identity.NewCredential().Secret
	if err := g.opts.Sessions.SaveCode(ctx, identity.HashSecret(code), portalSession, string(w.ID),
		g.opts.Now().Add(codeLife)); err != nil {
		return "", err
	}
	query := url.Values{"code": {code}, "state": {state}, "return": {localPath(returnPath)}}
	return g.URL(w.Name) + callbackPath + "?" + query.Encode(), nil
}

func notFoundFault() error { return fault.New(fault.NotFound, i18n.T("gateway.not_found")) }

// callback turns a code into the cookie of this host, for the browser that asked for it.
func (g *Gateway) callback(w http.ResponseWriter, r *http.Request, name string) {
	query := r.URL.Query()
	ofThisBrowser := func(state string) bool {
		return subtle.ConstantTimeCompare([]byte(state), []byte(query.Get("state"))) == 1
	}
	if r.Method != http.MethodGet || !slices.ContainsFunc(statesOf(r), ofThisBrowser) {
		g.refuse(w, r, http.StatusBadRequest, i18n.T("gateway.expired"))
		return
	}
	session, credential, err := g.redeem(r.Context(), query.Get("code"), name)
	switch {
	case definite(err):
		g.refuse(w, r, http.StatusBadRequest, i18n.T("gateway.expired"))
		return
	case err != nil:
		g.denied(w, r, name, err)
		return
	}
	claims, _ := g.claimsOf(r, name) // whoever sends a key as well has no cookie to replace
	for _, old := range claims {
		if old.bearer == "" && old.cookie.ID != session.ID {
			g.forget(r.Context(), old)
		}
	}
	http.SetCookie(w, edge.Cookie(edge.Workload, credential.String(), 0))
	http.SetCookie(w, edge.Cookie(edge.State, "", -1))
	g.redirect(w, g.URL(name)+localPath(query.Get("return")))
}

// redeem takes a code and makes the session that it stands for. Faults and errors as check.
func (g *Gateway) redeem(ctx context.Context, code, name string) (identity.Session, identity.Credential, error) {
	none := identity.Credential{}
	if len(code) != 43 {
		return identity.Session{}, none, errSignIn
	}
	now := g.opts.Now()
	parentID, workloadID, err := g.opts.Sessions.TakeCode(ctx, identity.HashSecret(code), now)
	if err != nil {
		return identity.Session{}, none, orSignIn(err)
	}
	found, err := g.opts.Workloads.WorkloadByName(ctx, name)
	if err != nil {
		return identity.Session{}, none, orSignIn(err)
	}
	if workloadID != string(found.ID) {
		return identity.Session{}, none, errSignIn
	}
	parent, err := g.opts.Sessions.Session(ctx, parentID)
	if err != nil {
		return identity.Session{}, none, orSignIn(err)
	}
	if _, err := g.portalSession(ctx, parentID, parent.Person); err != nil {
		return identity.Session{}, none, err
	}
	credential := identity.NewCredential()
	s := identity.Session{
		ID: credential.ID, SecretHash: credential.Hash(), Person: parent.Person, CreatedAt: now, SeenAt: now,
		EndsAt: earlier(now.Add(g.opts.SessionFor), parent.EndsAt), Parent: parentID, Workload: workloadID,
	}
	return s, credential, orSignIn(g.opts.Sessions.CreateSession(ctx, s))
}

// forget ends the session that a new one replaces, if the browser really holds it.
func (g *Gateway) forget(ctx context.Context, old claim) {
	s, err := g.opts.Sessions.Session(ctx, old.cookie.ID)
	if err != nil || s.Parent == "" || !old.cookie.Matches(s.SecretHash) {
		return
	}
	if err := g.opts.Sessions.EndSession(ctx, s.ID); err != nil {
		g.opts.Logger.WarnContext(ctx, "cannot end a replaced session", "error", err.Error())
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// localPath reads a path and query on this host and writes it anew; anything else, and our own paths, become "/".
// Callers put scheme and host before it.
func localPath(text string) string {
	if len(text) > maxReturn || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.ContainsAny(text, "\\\t\r\n") {
		return "/"
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		strings.HasPrefix(u.Path, ownPaths) ||
		strings.HasPrefix(u.Path, "//") || strings.ContainsAny(u.Path, "\\\t\r\n\x00") {
		return "/"
	}
	clean := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: escapeQuery(u.RawQuery)}
	if out := clean.String(); strings.HasPrefix(out, "/") && len(out) <= maxReturn { // escaping makes it longer
		return out
	}
	return "/"
}

// escapeQuery keeps a query as it is written, except for what may not stand in a header.
func escapeQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		if c := q[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' {
			b.WriteString(url.QueryEscape(string([]byte{c})))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (g *Gateway) redirect(w http.ResponseWriter, to string) {
	g.setHeaders(w.Header())
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}
