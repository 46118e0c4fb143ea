package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
)

// Metrics says how the Prometheus of a cluster is asked where it is not a plain one with the exporter's own labels.
//
//	OpenShift, all namespaces:   prometheus: https://thanos-querier.openshift-monitoring.svc:9091, prometheusTokenFile,
//	                             caFile of the service CA
//	OpenShift, one tenant:       …:9092, params: {namespace: [gpu-vision]}
//	Mimir, Cortex:               headers: {X-Scope-OrgID: gpu}
//	VictoriaMetrics:             params: {extra_label: [cluster=main]}
//	Thanos:                      params: {dedup: ["true"], partial_response: ["true"]}
type Metrics struct {
	Params map[string][]string `json:"params,omitempty"` // parameters that are sent with every query
	// headers that are sent with every query; a token belongs into prometheusTokenFile
	Headers map[string]string `json:"headers,omitempty"`
	// PEM file of CAs that may have signed the server's certificate, beside those that the system trusts
	CAFile string       `json:"caFile,omitempty"`
	Labels MetricLabels `json:"labels,omitzero"`
}

// MetricLabels are the names that the site's series use, each in order of preference; empty for those of dcgm-exporter.
type MetricLabels struct {
	UUID     []string `json:"uuid,omitempty"`     // label with the UUID of the card
	Instance []string `json:"instance,omitempty"` // label with the number of a MIG instance
	Profile  []string `json:"profile,omitempty"`  // label with the name of a MIG profile
	Model    []string `json:"model,omitempty"`    // label with the model of the card
	Node     []string `json:"node,omitempty"`     // label with the node of the card
	// label with the namespace of the pod that holds the device; pod has its counterpart at the same place
	Namespace []string `json:"namespace,omitempty"`
	Pod       []string `json:"pod,omitempty"` // label with the pod that holds the device
}

// MetricsConfig is what a poller of the cluster's metrics needs to know of the site.
func (k Cluster) MetricsConfig() (gpumetrics.Config, error) {
	client, err := clientTrusting(k.Metrics.CAFile)
	if err == nil && k.Added != nil {
		client.Transport = k.Added.Metrics
	}
	return gpumetrics.Config{URL: k.Prometheus, TokenFile: k.PrometheusTokenFile, Params: k.Metrics.Params,
		Header: k.Metrics.header(),
		Labels: gpumetrics.Labels(k.Metrics.Labels), HTTPClient: client}, err
}

// ours are headers that the poller sets itself, or that the transport owns.
var ours = []string{"Accept", "Authorization", "Connection", "Content-Length", "Content-Type", "Host",
	"Transfer-Encoding"}

// reserved are the parameters that make up the query itself.
var reserved = []string{"query", "time", "start", "end", "step", "timeout"}

func (m Metrics) header() http.Header {
	h := http.Header{}
	for name, value := range m.Headers {
		h.Set(name, value)
	}
	return h
}

// clientTrusting trusts the CAs of a file as well, "" for none. It follows no redirection: one from a query leads to a
// sign-in page, and would take the site's headers elsewhere.
func clientTrusting(caFile string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if caFile != "" {
		pool, err := trusted(caFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request,
		[]*http.Request) error {
		return http.ErrUseLastResponse
	}}, nil
}

func trusted(caFile string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", caFile)
	}
	return pool, nil
}

// problems looks at the CA file now; a token file is read for each query, and may come later.
func (m Metrics) problems() []error {
	var all []error
	add := func(format string, args ...any) { all = append(all, fmt.Errorf("metrics."+format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		switch {
		case !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(m.Headers[name]):
			add("headers: %q with its value is no header", name)
		case slices.Contains(ours, http.CanonicalHeaderKey(name)):
			add("headers: %s is the portal's own; for a token there is prometheusTokenFile", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		if name == "" || slices.Contains(reserved, name) {
			add("params: %q is part of the query itself", name)
		}
	}
	if m.CAFile != "" {
		if _, err := trusted(m.CAFile); err != nil {
			add("caFile: %w", err)
		}
	}
	if name := gpumetrics.Labels(m.Labels).Problem(); name != "" {
		add("labels: %q is no name of a label", name)
	}
	if len(m.Labels.Namespace) != len(m.Labels.Pod) {
		all = append(all, errors.New("metrics.labels: namespace and pod must have as many names, each pair at the same "+
			"place"))
	}
	return all
}

// metricsProblems are those of a cluster's address of Prometheus and of how it is asked.
func (k Cluster) metricsProblems() []error {
	all := k.Metrics.problems()
	u, err := url.Parse(k.Prometheus)
	if k.Prometheus != "" && (err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https") {
		all = append(all, fmt.Errorf("prometheus: %q is not an address such as https://prometheus.example.org", k.Prometheus))
	}
	return all
}

// metricsWarning is "" unless the token for Prometheus would cross the network in the clear.
func (k Cluster) metricsWarning() string {
	u, err := url.Parse(k.Prometheus)
	if k.PrometheusTokenFile == "" || err != nil || u.Scheme != "http" || here(strings.ToLower(u.Hostname())) {
		return ""
	}
	return fmt.Sprintf("clusters %s: prometheus: the token for %s crosses the network in the clear; use https", k.Name,
		u.Host)
}
