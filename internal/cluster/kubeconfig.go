package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// MaxKubeconfig is the most bytes of a kubeconfig: certificates in it have a few KiB each.
const MaxKubeconfig = 64 << 10

// Access is all that is kept of a kubeconfig: where the API server is, how it is known, and how the portal signs in.
type Access struct {
	Server     string `json:"server"`
	ServerName string `json:"serverName,omitempty"` // in its certificate, where that is not the host
	CA         []byte `json:"ca,omitempty"`         // PEM; none: those that the system trusts
	Token      string `json:"token,omitempty"`
	Cert       []byte `json:"cert,omitempty"` // PEM
	Key        []byte `json:"key,omitempty"`  // PEM
}

// Secrets are the texts that must be told nowhere.
func (a Access) Secrets() []string {
	var all []string
	for _, s := range []string{a.Token, string(a.Key)} {
		if s != "" {
			all = append(all, s)
		}
	}
	return all
}

// Config is how client-go takes it. It dials what the guard allows, and by no proxy.
func (a Access) Config(g Guard) *rest.Config {
	return &rest.Config{Host: a.Server, BearerToken: a.Token, Dial: g.dialer().DialContext, Proxy: noProxy,
		TLSClientConfig: rest.TLSClientConfig{ServerName: a.ServerName, CAData: a.CA, CertData: a.Cert, KeyData: a.Key}}
}

// read takes the current context out of a kubeconfig.
func read(text string) (Access, []fault.Field) {
	refuse := func(id string, args ...any) (Access, []fault.Field) {
		return Access{}, []fault.Field{{Name: "kubeconfig", Reason: i18n.T(id, args...)}}
	}
	if text == "" {
		return refuse("clusters.kubeconfig_missing")
	}
	if len(text) > MaxKubeconfig {
		return refuse("clusters.kubeconfig_long", "KiB", MaxKubeconfig>>10)
	}
	file, err := clientcmd.Load([]byte(text))
	if err != nil {
		return refuse("clusters.kubeconfig_unreadable")
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		return refuse("clusters.kubeconfig_context")
	}
	server, user := file.Clusters[context.Cluster], file.AuthInfos[context.AuthInfo]
	if server == nil || user == nil {
		return refuse("clusters.kubeconfig_context")
	}
	if field := forbidden(server, user); field != "" {
		return refuse("clusters.kubeconfig_refused", "Field", field)
	}
	if u, err := url.Parse(server.Server); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return refuse("clusters.kubeconfig_server")
	}
	a := Access{Server: server.Server, ServerName: server.TLSServerName, CA: server.CertificateAuthorityData,
		Token: user.Token, Cert: user.ClientCertificateData, Key: user.ClientKeyData}
	if len(a.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(a.CA) {
		return refuse("clusters.kubeconfig_pem", "Field", "certificate-authority-data")
	}
	if len(a.Cert) > 0 || len(a.Key) > 0 {
		if _, err := tls.X509KeyPair(a.Cert, a.Key); err != nil {
			return refuse("clusters.kubeconfig_pem", "Field", "client-certificate-data, client-key-data")
		}
	}
	if a.Token == "" && len(a.Cert) == 0 {
		return refuse("clusters.kubeconfig_nobody")
	}
	return a, nil
}

// forbidden names what would run a program, read a file, call by another way, or speak as somebody else; "" for
// nothing.
func forbidden(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) string {
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"exec", u.Exec != nil}, {"auth-provider", u.AuthProvider != nil}, {"tokenFile", u.TokenFile != ""},
		{"client-certificate", u.ClientCertificate != ""}, {"client-key", u.ClientKey != ""},
		{"username, password", u.Username != "" || u.Password != ""},
		{"as", u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0 ||
			len(u.ImpersonateUserExtra) > 0},
		{"certificate-authority", c.CertificateAuthority != ""}, {"proxy-url", c.ProxyURL != ""},
		{"insecure-skip-tls-verify", c.InsecureSkipTLSVerify},
	} {
		if f.has {
			return f.name
		}
	}
	return ""
}
