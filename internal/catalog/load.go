package catalog

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
)

// Problem is an error in a catalog file, with its line.
type Problem struct {
	Line    int    // 1 and up; 0 where no line can be named
	Path    string // "sizes[2].cpu"
	Message string
	Text    i18n.Text // the same in the reader's language; zero where there is only Message
}

// Reason says to people what is wrong.
func (p Problem) Reason() i18n.Text {
	if p.Text.IsZero() {
		return i18n.Literal(p.Message)
	}
	return p.Text
}

// Error is the problem in one line, for a log or a terminal.
func (p Problem) Error() string {
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Line > 0 {
		text = fmt.Sprintf("line %d: %s", p.Line, text)
	}
	return text
}

// Parse reads a catalog and lists everything that is wrong with it, in the order of the file. Pools are the license
// pools that the site has: a size may only name one of them. With problems the catalog is not to be used.
func Parse(data []byte, pools ...license.Pool) (Catalog, []Problem) {
	c, _, problems := Read(data, pools...)
	return c, problems
}

// Read is Parse, and also lists sizes whose license pool does not license their vGPU: such a catalog can be used.
func Read(data []byte, pools ...license.Pool) (Catalog, []Mismatch, []Problem) {
	var c Catalog
	k := checker{reader: newReader(), pools: pools}
	k.read(data, &c)
	k.catalog(c)
	slices.SortStableFunc(k.problems, func(a, b Problem) int { return a.Line - b.Line })
	if len(k.problems) > 0 {
		return Catalog{}, nil, k.problems
	}
	mismatches := c.Mismatches(pools)
	for i := range mismatches {
		mismatches[i].Line = k.lines[mismatches[i].Path]
	}
	slices.SortStableFunc(c.Sizes, func(a, b Size) int { return a.Order - b.Order })
	slices.SortStableFunc(c.Images, func(a, b Image) int { return a.Order - b.Order })
	return c, mismatches, nil
}

//go:embed default.yaml
var defaultYAML []byte

// DefaultPools are the license pools that the first set names. Their seats are the site's to set.
func DefaultPools() []license.Pool {
	return []license.Pool{{Name: "nvidia-vws", Title: "NVIDIA RTX Virtual Workstation",
		Feature: "NVIDIA RTX Virtual Workstation"}}
}

// Default is the first set of sizes and images, for a site that has none of its own yet. A test keeps it free of
// problems.
func Default() Catalog {
	c, problems := Parse(defaultYAML, DefaultPools()...)
	if len(problems) > 0 {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = p.Error()
		}
		panic("catalog: default.yaml: " + strings.Join(lines, "; "))
	}
	return c
}

// DefaultYAML is Default as YAML, as a first file for a site.
func DefaultYAML() []byte { return slices.Clone(defaultYAML) }
