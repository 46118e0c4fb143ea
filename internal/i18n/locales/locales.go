// Package locales are the messages of all languages. Importing it registers them with package i18n: programs and tests
// that put texts into words do so. Nothing else imports it, so that a changed text compiles no other package again.
package locales

import (
	"embed"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

//go:embed *.yaml
var files embed.FS

func init() { i18n.Register(files) }
