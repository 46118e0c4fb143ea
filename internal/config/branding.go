package config

import (
	"fmt"
	"os"

	"github.com/gpu-portal/gpu-portal/internal/branding"
)

// Branding is a site's own look.
type Branding struct {
	// file of the logo beside the portal's name, a PNG or an SVG that only draws, at most 128 KiB; it stands on light and
	// on dark; default the portal's own
	Logo string `json:"logo,omitempty"`
	// color of buttons and links, "#0066cc", dark enough to be read on a light page; that of the dark theme is made from
	// it; default the portal's own
	Color string `json:"color,omitempty"`
}

// Load reads and checks both.
func (b Branding) Load() (branding.Brand, error) {
	none := branding.Brand{}
	if _, err := branding.New(b.Color, nil); err != nil {
		return none, fmt.Errorf("branding.color: %q %w", b.Color, err)
	}
	if b.Logo == "" {
		return branding.New(b.Color, nil)
	}
	logo, err := os.ReadFile(b.Logo)
	if err != nil {
		return none, fmt.Errorf("branding.logo: %w", err)
	}
	out, err := branding.New(b.Color, logo)
	if err != nil {
		return none, fmt.Errorf("branding.logo: %s %w", b.Logo, err)
	}
	return out, nil
}

func (b Branding) problems() []error {
	if _, err := b.Load(); err != nil {
		return []error{err}
	}
	return nil
}
