package oidc

import (
	"net/url"
	"strings"
	"testing"
)

// targets maps a return target to where it may lead (T-REDIR).
var targets = map[string]string{
	// Ours.
	"/":                                 "/",
	"/workloads":                        "/workloads",
	"/workloads/":                       "/workloads/",
	"/workloads/w-1?tab=logs":           "/workloads/w-1?tab=logs",
	"/requests?state=open&team=a":       "/requests?state=open&team=a",
	"/requests?team=a&state=open":       "/requests?state=open&team=a",
	"/requests?q=a+b%26c":               "/requests?q=a+b%26c",
	"/requests?next=//evil.example":     "/requests?next=%2F%2Fevil.example",
	"/requests?next=https://e.example/": "/requests?next=https%3A%2F%2Fe.example%2F",
	"/requests#part":                    "/requests",
	"/a:b":                              "/a:b",
	"/@evil.example":                    "/@evil.example",
	"/a@evil.example":                   "/a@evil.example",
	"/team/müller":                      "/team/m%C3%BCller",
	"/team/m%C3%BCller":                 "/team/m%C3%BCller",
	"/a b":                              "/a%20b",
	"/a?b":                              "/a?b=",
	"/.well-known":                      "/.well-known",
	"/...":                              "/...",
	"/https://evil.example":             "/", // two slashes in a row
	"/https:evil.example":               "/https:evil.example",
	"/javascript:alert(1)":              "/javascript:alert%281%29",
	// Other hosts, plainly.
	"":                           "/",
	"evil.example":               "/",
	"https://evil.example":       "/",
	"http://evil.example/":       "/",
	"HTTPS://evil.example":       "/",
	"//evil.example":             "/",
	"///evil.example":            "/",
	"////evil.example":           "/",
	"https:evil.example":         "/",
	"https:/evil.example":        "/",
	"https:///evil.example":      "/",
	"ftp://evil.example":         "/",
	"javascript:alert(1)":        "/",
	"JaVaScRiPt:alert(1)":        "/",
	"data:text/html,hi":          "/",
	"mailto:a@evil.example":      "/",
	"@evil.example":              "/",
	"?next=/":                    "/",
	"#top":                       "/",
	"workloads":                  "/",
	"../workloads":               "/",
	" /workloads":                "/",
	" //evil.example":            "/",
	"https://portal.example":     "/", // our own host, too: a path is all that is needed
	"https://portal.example@e.x": "/",
	"https://portal.example.e.x": "/",
	"//portal.example":           "/",
	"https://e.x/portal.example": "/",
	// Backslashes, which browsers take for slashes.
	`\evil.example`:         "/",
	`\\evil.example`:        "/",
	`/\evil.example`:        "/",
	`/\/evil.example`:       "/",
	`/\\evil.example`:       "/",
	`//\evil.example`:       "/",
	`/a\b`:                  "/",
	`/?q=\\evil.example`:    "/",
	"/%5cevil.example":      "/",
	"/%5Cevil.example":      "/",
	"/%5c%5cevil.example":   "/",
	"/a%5c..%5cb":           "/",
	"/%255cevil.example":    "/",
	`https:\\evil.example`:  "/",
	`https:/\evil.example/`: "/",
	// Encoded slashes and percent signs.
	"/%2fevil.example":      "/",
	"/%2Fevil.example":      "/",
	"/%2f%2fevil.example":   "/",
	"%2f%2fevil.example":    "/",
	"/%252f%252fe.example":  "/",
	"/a%2fb":                "/",
	"/%":                    "/",
	"/%zz":                  "/",
	"/100%25":               "/",
	"/?q=%zz":               "/",
	"/?a;b":                 "/",
	"/a//evil.example":      "/",
	"/a/..//evil.example":   "/",
	"/./evil.example":       "/",
	"/.//evil.example":      "/",
	"/../evil.example":      "/",
	"/a/../b":               "/",
	"/%2e%2e/evil.example":  "/",
	"/%2e//evil.example":    "/",
	"/..%2f..%2fevil":       "/",
	"/a/..":                 "/",
	"/..;/evil.example":     "/..;/evil.example",
	"/%2e%2e%2f%2fe.exampl": "/",
	// Characters that browsers drop, and line breaks.
	"/\t/evil.example":                  "/",
	"/\n/evil.example":                  "/",
	"/\r/evil.example":                  "/",
	"\t//evil.example":                  "/",
	"/\x00/evil.example":                "/",
	"/\x7f":                             "/",
	"/a\r\nSet-Cookie: a=b":             "/",
	"/%0d%0aSet-Cookie:%20a=b":          "/",
	"/%0a":                              "/",
	"/%09/evil.example":                 "/",
	"/%00":                              "/",
	"/a?b=%0d%0aLocation:%20//e.x":      "/a?b=%0D%0ALocation%3A+%2F%2Fe.x",
	"/java\nscript:alert(1)":            "/",
	"/\u2028/evil.example":              "/%E2%80%A8/evil.example",
	"/\u3000/evil.example":              "/%E3%80%80/evil.example",
	"/\u2044\u2044evil.example":         "/%E2%81%84%E2%81%84evil.example", // fraction slash
	"/\uff0fevil.example":               "/%EF%BC%8Fevil.example",          // fullwidth slash
	"/\u2215evil.example":               "/%E2%88%95evil.example",          // division slash
	"/\uff3cevil.example":               "/%EF%BC%BCevil.example",          // fullwidth backslash
	"/\u3002evil.example":               "/%E3%80%82evil.example",          // ideographic full stop
	"\uff0f/evil.example":               "/",                               // does not begin with our slash
	"/\xff\xfe/evil.example":            "/%FF%FE/evil.example",            // no UTF-8
	"/a:80@evil.example/":               "/a:80@evil.example/",             // after a slash it is a path
	"/" + strings.Repeat("a", 10<<10):   "/",                               // 10 KB
	"/" + strings.Repeat("ü", 900):      "/",                               // long only when written anew
	"/" + strings.Repeat("a", 500):      "/" + strings.Repeat("a", 500),    // long and fine
	"/?q=" + strings.Repeat("%41", 600): "/?q=" + strings.Repeat("A", 600), // shorter when written anew
}

