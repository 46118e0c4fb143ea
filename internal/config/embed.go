package config

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// Embed lets people show panels of the portal, read only, in pages of other sites.
type Embed struct {
	// sites whose pages may show panels, without a path: ["https://grafana.example.org"]; default none, and nothing can be
	// embedded
	AllowedOrigins []string `json:"allowedOrigins,omitempty"`
	// longest life of an embed address, counted when it is made; default 90d
	MaxLifetime catalog.Duration `json:"maxLifetime,omitempty"`
}

func (e Embed) problems() []error {
	var all []error
	for i, o := range e.AllowedOrigins {
		if !origin(o) {
			all = append(all, fmt.Errorf("embed.allowedOrigins[%d]: %q is no origin such as https://grafana.example.org", i, o))
		}
	}
	return all
}

// origin reports whether text is one as browsers write it, without wildcards: it stands in a header as it is.
func origin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" &&
		text == u.Scheme+"://"+u.Host && !strings.ContainsAny(text, "*;,'\" \t\r\n") && text == strings.ToLower(text)
}
