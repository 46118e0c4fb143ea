// Package docs holds the texts for people who run, use or change the portal, and the tests that keep them true.
package docs

import "embed"

// Pages are the texts, for the portal to show.
//
//go:embed *.md
var Pages embed.FS
