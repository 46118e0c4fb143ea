package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
