package main

import (
	"context"
	_ "embed" // the look of the browser
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/chromium"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/views/story"
)

// finding is something wrong on a story, as the browser sees it.
type finding struct {
	Story string
	Width int
	What  string
}

// widths are those of a small laptop and of a phone.
var widths = []int{1366, 390}

// patience is of a whole run in a browser on a busy machine.
const patience = 18 * time.Minute

// TestStretchedTextsFit shows every page of the storybook with texts that are two fifths longer, at the widths of a
// laptop and of a phone: no text is cut, nothing makes the page wider than its window, and labels, buttons and heads of
// columns are texts of the catalog, which stand between brackets.
func TestStretchedTextsFit(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes in a browser")
	}
	program, err := chromium.Find()
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, st := range story.All() {
		if st.Page && st.Area != "layout" { // frames in the storybook have words of their own
			pages = append(pages, st.Slug())
		}
	}
	found := make(chan []finding, 1)
	server := httptest.NewServer(harness(t, pages, found))
	defer server.Close()
	profile, err := os.MkdirTemp("", "stretched-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(profile) }() // not t.TempDir: a helper of the browser may still write when it is ended
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	browser := chromium.Command(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--force-prefers-reduced-motion",
		"--window-size=1500,1000", "--user-data-dir="+profile, "--remote-debugging-port=0", server.URL+"/harness")
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = browser.Wait()
	}()
	select {
	case list := <-found:
		for _, f := range list {
			t.Errorf("%s?lang=%s, %d px wide: %s", f.Story, i18n.PseudoLanguage, f.Width, f.What)
		}
	case <-ctx.Done():
		t.Fatal("the browser has not come to the end")
	}
}

// harness is the storybook with a page that looks at every story in frames, which the storybook itself forbids, and
// posts what it found.
func harness(t *testing.T, pages []string, found chan<- []finding) http.Handler {
	mux := http.NewServeMux()
	book := handler()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { book.ServeHTTP(&framable{ResponseWriter: w}, r) })
	mux.HandleFunc("GET /harness", func(w http.ResponseWriter, _ *http.Request) {
		list, _ := json.Marshal(pages)
		sizes, _ := json.Marshal(widths)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<!DOCTYPE html><body><script>const pages = %s, widths = %s, lang = %q\n%s</script>", list,
			sizes, i18n.PseudoLanguage, look)
	})
	mux.HandleFunc("POST /found", func(_ http.ResponseWriter, r *http.Request) {
		var list []finding
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			t.Error(err)
		}
		found <- list
	})
	return mux
}

// framable leaves out what keeps a page from being shown in a frame.
type framable struct {
	http.ResponseWriter
	begun bool
}

func (f *framable) WriteHeader(status int) {
	f.begun = true
	f.Header().Del("X-Frame-Options")
	policy := strings.Replace(f.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'", "", 1)
	f.Header().Set("Content-Security-Policy", policy)
	f.ResponseWriter.WriteHeader(status)
}

func (f *framable) Write(b []byte) (int, error) {
	if !f.begun {
		f.WriteHeader(http.StatusOK)
	}
	return f.ResponseWriter.Write(b)
}

//go:embed testdata/stretched.js
var look string
