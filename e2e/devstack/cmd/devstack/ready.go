package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/stack"
)

// readyReport is what others need to know of a running devstack.
type readyReport struct {
	Kubeconfig       string       `json:"kubeconfig"`
	APIServer        string       `json:"apiserver"`
	Prometheus       string       `json:"prometheus"`
	VictoriaMetrics  string       `json:"victoria_metrics,omitempty"`
	OIDCIssuer       string       `json:"oidc_issuer,omitempty"`
	OIDCClientID     string       `json:"oidc_client_id,omitempty"`
	OIDCClientSecret string       `json:"oidc_client_secret,omitempty"`
	SOCKS5           string       `json:"socks5"`
	Control          string       `json:"control"`
	LicenseServer    string       `json:"license_server"`
	AuditLog         string       `json:"audit_log"`
	Users            []stack.User `json:"users"`
	// UserTokens are theirs of the API server, by subject; its name for them is oidc:SUBJECT.
	UserTokens map[string]string `json:"user_tokens"`
}

func (w *devstack) report() readyReport {
	r := readyReport{
		Kubeconfig: w.Kubeconfig(), APIServer: w.APIServer(),
		Prometheus: w.Ports.URL("prometheus"), SOCKS5: "socks5://" + w.Ports.Addr("socks"),
		Control:       w.Ports.URL("control") + "/" + w.Secrets.ControlPath,
		LicenseServer: w.Ports.URL("faces") + "/license", AuditLog: w.AuditLog(), Users: w.Users,
		UserTokens: map[string]string{},
	}
	for _, u := range w.Users {
		r.UserTokens[u.Sub] = w.Secrets.UserToken(u)
	}
	if w.Victoria {
		r.VictoriaMetrics = w.Ports.URL("victoria-metrics")
	}
	if w.SignIn != "" {
		r.OIDCIssuer, r.OIDCClientID, r.OIDCClientSecret = w.Ports.URL("signin"), stack.ClientID, w.Secrets.ClientSecret
	}
	return r
}

// writeReady writes the report at once: a reader sees no file or the whole file.
func (w *devstack) writeReady() error {
	if w.readyFile == "" {
		return nil
	}
	text, err := json.MarshalIndent(w.report(), "", "  ")
	if err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%d", w.readyFile, os.Getpid())
	if err := os.WriteFile(part, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	return os.Rename(part, w.readyFile)
}
