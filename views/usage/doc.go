// Package usage draws a month's statement: what was held, and what it costs.
package usage
