// Package sizes draws the catalogue for administrators: what is on offer, what the nodes propose, who changed what, and
// the editor.
package sizes
