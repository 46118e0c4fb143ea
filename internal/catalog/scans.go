package catalog

import (
	"fmt"
	"net/url"
	"strings"
)

// ScanLink is the address of an image scanner's page for one image, with {registry}, {repository}, {tag} and {digest}
// in place of the image's parts: "https://scans.example.org/{repository}@{digest}".
type ScanLink string

// Of is the page for an image; "" where there is no scanner, or the image lacks a part that the address has.
func (l ScanLink) Of(image string) string {
	if l == "" {
		return ""
	}
	name, digest, _ := strings.Cut(image, "@")
	registry, rest := splitImage(name)
	repository, tag, _ := strings.Cut(rest, ":")
	address := string(l)
	for part, value := range map[string]string{"{registry}": registry, "{repository}": repository, "{tag}": tag,
		"{digest}": digest} {
		if value == "" && strings.Contains(address, part) {
			return ""
		}
		address = strings.ReplaceAll(address, part, escaped(value))
	}
	return address
}

var separators = strings.NewReplacer("%2F", "/", "%3A", ":", "+", "%20")

// escaped leaves what separates the parts of a reference as it is, in a path and in a query alike.
func escaped(part string) string {
	return separators.Replace(url.QueryEscape(part))
}

// Problem says what is wrong with the setting; nil for nothing.
func (l ScanLink) Problem() error {
	if l == "" {
		return nil
	}
	sample := l.Of("registry.example.org/team/image:1@sha256:" + strings.Repeat("0", 64))
	u, err := url.Parse(sample)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil:
		return fmt.Errorf("%q is no http or https address", l)
	case strings.ContainsAny(sample, "{}"):
		return fmt.Errorf("%q: it may have {registry}, {repository}, {tag} and {digest}", l)
	case !strings.Contains(string(l), "{repository}") && !strings.Contains(string(l), "{digest}"):
		return fmt.Errorf("%q would be the same page for every image: it needs {repository} or {digest}", l)
	case strings.ContainsAny(strings.SplitN(strings.TrimPrefix(string(l), u.Scheme+"://"), "/", 2)[0], "{}"):
		return fmt.Errorf("%q: the host must not come from the image", l)
	}
	return nil
}
