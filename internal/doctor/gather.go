package doctor

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Options says what is asked, as whom and for how long.
type Options struct {
	Process    Process
	Problems   []string // of the settings
	Warnings   []string
	Database   func(ctx context.Context) (Database, error) // nil: it is not asked
	Provider   ProviderOptions
	PortalURL  string // "": this process serves no pages
	AppsURL    string // of a workload that is none; "": this process is no gateway
	Clusters   []ClusterOptions
	Licenses   []LicenseOptions
	Registries []string      // of images; calls go out to them
	Timeout    time.Duration // of each question; 0: 10 s
	Now        func() time.Time
	// Secrets stand nowhere in the facts, whoever wrote them into a message.
	Secrets []string
}

// ProviderOptions is the sign-in provider.
type ProviderOptions struct {
	Issuer      string // "": this process signs nobody in
	Scopes      []string
	GroupsClaim string
	NoAdmins    bool
	Client      *http.Client // nil: the usual one
}

// LicenseOptions is one license server; Features counts what it tells.
type LicenseOptions struct {
	Name     string
	Features func(ctx context.Context) (int, error)
}

const (
	usualTimeout = 10 * time.Second
	mostBytes    = 1 << 20
)

// Gather asks everything at once. A question that is not answered in its time, or panics, is an answer too.
func Gather(ctx context.Context, o Options) Facts {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Timeout = cmp.Or(o.Timeout, usualTimeout)
	began := o.Now()
	f := Facts{At: began.UTC(), Process: o.Process, Settings: Settings{Problems: o.Problems, Warnings: o.Warnings},
		Clusters: make([]Cluster, len(o.Clusters)), Licenses: make([]License, len(o.Licenses)),
		Registries: make([]Registry, len(o.Registries))}
	g := &gatherer{o: o}
	if o.Database != nil {
		g.ask(ctx, func(ctx context.Context) { f.Database = g.database(ctx) }, func(err string) { f.Database.Err = err })
	} else {
		f.Database.InUse = true
	}
	if o.Provider.Issuer != "" {
		g.ask(ctx, func(ctx context.Context) { f.Provider = g.provider(ctx) }, func(err string) {
			f.Provider = Provider{Issuer: o.Provider.Issuer, Err: err, NoAdmins: o.Provider.NoAdmins}
		})
	}
	for _, h := range []struct {
		url  string
		into *Host
	}{{o.PortalURL, &f.Portal}, {o.AppsURL, &f.Apps}} {
		if h.url != "" {
			g.ask(ctx, func(ctx context.Context) { *h.into = g.host(ctx, h.url) }, func(err string) {
				*h.into = Host{Name: h.url, DNSErr: err}
			})
		}
	}
	for i, c := range o.Clusters {
		g.ask(ctx, func(ctx context.Context) { f.Clusters[i] = g.cluster(ctx, c) }, func(err string) {
			f.Clusters[i] = Cluster{Name: c.Name, Err: err, Metrics: Metrics{Set: c.Poll != nil, Err: err},
				LogStore: LogStore{Name: c.LogStore.Name, Err: err}}
		})
	}
	for i, l := range o.Licenses {
		g.ask(ctx, func(ctx context.Context) {
			n, err := l.Features(ctx)
			f.Licenses[i] = License{Name: l.Name, Features: n, Err: words(err)}
		}, func(err string) { f.Licenses[i] = License{Name: l.Name, Err: err} })
	}
	for i, name := range o.Registries {
		g.ask(ctx, func(ctx context.Context) { f.Registries[i] = Registry{Name: name, Err: words(registry(ctx, name))} },
			func(err string) { f.Registries[i] = Registry{Name: name, Err: err} })
	}
	g.wg.Wait()
	if _, domain, ok := strings.Cut(f.Apps.Name, "."); ok && !f.Apps.Local {
		f.Apps.Name = "*." + domain // any name was as good
	}
	f.Took = o.Now().Sub(began)
	return redact(f, o.Secrets)
}

type gatherer struct {
	o  Options
	wg sync.WaitGroup
}

// ask runs a question beside the others.
func (g *gatherer) ask(ctx context.Context, question func(context.Context), otherwise func(err string)) {
	g.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, g.o.Timeout)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				otherwise(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		question(ctx)
	})
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (g *gatherer) database(ctx context.Context) Database {
	began := g.o.Now()
	d, err := g.o.Database(ctx)
	d.Err = words(err)
	if d.Skew.Abs() < time.Second+g.o.Now().Sub(began) { // it tells whole seconds
		d.Skew = 0
	}
	return d
}

