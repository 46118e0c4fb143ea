package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"k8s.io/client-go/rest"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Added is how a cluster is reached that was added in the portal.
type Added struct {
	Config  *rest.Config
	Metrics http.RoundTripper // to its Prometheus
	Secrets []string          // what must be told nowhere
}

// AddedCluster reads what an administrator says of a cluster beside its kubeconfig: YAML as of an entry of clusters.
// What names a file of this machine, a proxy or a log store is in the configuration only.
func AddedCluster(name, text string) (Cluster, error) {
	var k Cluster
	if text != "" {
		data, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			return k, oneLine(err)
		}
		unknown, err := strictjson.UnmarshalStrict(data, &k, strictjson.DisallowUnknownFields,
			strictjson.DisallowDuplicateFields)
		if err = errors.Join(append(unknown, err)...); err != nil {
			return k, oneLine(err)
		}
	}
	for _, f := range []struct {
		name string
		has  bool
	}{{"name", k.Name != ""}, {"kubeconfig", k.Kubeconfig != ""}, {"context", k.Context != ""},
		{"prometheusTokenFile", k.PrometheusTokenFile != ""}, {"metrics.caFile", k.Metrics.CAFile != ""},
		{"agents.tokenFile", k.Agents.TokenFile != ""}, {"logStore", k.LogStore != LogStore{}}} {
		if f.has {
			return Cluster{}, fmt.Errorf("%s: cannot be set here", f.name)
		}
	}
	k.Name = name
	c := Config{Clusters: []Cluster{k}}
	c.Clusters[0].defaults()
	k = c.Clusters[0]
	if k.PodAccess != "direct" && k.PodAccess != "apiserver" {
		return Cluster{}, errors.New("podAccess: direct or apiserver; a proxy is named in the configuration only")
	}
	return k, oneLineOrNil(lines(c.clusterProblems()))
}

func oneLineOrNil(err error) error {
	if err == nil {
		return nil
	}
	return oneLine(err)
}

// AddedNetworks are clusterNetworks as prefixes.
func (c Config) AddedNetworks() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range c.ClusterNetworks {
		if p, err := netip.ParsePrefix(text); err == nil { // problems says it otherwise
			list = append(list, p)
		}
	}
	return list
}

func (c Config) networkProblems() []error {
	var all []error
	for i, text := range c.ClusterNetworks {
		if _, err := netip.ParsePrefix(text); err != nil {
			all = append(all, fmt.Errorf("clusterNetworks[%d]: %q is not a network such as 10.0.0.0/8", i, text))
		}
	}
	return all
}
