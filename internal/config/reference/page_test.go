package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// row of the reference: setting, type, default, meaning.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]*) \\| (.*) \\|$")

func TestTheReferenceIsUpToDate(t *testing.T) {
	want, err := Page(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(root + "/docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/configuration.md is not what the code says: run make generate")
	}
}

// TestEverySettingIsExplained: a field without a comment would be a row that says nothing.
func TestEverySettingIsExplained(t *testing.T) {
	page, err := Page(root)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		rows[m[1]] = m[2:]
		if len(strings.TrimSpace(m[4])) < 8 {
			t.Errorf("%s has no comment that says what it means, got %q", m[1], m[4])
		}
	}
	if len(rows) < 120 {
		t.Errorf("want every setting read, got %d", len(rows))
	}
	for setting, want := range map[string][]string{
		"listen": {"text", "`127.0.0.1:8080`",
			"address of portal and gateway, host:port. Variable `PORTAL_LISTEN`"},
		"oidc.refresh": {"time", "`10m`", "how old groups may be before they are read again"},
		"oidc.issuer": {"text", "needed",
			"issuer URL, as in the discovery document. Variable `PORTAL_OIDC_ISSUER`"},
		"clusters[].podAccess":      {"text", "`direct`", ""},
		"clusters[].internetEgress": {"true or false", "`false`", ""},
		"lease.warnings":            {"list of times", "1d, 1h, 10m", ""},
		"licensePools[].rules":      {"list of settings", "", ""},
	} {
		got := rows[setting]
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || want[2] != "" && got[2] != want[2] {
			t.Errorf("%s: want %q, got %q", setting, want, got)
		}
	}
}
