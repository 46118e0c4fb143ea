package markup_test

import (
	"context"
	"errors"
	"html"
	"io"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/views/markup"
)

func written(t *testing.T, c templ.Component, children templ.Component) string {
	t.Helper()
	var out strings.Builder
	ctx := markup.WithOutermost(context.Background())
	if children != nil {
		ctx = templ.WithChildren(ctx, children)
	}
	if err := c.Render(ctx, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTextIsEscaped: as html.EscapeString does it, wherever the sign stands.
func TestTextIsEscaped(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"", "plain", "<", `a&b<c>d"e'f`, "'''", "ends with &", "größer \x00 \xff"} {
		want := html.EscapeString(words)
		if got := written(t, markup.Component(func(h *markup.Writer) { h.Text(words) }), nil); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	got := written(t, markup.Component(func(h *markup.Writer) {
		h.Attr("id", "")
		h.Attr("title", `"x"`)
		h.Always("value", "")
		h.URL("href", "javascript:alert(1)")
		h.Attrs(templ.Attributes{"b": "<", "a": true})
	}), nil)
	if want := ` title="&#34;x&#34;" value="" href="about:invalid#TemplFailedSanitizationURL" a b="&lt;"`; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func words(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	})
}

func box(name string) templ.Component {
	return markup.Around(func(h *markup.Writer, inside func()) {
		h.Raw("<" + name + ">")
		inside()
		h.Raw("</" + name + ">")
	})
}

// TestOrderIsKept: between what is written by hand and templates, in each other; children belong to one component alone.
func TestOrderIsKept(t *testing.T) {
	t.Parallel()
	byHand := markup.Component(func(h *markup.Writer) {
		h.Raw("1")
		h.Put(words("2"))
		h.Raw("3")
		h.Put(box("i"))
		h.Put(nil)
		h.Put(markup.Component(func(h *markup.Writer) { h.Raw("4") }))
	})
	if want, got := "<b>123<i></i>4</b>", written(t, box("b"), byHand); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

// TestAnErrorIsTold: of a component within, after which nothing more is written.
func TestAnErrorIsTold(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	var out strings.Builder
	err := markup.Component(func(h *markup.Writer) {
		h.Raw("a")
		h.Put(templ.ComponentFunc(func(context.Context, io.Writer) error { return away }))
		h.Put(words("b"))
		h.Raw("c")
	}).Render(context.Background(), &out)
	if !errors.Is(err, away) || out.String() != "a" {
		t.Errorf("want the error after a, got %v after %q", err, out.String())
	}
}
