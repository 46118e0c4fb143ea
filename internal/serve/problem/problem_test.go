package problem

import (
	"errors"
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
)

// TestEveryKindHasALook walks the kinds, so that a new one must say what it looks like.
func TestEveryKindHasALook(t *testing.T) {
	bundle := i18n.MustLoad()
	for _, kind := range fault.Kinds() {
		for _, lang := range []string{"en", "de"} {
			d := Of(fault.New(kind, i18n.T("fault.internal")), bundle.For(lang), "abc")
			if d.Status < 400 || d.Title == "" || d.Title == looks[kind].title || d.Detail == "" {
				t.Errorf("%s in %s: want a status and words, got %+v", kind, lang, d)
			}
		}
	}
}

func TestWhatIsNoFaultSaysNothingOfItsCause(t *testing.T) {
	d := Of(errors.New("password=hunter2"), i18n.MustLoad().For("en"), "abc")
	if d.Status != http.StatusInternalServerError || d.Detail != i18n.MustLoad().For("en").S("fault.internal") {
		t.Errorf("want a plain 500, got %+v", d)
	}
	if d.Instance != "urn:gpu-portal:request:abc" {
		t.Errorf("want the request id, got %q", d.Instance)
	}
}

func TestEchoErrorsBecomeFaults(t *testing.T) {
	cases := map[int]int{404: 404, 405: 404, 413: 413, 403: 403, 400: 422, 502: 500}
	for code, want := range cases {
		if got := Of(echo.NewHTTPError(code), i18n.MustLoad().For("en"), "").Status; got != want {
			t.Errorf("echo %d: want %d, got %d", code, want, got)
		}
	}
}

func TestFieldsAreSaidInTheReadersLanguage(t *testing.T) {
	err := fault.InvalidFields([]fault.Field{{Name: "lease", Reason: i18n.T("fault.internal")}})
	d := Of(err, i18n.MustLoad().For("de"), "")
	if len(d.Fields) != 1 || d.Fields[0].Name != "lease" ||
		d.Fields[0].Reason != i18n.MustLoad().For("de").S("fault.internal") {
		t.Errorf("want the German reason of lease, got %+v", d.Fields)
	}
	if want := "Eine Angabe muss geändert werden."; d.Detail != want {
		t.Errorf("want %q, got %q", want, d.Detail)
	}
}
