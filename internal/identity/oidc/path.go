package oidc

import (
	"net/url"
	"slices"
	"strings"
)

// maxPath keeps a return target small enough for the cookie that carries it.
const maxPath = 2000

// LocalPath keeps a return target on this site: a path of ours, parsed and written anew, with its query. Anything else
// is "/". Browsers and proxies disagree on backslashes, on encoded slashes and on dots, so a path with any of these is
// not taken at all.
func LocalPath(target string) string {
	if len(target) > maxPath || !strings.HasPrefix(target, "/") || strings.ContainsFunc(target, unsafe) {
		return "/"
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !localPath(u) {
		return "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "/"
	}
	clean := (&url.URL{Path: u.Path, RawQuery: query.Encode()}).String()
	if len(clean) > maxPath || !strings.HasPrefix(clean, "/") || strings.HasPrefix(clean, "//") {
		return "/"
	}
	return clean
}

// unsafe finds control characters, which browsers drop, and backslashes, which they take for slashes.
func unsafe(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }

// localPath looks at the path as decoded once: whoever decodes it, once or twice, must see the same segments.
func localPath(u *url.URL) bool {
	written := strings.ToLower(u.EscapedPath())
	if strings.Contains(written, "%2f") || strings.Contains(u.Path, "//") || strings.Contains(u.Path, "%") ||
		strings.ContainsFunc(u.Path, unsafe) {
		return false
	}
	segments := strings.Split(u.Path, "/")
	return !slices.Contains(segments, ".") && !slices.Contains(segments, "..")
}