// provider reads the discovery document; that the portal's own client would refuse it says the check of the issuer.
func (g *gatherer) provider(ctx context.Context) Provider {
	o := g.o.Provider
	p := Provider{Issuer: o.Issuer, Asked: o.Scopes, Group: o.GroupsClaim, NoAdmins: o.NoAdmins}
	var document struct {
		Issuer  string   `json:"issuer"`
		Methods []string `json:"code_challenge_methods_supported"`
		Scopes  []string `json:"scopes_supported"`
		Claims  []string `json:"claims_supported"`
	}
	client := o.Client
	if client == nil {
		client = http.DefaultClient
	}
	_, err := getJSON(ctx, client, strings.TrimSuffix(o.Issuer, "/")+"/.well-known/openid-configuration", &document)
	p.Err, p.Says, p.Methods, p.Scopes, p.Claims = words(err), document.Issuer, document.Methods, document.Scopes,
		document.Claims
	return p
}

// getJSON reads an answer of 200 and gives its headers.
func getJSON(ctx context.Context, client *http.Client, address string, into any) (http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return answer.Header, fmt.Errorf("%s answers %s", address, answer.Status)
	}
	return answer.Header, json.Unmarshal(data, into)
}

// host looks a name up and reads the certificate that answers there. It asks for no page.
func (g *gatherer) host(ctx context.Context, address string) Host {
	u, err := url.Parse(address)
	if err != nil {
		return Host{Name: address, DNSErr: err.Error()}
	}
	h := Host{Name: u.Hostname(), Plain: u.Scheme == "http"}
	if h.Name == "localhost" || strings.HasSuffix(h.Name, ".localhost") {
		h.Local = true
		return h
	}
	if _, err := netip.ParseAddr(h.Name); err != nil {
		if h.Addresses, err = net.DefaultResolver.LookupHost(ctx, h.Name); err != nil {
			h.DNSErr = err.Error()
			return h
		}
	}
	if !h.Plain {
		h.certificate(ctx, net.JoinHostPort(h.Name, cmp.Or(u.Port(), "443")), g.o.Now())
	}
	return h
}

// certificate takes whatever is shown and judges it itself: a certificate that is over, or for another name, is what is
// looked for.
func (h *Host) certificate(ctx context.Context, address string, now time.Time) {
	dialer := tls.Dialer{Config: &tls.Config{ServerName: h.Name, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true}} //nolint:gosec // nothing is sent, and the chain is verified below
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		h.TLSErr = err.Error()
		return
	}
	defer conn.Close()
	chain := conn.(*tls.Conn).ConnectionState().PeerCertificates
	if len(chain) == 0 {
		h.TLSErr = "the server shows no certificate"
		return
	}
	leaf, between := chain[0], x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	h.Names, h.Until, h.Fits = leaf.DNSNames, leaf.NotAfter.UTC(), leaf.VerifyHostname(h.Name) == nil
	at := now
	if at.After(leaf.NotAfter) {
		at = leaf.NotAfter // that it is over is told by itself
	}
	_, err = leaf.Verify(x509.VerifyOptions{Intermediates: between, CurrentTime: at})
	h.Trusted = err == nil
}

// RandomName is a name that no workload has, to see whether every name below the apps domain leads here.
func RandomName() string { return "doctor-" + strings.ToLower(rand.Text()[:10]) }

// registry asks for the version of the distribution API; that it wants credentials is an answer.
func registry(ctx context.Context, name string) error {
	host := name
	if host == "docker.io" {
		host = "registry-1.docker.io"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/v2/", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusUnauthorized {
		return nil
	}
	return errors.New(answer.Status)
}

// Mask stands for a secret.
const Mask = "********"

// Redactor takes secrets out of a text, also as JSON and as part of an address.
func Redactor(secrets []string) *strings.Replacer {
	var pairs []string
	for _, s := range secrets {
		if len(s) < 4 { // would blacken half of every message
			continue
		}
		quoted, err := json.Marshal(s)
		if err == nil {
			pairs = append(pairs, strings.Trim(string(quoted), `"`), Mask)
		}
		pairs = append(pairs, s, Mask, url.QueryEscape(s), Mask, url.PathEscape(s), Mask)
	}
	return strings.NewReplacer(pairs...)
}

func redact(f Facts, secrets []string) Facts {
	text, err := json.Marshal(f)
	if err != nil {
		return f
	}
	var clean Facts
	if err := json.Unmarshal([]byte(Redactor(secrets).Replace(string(text))), &clean); err != nil {
		return Facts{At: f.At, Process: f.Process, Settings: Settings{Problems: []string{"facts with secrets: " +
			"they are not shown"}}}
	}
	return clean
}
