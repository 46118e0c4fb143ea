package branding

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const drawn = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 viewBox="0 0 8 8"><defs><linearGradient id="a"><stop stop-color="#06c"/></linearGradient></defs>
 <path fill="url(#a)" d="M0 0h8v8z"/><use xlink:href="#a"/></svg>`

func picture(width, height int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func svg(inside string) []byte {
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg">` + inside + `</svg>`)
}

func TestALogoIsADrawing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		logo []byte
		want string // in the problem; "" for a good one
	}{
		"a drawing":                {[]byte(drawn), ""},
		"pixels":                   {picture(64, 32), ""},
		"too many pixels":          {picture(2049, 1), "at most 2048"},
		"half of a picture":        {picture(64, 32)[:20], "no whole PNG"},
		"too large":                {append(picture(1, 1), make([]byte, mostLogo)...), "larger than 128 KiB"},
		"a script":                 {svg(`<script>alert(1)</script>`), "<script>"},
		"an event":                 {svg(`<path onload="alert(1)"/>`), "onload"},
		"HTML in it":               {svg(`<foreignObject/>`), "<foreignObject>"},
		"a link":                   {svg(`<a href="https://example.org"/>`), "<a>"},
		"a picture from elsewhere": {svg(`<image href="https://example.org/x.png"/>`), "<image>"},
		"a use from elsewhere":     {svg(`<use href="https://example.org/x.svg#a"/>`), "href"},
		"a fill from elsewhere":    {svg(`<path fill="url(https://example.org/x.svg#a)"/>`), "fill"},
		"an import":                {svg(`<path style="@import 'x'"/>`), "style"},
		"a sheet":                  {svg(`<style>*{}</style>`), "<style>"},
		"a document type":          {[]byte(`<!DOCTYPE svg [<!ENTITY a "b">]>` + drawn[21:]), "document type"},
		"another instruction":      {[]byte(`<?xml-stylesheet href="x"?>` + drawn[21:]), "xml-stylesheet"},
		"half of a drawing":        {[]byte(drawn[:120]), "neither"},
		"HTML":                     {[]byte(`<html></html>`), "neither"},
		"a photograph":             {[]byte("\xff\xd8\xff\xe0"), "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := New("", c.logo)
			switch {
			case c.want == "" && (err != nil || b.Logo() == "" || b.Style() != ""):
				t.Errorf("want it shown, got %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

// TestAColorCanBeRead: also the one that the dark theme gets.
func TestAColorCanBeRead(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{"#0066cc": true, "#000000": true, "#7a0019": true, "#5c2d91": true,
		"#ffcc00": false, "#777777": false, "0066cc": false, "#06c": false, "#zzzzzz": false, "red": false} {
		c, err := ParseColor(text)
		if (err == nil) != good {
			t.Errorf("%s: want good %t, got %v", text, good, err)
		}
		if err != nil {
			continue
		}
		if got := c.Contrast(white); got < enough {
			t.Errorf("%s: white words on it have %.1f:1", text, got)
		}
		if got := c.dark().Contrast(lightestOf); got < enough {
			t.Errorf("%s: in the dark it is %s with %.1f:1", text, c.dark(), got)
		}
	}
	if got := (Color{}).Contrast(white); got < 20.9 || got > 21.1 {
		t.Errorf("black on white: want 21, got %.1f", got)
	}
}

// TestTheFilesRunNothing: a logo that somebody opens by itself is sandboxed; names change with the content.
func TestTheFilesRunNothing(t *testing.T) {
	t.Parallel()
	b, err := New("#7a0019", []byte(drawn))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ kind, part string }{
		b.Logo():  {"image/svg+xml", "<path"},
		b.Style(): {"text/css; charset=utf-8", "--pf-t--global--color--brand--default:#7a0019"},
	} {
		answer := httptest.NewRecorder()
		b.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		h := answer.Header()
		if h.Get("Content-Type") != want.kind || !strings.Contains(answer.Body.String(), want.part) ||
			!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") ||
			!strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: got %v %s", path, h, answer.Body)
		}
	}
	answer := httptest.NewRecorder()
	b.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, Prefix+"../x", nil))
	if answer.Code != http.StatusNotFound {
		t.Errorf("another file: want 404, got %d", answer.Code)
	}
	other, err := New("#7a001a", []byte(drawn+"\n"))
	if err != nil || other.Logo() == b.Logo() || other.Style() == b.Style() {
		t.Errorf("want other names, got %v", err)
	}
}
