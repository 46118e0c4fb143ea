// Package start draws the page where one asks for a GPU: choices left, like a price list; right a summary that is
// always true.
package start
