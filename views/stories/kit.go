package stories

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// list shows several components one under the other, or in a row.
func list(class string, parts ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, `<div class="`+class+`">`); err != nil {
			return err
		}
		for _, p := range parts {
			if err := p.Render(ctx, w); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, `</div>`)
		return err
	})
}

func row(parts ...templ.Component) templ.Component { return list("gp-actions", parts...) }

func stack(parts ...templ.Component) templ.Component { return list("gp-sections", parts...) }

// within puts children into a component that takes them.
func within(outer templ.Component, children ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return outer.Render(templ.WithChildren(ctx, templ.Join(children...)), w)
	})
}

func words(s string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, templ.EscapeString(s))
		return err
	})
}
