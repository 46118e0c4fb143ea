package branding

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Color is one in sRGB.
type Color struct{ R, G, B uint8 }

// Surfaces that links and buttons stand on in PatternFly 6: white, the gray behind the pages, the lightest dark one.
var (
	white      = Color{0xff, 0xff, 0xff}
	lightGray  = Color{0xf2, 0xf2, 0xf2}
	lightestOf = Color{0x38, 0x38, 0x38} // of the dark theme
)

// enough is the contrast of text to what is behind it (WCAG 2.2, 1.4.3).
const enough = 4.5

// ParseColor reads "#rrggbb" and says whether links of that color, and white words on it, can be read.
func ParseColor(text string) (Color, error) {
	var c Color
	if len(text) != 7 {
		return c, errors.New("is no color such as #0066cc")
	}
	if _, err := fmt.Sscanf(strings.ToLower(text), "#%02x%02x%02x", &c.R, &c.G, &c.B); err != nil {
		return c, errors.New("is no color such as #0066cc")
	}
	if got := c.Contrast(lightGray); got < enough {
		return c, fmt.Errorf("has a contrast of %.1f:1 to the pages, and text needs %.1f:1; take a darker one", got, enough)
	}
	return c, nil
}

func (c Color) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// Contrast is that of WCAG 2.2, from 1 to 21.
func (c Color) Contrast(o Color) float64 {
	a, b := c.luminance(), o.luminance()
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

func (c Color) luminance() float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// mixed has a part of another color, from 0 to 1.
func (c Color) mixed(o Color, part float64) Color {
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-part) + float64(b)*part)) }
	return Color{mix(c.R, o.R), mix(c.G, o.G), mix(c.B, o.B)}
}

// dark is the same color, light enough for the dark theme.
func (c Color) dark() Color {
	for part := 0.0; part < 1; part += 0.05 {
		if d := c.mixed(white, part); d.Contrast(lightestOf) >= enough {
			return d
		}
	}
	return white
}

// sheet overrides the tokens of PatternFly and our own that come from the brand's color.
func (c Color) sheet() string {
	black, d := Color{}, c.dark()
	light := tokens(c, c.mixed(black, 0.25), c.mixed(white, 0.88), c.mixed(white, 0.55))
	dark := tokens(d, d.mixed(white, 0.25), c.mixed(black, 0.55), c.mixed(black, 0.2))
	return fmt.Sprintf(":root:root{%[1]s}\n.pf-v6-theme-dark.pf-v6-theme-dark{%[2]s}\n"+
		"@media (prefers-color-scheme:dark){.pf-v6-theme-auto.pf-v6-theme-auto{%[2]s}}\n", light, dark)
}

func tokens(base, stronger, soft, line Color) string {
	var b strings.Builder
	for _, of := range []string{"color--brand", "text--color--link", "text--color--brand", "icon--color--brand",
		"border--color--brand"} {
		for state, c := range []Color{base, stronger, stronger} {
			fmt.Fprintf(&b, "--pf-t--global--%s--%s:%s;", of, [...]string{"default", "hover", "clicked"}[state], c)
		}
	}
	fmt.Fprintf(&b, "--pf-t--global--color--brand--subtle--default:%s;--pf-t--global--color--brand--subtle--hover:%s;"+
		"--pf-t--global--color--brand--subtle--clicked:%s;", soft, soft, line)
	fmt.Fprintf(&b, "--gp-brand-soft:%s;--gp-brand-line:%s;--gp-mark:%s", soft, line, base)
	return b.String()
}
