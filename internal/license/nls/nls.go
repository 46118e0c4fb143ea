// Package nls asks an NVIDIA license service how many seats there are and how many are leased, with the calls that are
// public: CLS in the cloud, and DLS where it answers under the same paths. It reads and changes nothing.
//
// Public are GET /v1/org/{org}/virtual-groups, with page-number and page-size, and the key in X-API-KEY
// (ui.licensing.nvidia.com/api-doc). Who holds a lease is told by GET …/virtual-groups/{id}/leases, whose shape is seen
// in third-party programs only, so it is asked for where the configuration says so (leases), and what it does not tell
// stays unknown: the counts hold all the same.
package nls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// Config says where a license server is and with what credentials it is asked.
type Config struct {
	Name string `json:"name"` // by which pools name it; needed
	// "https://api.licensing.nvidia.com", or the address of the DLS with the path before /v1; needed
	URL        string `json:"url"`
	Org        string `json:"org"`                  // organization, "lic-…"; needed
	APIKeyFile string `json:"apiKeyFile,omitempty"` // file with an API key of the type "Licensing State"
	CAFile     string `json:"caFile,omitempty"`     // PEM file, for a DLS with a certificate of its own
	Leases     bool   `json:"leases,omitempty"`     // ask who holds leases, where the server tells it
}

