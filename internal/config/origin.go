package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

// addressProblems checks how browsers reach the portal and its workloads. Workloads run other people's code: a page of
// theirs on the portal's own host, above it or below it could set or read its cookies. On localhost, which has no owner
// but the person at it, one name for both is the convenient default.
func (c Config) addressProblems() []error {
	var all []error
	add := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	portal, err := url.Parse(c.URL)
	if err != nil || portal.Hostname() == "" || (portal.Scheme != "http" && portal.Scheme != "https") ||
		portal.Path != "" || portal.User != nil ||
		portal.RawQuery != "" || portal.Fragment != "" {
		add("url: %q is not an address such as https://gpu.example.org", c.URL)
		return all
	}
	host, apps := strings.ToLower(portal.Hostname()), c.appsHost()
	if portal.Scheme == "http" && !here(host) {
		add("url: %q must be https: browsers keep session cookies for secure addresses and for localhost only", c.URL)
	}
	switch {
	case !hostName(apps):
		add("appsDomain: %q is not a domain such as apps.example.net", c.AppsDomain)
	case here(host) && here(apps):
	case host == apps || strings.HasSuffix(host, "."+apps) || strings.HasSuffix(apps, "."+host):
		add("appsDomain: %s and the portal's own host %s must not lie in one another: workloads belong on another site, or "+
			"their cookies reach the portal", apps, host)
	}
	return append(all, externalProblems(c.ExternalAppsDomain, apps, host)...)
}

// externalProblems checks the domain for callers outside: a name that two domains have in common would be reached by
// either of their ingresses.
func externalProblems(external, apps, portal string) []error {
	outside := withoutPort(external)
	switch {
	case external == "":
	case !hostName(outside):
		return []error{fmt.Errorf("externalAppsDomain: %q is not a domain such as models.example.com", external)}
	case outside == apps, outside == portal:
		return []error{fmt.Errorf("externalAppsDomain: %s is a domain of its own, and neither appsDomain nor the host of url",
			outside)}
	case here(outside):
	default:
		for _, other := range []string{apps, portal} {
			if strings.HasSuffix(outside, "."+other) || strings.HasSuffix(other, "."+outside) {
				return []error{fmt.Errorf("externalAppsDomain: %s and %s must not lie in one another: what leads callers from "+
					"outside to the one would lead them to the other", outside, other)}
			}
		}
	}
	return nil
}

// Warnings are settings that work and are less safe, or less useful, than they could be. They are logged at the start.
func (c Config) Warnings() []string {
	portal, err := url.Parse(c.URL)
	if err != nil {
		return nil
	}
	host, apps := strings.ToLower(portal.Hostname()), c.appsHost()
	var all []string
	if !here(host) && here(apps) {
		all = append(all, fmt.Sprintf("appsDomain: workloads answer below %s, which only browsers on this machine can open",
			apps))
	}
	if site := siteOf(host); site != "" && site == siteOf(apps) {
		all = append(all, fmt.Sprintf("appsDomain: the portal %s and its workloads below %s are siblings under %s: a "+
			"workload can set cookies for all of %s. "+
			"The portal's own are protected by their __Host- names; a domain of its own for workloads would be safer", host,
			apps, site, site))
	}
	if warning := c.LogStore.warning(""); warning != "" {
		all = append(all, warning)
	}
	for _, k := range c.Clusters {
		for _, warning := range []string{k.metricsWarning(), k.LogStore.warning("clusters " + k.Name + ": ")} {
			if warning != "" {
				all = append(all, warning)
			}
		}
		if k.PodAccess == "apiserver" {
			all = append(all, fmt.Sprintf("clusters %s: podAccess: the API server's proxy takes out of each call the secret "+
				"that servers such as Jupyter ask for; images with auth are refused there", k.Name))
		}
	}
	return all
}

// appsHost is the apps domain without a port.
func (c Config) appsHost() string { return withoutPort(c.AppsDomain) }

func withoutPort(domain string) string {
	if host, port, err := net.SplitHostPort(domain); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err == nil {
			return host
		}
	}
	return domain
}

// here is this machine.
func here(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// siteOf is the name that somebody registered: what browsers let cookies span. It is empty for addresses and single
// labels.
func siteOf(host string) string {
	if _, err := netip.ParseAddr(host); err == nil || here(host) {
		return ""
	}
	site, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return ""
	}
	return site
}

// hostName reports whether text is labels with dots between them.
func hostName(text string) bool {
	for _, part := range strings.Split(text, ".") {
		if !tenant.Label(part, 63) {
			return false
		}
	}
	return len(text) <= 253
}
