package config

import (
	"cmp"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/identity/clusteruser"
)

// Console shows pages of the portal in the OpenShift console, 4.22 and newer, by a plugin. The chart renders its
// ConsolePlugin object. Users of the cluster and people of the portal come from one sign-in provider; these settings
// say how one finds the other.
type Console struct {
	// address that the console's proxy calls, host:port, with TLS; default none: no plugin
	Listen string `json:"listen,omitempty"`
	// certificate and key of that address, read again when they change; needed unless it is a loopback address
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"` // see certFile
	// name of the ConsolePlugin object; default gpu-portal
	Plugin string `json:"plugin,omitempty"`
	// cluster whose console it is, one of clusters; default the first
	Cluster string `json:"cluster,omitempty"`
	// what of a user of the cluster names them at the sign-in provider: username, uid, or extra/KEY; default username
	UserFrom string `json:"userFrom,omitempty"`
	// what the cluster puts before it, such as "oidc:"; users without it are nobody here; default none
	UserPrefix string `json:"userPrefix,omitempty"`
	// what it is there: subject (the claim sub), or email, only for providers that never give an address to somebody else;
	// default subject
	UserIs string `json:"userIs,omitempty"`
}

// pluginName is a DNS label, as names of objects are.
var pluginName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func (c Console) withDefaults(clusters []Cluster) Console {
	c.Plugin, c.UserFrom, c.UserIs = cmp.Or(c.Plugin, "gpu-portal"), cmp.Or(c.UserFrom, "username"),
		cmp.Or(c.UserIs, clusteruser.Subject)
	if c.Cluster == "" && len(clusters) > 0 {
		c.Cluster = clusters[0].Name
	}
	return c
}

func (c Console) problems(listen string, clusters []Cluster) (all []error) {
	if c.Listen == "" {
		return nil
	}
	add := func(format string, args ...any) { all = append(all, fmt.Errorf("console."+format, args...)) }
	host, port, err := net.SplitHostPort(c.Listen)
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		add("listen: %q is not host:port", c.Listen)
	case port != "0" && strings.HasSuffix(listen, ":"+port):
		add("listen: %s is the port of listen: the console needs one of its own", port)
	case (c.CertFile == "") != (c.KeyFile == ""):
		add("certFile: certificate and key go together")
	case c.CertFile == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()):
		add("certFile: needed, since users' tokens of the cluster come this way")
	}
	if !pluginName.MatchString(c.Plugin) {
		add("plugin: %q is not the name of an object", c.Plugin)
	}
	known := false
	for _, k := range clusters {
		known = known || k.Name == c.Cluster
	}
	if !known {
		add("cluster: %q is none of clusters", c.Cluster)
	}
	if key, extra := strings.CutPrefix(c.UserFrom, "extra/"); c.UserFrom != "username" && c.UserFrom != "uid" &&
		(!extra || key == "") {
		add("userFrom: %q is not username, uid or extra/KEY", c.UserFrom)
	}
	if c.UserIs != clusteruser.Subject && c.UserIs != clusteruser.Email {
		add("userIs: %q is not subject or email", c.UserIs)
	}
	return all
}
