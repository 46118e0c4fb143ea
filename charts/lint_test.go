package charts_test

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint/support"
)

// TestHelmLint: Helm has nothing against the chart with the least values of docs/install.md, and without them it says
// which are missing.
func TestHelmLint(t *testing.T) {
	lint := func(values map[string]any) []support.Message {
		l := action.NewLint()
		l.Strict = true // warnings count
		return l.Run([]string{"gpu-portal"}, values).Messages
	}
	site, err := chartutil.ReadValues([]byte(installPage(t, "## Kubernetes").block(t, "yaml")))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range lint(site) {
		if m.Severity > support.InfoSev {
			t.Errorf("%v", m)
		}
	}
	var said strings.Builder
	for _, m := range lint(map[string]any{}) {
		if m.Severity == support.ErrorSev {
			said.WriteString(m.Error() + "\n")
		}
	}
	for _, want := range []string{"/config/url", "/config/appsDomain", "/config/oidc/issuer"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("want %s named, got\n%s", want, said.String())
		}
	}
}
