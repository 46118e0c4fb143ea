package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// TestTitlesOfSizesAreInTheReadersLanguage: a size is called in the language of the page wherever it is named.
func TestTitlesOfSizesAreInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for lang, want := range map[string]string{"en": "Whole H100", "de": "Ganze H100", "zh": "整块 H100", "ko": "전체 H100"} {
		for _, path := range []string{"/start", "/requests", "/requests/r-anna0"} {
			answer := w.Do(webtest.Anna, lang, httptest.NewRequest(http.MethodGet, path, nil))
			if text := textOf(read(t, answer, http.StatusOK).Find("main")); !strings.Contains(text, want) {
				t.Errorf("%s in %s does not name %s", path, lang, want)
			}
		}
	}
}

// TestWhatWouldGoIsCalledAsItsReaderDoes: a size that would leave the catalog while somebody holds it.
func TestWhatWouldGoIsCalledAsItsReaderDoes(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for lang, want := range map[string]string{"en": "Whole H100", "de": "Ganze H100", "zh": "整块 H100", "ko": "전체 H100"} {
		text := strings.ReplaceAll(string(catalog.DefaultYAML()), "name: h100\n", "name: h100-next\n")
		other := url.Values{"text": {text}, "base": {"0"}}
		gone := part(read(t, w.Do(webtest.Dora, lang, formPost("/admin/sizes/edit", other)), http.StatusOK), "removes")
		if !strings.Contains(textOf(gone), want) {
			t.Errorf("what would go in %s does not name %s", lang, want)
		}
	}
}

func formPost(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}
