// Package idle shows what happens to GPUs that nobody uses: the settings as a form, and what another setting would do.
package idle