func TestLocalPath(t *testing.T) {
	if len(targets) < 60 {
		t.Errorf("%d targets are too few", len(targets))
	}
	for target, want := range targets {
		if got := LocalPath(target); got != want {
			t.Errorf("%.80q: want %.80q, got %.80q", target, want, got)
		}
	}
}

func FuzzLocalPath(f *testing.F) {
	for target := range targets {
		f.Add(target)
	}
	home, err := url.Parse("https://portal.example/signin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, target string) {
		got := LocalPath(target)
		if again := LocalPath(got); again != got {
			t.Errorf("%q gave %q, and that %q", target, got, again)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
			t.Errorf("%q gave %q with an odd character", target, got)
		}
		// As a browser sees it: some characters dropped, backslashes as slashes (URL standard, "url parsing").
		seen := strings.NewReplacer("\t", "", "\n", "", "\r", "", "\\", "/").Replace(got)
		if !strings.HasPrefix(seen, "/") || strings.HasPrefix(seen, "//") {
			t.Errorf("%q gave %q, which leaves the site", target, got)
		}
		where, err := home.Parse(got)
		if err != nil || where.Host != home.Host || where.Scheme != home.Scheme || where.User != nil {
			t.Errorf("%q gave %q, which leads to %v, %v", target, got, where, err)
		}
		if decoded, err := url.PathUnescape(strings.SplitN(got, "?", 2)[0]); err != nil || strings.HasPrefix(decoded, "//") ||
			strings.Contains(decoded, `\`) {
			t.Errorf("%q gave %q, which is %q when decoded", target, got, decoded)
		}
	})
}
