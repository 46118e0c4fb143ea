// Package audit draws the record of who did what.
package audit
