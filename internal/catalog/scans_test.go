package catalog_test

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

func TestTheScanOfAnImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	for _, c := range []struct{ link, image, want string }{
		{"", "registry.example.org/a/b:1", ""},
		{"https://scans.example.org/{registry}/{repository}/{tag}/{digest}", "registry.example.org:5000/a/b:1.4@" + digest,
			"https://scans.example.org/registry.example.org:5000/a/b/1.4/" + digest},
		{"https://scans.example.org/?image={repository}&digest={digest}", "busybox@" + digest,
			"https://scans.example.org/?image=library/busybox&digest=" + digest},
		{"https://scans.example.org/{digest}", "registry.example.org/a/b:1", ""},
		{"https://scans.example.org/{tag}", "registry.example.org/a/b@" + digest, ""},
		{"https://scans.example.org/?q={repository}", "registry.example.org/a?b=c&d",
			"https://scans.example.org/?q=a%3Fb%3Dc%26d"},
	} {
		if got := catalog.ScanLink(c.link).Of(c.image); got != c.want {
			t.Errorf("%s of %s: want %s, got %s", c.link, c.image, c.want, got)
		}
	}
}

func TestWrongScanLinks(t *testing.T) {
	for link, says := range map[string]string{
		"ftp://scans.example.org/{digest}":           "no http or https address",
		"https://ada:pw@scans.example.org/{digest}":  "no http or https address",
		"javascript:alert('{digest}')":               "no http or https address",
		"https://scans.example.org/{digest}/{image}": "it may have",
		"https://scans.example.org/":                 "same page for every image",
		"https://{registry}/scan/{digest}":           "the host must not come from the image",
	} {
		if err := catalog.ScanLink(link).Problem(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: want %q, got %v", link, says, err)
		}
	}
	for _, link := range []catalog.ScanLink{"", "https://scans.example.org/{repository}@{digest}"} {
		if err := link.Problem(); err != nil {
			t.Errorf("%s: %v", link, err)
		}
	}
}
