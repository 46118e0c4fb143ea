package layout

import "context"

// Brand is a site's own look: addresses of its logo and of a sheet with its colors, "" for the portal's own.
type Brand struct{ Logo, Style string }

type brandKey struct{}

// WithBrand gives the pages that are drawn with this context a look.
func WithBrand(ctx context.Context, b Brand) context.Context {
	return context.WithValue(ctx, brandKey{}, b)
}

func brandOf(ctx context.Context) Brand {
	b, _ := ctx.Value(brandKey{}).(Brand)
	return b
}
