package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/logstore"
)

// LogStore is where the site keeps logs. The pages and the API answer from it when a pod is gone; without one a log
// ends with its pod.
//
//	Loki, several tenants:   kind: loki, url: https://loki.example.org, tenant: gpu
//	LokiStack of OpenShift:  url: https://logging-loki-gateway-http.openshift-logging.svc:8080/api/logs/v1/application,
//	                         tokenFile of the service account, caFile of the service CA, podField:
//	                         kubernetes_pod_name, and a query with its labels
//	Fluent Bit, OpenSearch:  kind: elasticsearch, index: "logs-*", textField: log, podField: kubernetes.pod_name, and a
//	                         query with kubernetes.pod_name.keyword and so on
type LogStore struct {
	// loki, or elasticsearch, which OpenSearch is as well; default none, logs end with their pod
	Kind string `json:"kind,omitempty"`
	// base URL: what comes before /loki, or before /INDEX/_search
	URL string `json:"url,omitempty"`
	// of Elasticsearch, needed there: names or patterns of indices, separated by commas, "logs-*"
	Index string `json:"index,omitempty"`
	// LogQL, or a query of Elasticsearch as JSON. {namespace}, {pod} (a regular expression of the whole name),
	// {container}, {cluster} and {workload} (its ID, the pods' label gpu-portal.github.io/workload) stand for values, in
	// LogQL between double quotes. It needs {namespace} and {pod}, or {workload}; default goes by the labels namespace,
	// pod and container, or by the fields of the Elastic Common Schema
	Query string `json:"query,omitempty"`
	// tenant of Loki, sent as X-Scope-OrgID; default none
	Tenant string `json:"tenant,omitempty"`
	// file with a bearer token, read anew for each query; default none
	TokenFile string `json:"tokenFile,omitempty"`
	// file with user:password, read anew for each query; default none
	BasicAuthFile string `json:"basicAuthFile,omitempty"`
	// PEM file of CAs that may have signed the server's certificate, beside those that the system trusts; default none
	CAFile string `json:"caFile,omitempty"`
	// label or field that holds the name of the pod; default pod, or kubernetes.pod.name
	PodField string `json:"podField,omitempty"`
	// of Elasticsearch: field with the time of a line; default @timestamp
	TimeField string `json:"timeField,omitempty"`
	// of Elasticsearch: field with the line itself; default message
	TextField string `json:"textField,omitempty"`
	// how far back one query reaches, at most as far as the store lets queries reach; default 30d
	Window catalog.Duration `json:"window,omitempty"`
	// how long the store may take to answer; default 10s
	Timeout catalog.Duration `json:"timeout,omitempty"`
}

// LogStoreOf is the store of a cluster: its own, else that of all; nil for none.
func (c Config) LogStoreOf(k Cluster) (*logstore.Store, error) {
	s := k.LogStore
	if s.Kind == "" {
		s = c.LogStore
	}
	if s.Kind == "" {
		return nil, nil
	}
	return s.store()
}

func (s LogStore) store() (*logstore.Store, error) {
	client, err := clientTrusting(s.CAFile)
	if err != nil {
		return nil, fmt.Errorf("caFile: %w", err)
	}
	return logstore.New(logstore.Config{Kind: s.Kind, URL: s.URL, Index: s.Index, Query: s.Query, Tenant: s.Tenant,
		TokenFile: s.TokenFile, BasicAuthFile: s.BasicAuthFile, PodField: s.PodField, TimeField: s.TimeField,
		TextField: s.TextField, Window: s.Window.Std(), Timeout: s.Timeout.Std(), Client: client})
}

// problems looks at the CA file now; files with credentials are read for each query, and may come later.
func (s LogStore) problems() []error {
	if s == (LogStore{}) {
		return nil
	}
	if s.Kind == "" {
		return []error{errors.New("logStore.kind: it is missing: " + strings.Join(logstore.Kinds(), ", "))}
	}
	if _, err := s.store(); err != nil {
		return []error{fmt.Errorf("logStore.%w", err)}
	}
	return nil
}

// warning is "" unless credentials would cross the network in the clear.
func (s LogStore) warning(place string) string {
	u, err := url.Parse(s.URL)
	if s.TokenFile == "" && s.BasicAuthFile == "" || err != nil || u.Scheme != "http" ||
		here(strings.ToLower(u.Hostname())) {
		return ""
	}
	return fmt.Sprintf("%slogStore: the credentials for %s cross the network in the clear; use https", place, u.Host)
}