// Check says what is missing, one error a problem.
func (c Config) Check() []error {
	var all []error
	if c.Name == "" {
		all = append(all, errors.New("name: it is missing"))
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" ||
		u.User != nil {
		all = append(all, errors.New("url: want http(s)://host, without a user"))
	}
	if c.Org == "" {
		all = append(all, errors.New("org: it is missing"))
	}
	return all
}

// Bounds of an answer: a large company has a few dozen entitlements.
const (
	pageSize  = 50
	mostPages = 100
	mostBytes = 4 << 20
	mostSeats = license.MostSeats
)

// Server is one license server. Make it with New.
type Server struct {
	config Config
	client *http.Client
}

// New reads the certificate; the key is read for each round, so that it can be changed in place.
func New(c Config) (*Server, error) {
	if problems := c.Check(); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("caFile: %w", err)
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, errors.New("caFile: there is no certificate in it")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &Server{config: c, client: &http.Client{Transport: transport,
		// The key must not follow to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Name is what pools call it.
func (s *Server) Name() string { return s.config.Name }

type groups struct {
	VirtualGroups []struct {
		ID           json.Number `json:"id"`
		Name         string      `json:"name"`
		Entitlements []struct {
			ProductKeys []struct {
				Features []feature `json:"entitlementFeatures"`
			} `json:"entitlementProductKeys"`
		} `json:"entitlements"`
	} `json:"virtualGroups"`
	Pages struct {
		TotalPages int `json:"totalPages"`
		PageNumber int `json:"pageNumber"`
	} `json:"paginationInfo"`
}

type feature struct {
	Name    string `json:"featureName"`
	Product string `json:"productName"`
	Start   string `json:"startDate"`
	End     string `json:"endDate"`
	Total   *int   `json:"totalQuantity"`
	InUse   *int   `json:"inUseQuantity"`
}

// Fetch reads all pages. What is missing on one page makes the whole answer fail: half a count is no count.
func (s *Server) Fetch(ctx context.Context) (license.Answer, error) {
	var answer license.Answer
	var ids []string
	for page := range mostPages {
		got, err := s.page(ctx, page)
		if err != nil {
			return license.Answer{}, err
		}
		for _, g := range got.VirtualGroups {
			ids = append(ids, g.ID.String())
			for _, e := range g.Entitlements {
				for _, k := range e.ProductKeys {
					for _, f := range k.Features {
						feature, err := f.read(g.Name)
						if err != nil {
							return license.Answer{}, &license.Failure{Why: i18n.T("licenses.why_nonsense"), Cause: err}
						}
						answer.Features = append(answer.Features, feature)
					}
				}
			}
		}
		if page+1 >= got.Pages.TotalPages {
			if s.config.Leases {
				answer.Leases, answer.LeasesKnown = s.leases(ctx, ids)
			}
			return answer, nil
		}
	}
	return license.Answer{}, &license.Failure{Why: i18n.T("licenses.why_nonsense"), Cause: fmt.Errorf("more than %d pages",
		mostPages)}
}

func (f feature) read(group string) (license.Feature, error) {
	out := license.Feature{Name: clean(f.Name), Product: clean(f.Product), Reference: clean(group)}
	switch {
	case out.Name == "":
		return out, errors.New("a feature without a name")
	case f.Total == nil || f.InUse == nil:
		return out, fmt.Errorf("%s: no quantity", out.Name)
	case *f.Total < 0 || *f.InUse < 0 || *f.Total > mostSeats || *f.InUse > mostSeats:
		return out, fmt.Errorf("%s: %d of %d in use", out.Name, *f.InUse, *f.Total)
	}
	out.Total, out.InUse = *f.Total, *f.InUse
	for _, d := range []struct {
		text string
		last bool
		into *time.Time
	}{{f.Start, false, &out.From}, {f.End, true, &out.Until}} {
		at, ok := license.ParseDay(d.text, d.last)
		if !ok {
			return out, fmt.Errorf("%s: the date %.40q", out.Name, d.text)
		}
		*d.into = at
	}
	return out, nil
}

// clean keeps a stranger's text printable and short.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200])
	}
	return strings.TrimSpace(text)
}

func (s *Server) page(ctx context.Context, number int) (groups, error) {
	var got groups
	err := s.get(ctx, "?"+url.Values{"page-number": {strconv.Itoa(number)}, "page-size": {strconv.Itoa(pageSize)},
		"detailedView": {"true"}}.Encode(), "", &got)
	if err == nil && got.VirtualGroups == nil {
		err = &license.Failure{Why: i18n.T("licenses.why_nonsense"), Cause: errors.New("no virtual groups")}
	}
	return got, err
}

// get reads what stands below the virtual groups; instance is the service instance that is asked, "" for the usual one.
func (s *Server) get(ctx context.Context, below, instance string, into any) error {
	address := strings.TrimRight(s.config.URL, "/") + "/v1/org/" + url.PathEscape(s.config.Org) + "/virtual-groups" + below
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	if instance != "" {
		r.Header.Set("X-NV-Service-Instance-Id", instance)
	}
	if s.config.APIKeyFile != "" {
		key, err := os.ReadFile(s.config.APIKeyFile)
		if err != nil {
			return &license.Failure{Why: i18n.T("licenses.why_key"), Cause: err}
		}
		r.Header.Set("X-API-KEY", strings.TrimSpace(string(key)))
	}
	res, err := s.client.Do(r)
	if err != nil {
		return failure(err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return &license.Failure{Why: i18n.T("licenses.why_key"), Cause: errors.New(res.Status)}
	case res.StatusCode != http.StatusOK:
		return &license.Failure{Why: i18n.T("licenses.why_status", "Status", res.StatusCode),
			Cause: errors.New(res.Status)}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, mostBytes+1))
	if err != nil {
		return failure(err)
	}
	if len(body) > mostBytes {
		return &license.Failure{Why: i18n.T("licenses.why_nonsense"), Cause: fmt.Errorf("more than %d bytes", mostBytes)}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return &license.Failure{Why: i18n.T("licenses.why_nonsense"), Cause: fmt.Errorf("want JSON: %w", err)}
	}
	return nil
}

// failure tells a bad certificate, an impatient context and everything else apart.
func failure(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid), errors.As(err, &verify):
		return &license.Failure{Why: i18n.T("licenses.why_certificate"), Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &license.Failure{Why: i18n.T("licenses.why_slow"), Cause: err}
	}
	return &license.Failure{Why: i18n.T("licenses.why_away"), Cause: err}
}
