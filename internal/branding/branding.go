// Package branding holds a site's own logo and color. New checks both at the start, since a logo is a file from outside
// and a color decides whether links can be read (branding.go: no script or reference in an SVG; color.go: contrast of
// WCAG 2.2 on light and dark). The Brand that it gives serves the files under Prefix.
package branding

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Prefix is where the files are served.
const Prefix = "/branding/"

// mostLogo bounds a file that every first visit loads, in bytes.
const mostLogo = 128 << 10

// Brand is what a site has instead of the portal's own; the zero value has nothing.
type Brand struct{ files map[string]file }

type file struct {
	kind    string
	content []byte
}

// New checks a color ("#rrggbb" or "") and a logo (the content of an SVG or PNG, or nothing).
func New(color string, logo []byte) (Brand, error) {
	b := Brand{files: map[string]file{}}
	if color != "" {
		c, err := ParseColor(color)
		if err != nil {
			return b, err
		}
		b.add("style", "css", "text/css; charset=utf-8", []byte(c.sheet()))
	}
	if len(logo) > 0 {
		kind, err := kindOf(logo)
		if err != nil {
			return b, err
		}
		b.add("logo", strings.TrimSuffix(strings.TrimPrefix(kind, "image/"), "+xml"), kind, logo)
	}
	return b, nil
}

// add names a file by its content, so that browsers may cache it forever.
func (b Brand) add(name, end, kind string, content []byte) {
	sum := sha256.Sum256(content)
	b.files[Prefix+name+"-"+hex.EncodeToString(sum[:6])+"."+end] = file{kind, content}
}

// Logo is the address of the logo; "" for the portal's own.
func (b Brand) Logo() string { return b.path("logo") }

// Style is the address of a sheet with the colors; "" for the portal's own.
func (b Brand) Style() string { return b.path("style") }

func (b Brand) path(name string) string {
	for path := range b.files {
		if strings.HasPrefix(path, Prefix+name+"-") {
			return path
		}
	}
	return ""
}

// ServeHTTP gives the files. A logo that is opened by itself runs nothing and loads nothing: an SVG can hold both.
func (b Brand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, known := b.files[r.URL.Path]
	if !known {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // panels within a sandbox of another site have no origin
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(f.content)
}

// kindOf is the media type of a logo that can be shown safely.
func kindOf(logo []byte) (string, error) {
	if len(logo) > mostLogo {
		return "", fmt.Errorf("is larger than %d KiB", mostLogo>>10)
	}
	if bytes.HasPrefix(logo, []byte("\x89PNG\r\n\x1a\n")) {
		c, err := png.DecodeConfig(bytes.NewReader(logo))
		if err != nil {
			return "", fmt.Errorf("is no whole PNG: %w", err)
		}
		if c.Width > 2048 || c.Height > 2048 {
			return "", fmt.Errorf("is %d × %d pixels; at most 2048 are shown", c.Width, c.Height)
		}
		return "image/png", nil
	}
	if err := safe(logo); err != nil {
		return "", err
	}
	return "image/svg+xml", nil
}

// drawings are the elements of SVG that draw; what can run, load, link or embed is not among them.
var drawings = []string{"svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan",
	"title", "desc", "defs", "linearGradient", "radialGradient", "stop", "clipPath", "mask", "use", "symbol", "metadata"}

// safe reports what in an SVG is more than a drawing.
func safe(logo []byte) error {
	d := xml.NewDecoder(bytes.NewReader(logo))
	d.Entity = map[string]string{}
	root := true
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && !root:
			return nil
		case err != nil:
			return errors.New("is neither a PNG nor a whole SVG")
		}
		switch at := token.(type) {
		case xml.Directive:
			return errors.New("has a document type; remove it")
		case xml.ProcInst:
			if at.Target != "xml" {
				return fmt.Errorf("has the instruction <?%s?>; remove it", at.Target)
			}
		case xml.StartElement:
			if root && at.Name.Local != "svg" {
				return errors.New("is neither a PNG nor an SVG")
			}
			root = false
			if err := drawing(at); err != nil {
				return err
			}
		}
	}
}

func drawing(e xml.StartElement) error {
	if !slices.Contains(drawings, e.Name.Local) {
		return fmt.Errorf("has the element <%s>, which is no drawing; remove it", e.Name.Local)
	}
	for _, a := range e.Attr {
		name, value := strings.ToLower(a.Name.Local), strings.ToLower(strings.TrimSpace(a.Value))
		// xmlns:xlink and the like declare names and load nothing
		loads := a.Name.Space != "xmlns" && name != "xmlns" && strings.Contains(value, "://") ||
			strings.Contains(value, "url(") && !strings.Contains(value, "url(#") ||
			name == "href" && !strings.HasPrefix(value, "#") || strings.Contains(value, "javascript:") ||
			strings.Contains(value, "@import")
		if strings.HasPrefix(name, "on") || loads {
			return fmt.Errorf("has the attribute %s of <%s>, which runs or loads something; remove it", a.Name.Local,
				e.Name.Local)
		}
	}
	return nil
}
