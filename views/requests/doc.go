// Package requests draws asks and their decisions: the list, one request as its asker sees it, and the inbox of those
// who decide.
package requests
