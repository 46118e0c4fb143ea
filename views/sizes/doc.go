// Package sizes draws the catalog for administrators: what is on offer, what the nodes propose, who changed what, and
// the editor.
package sizes
