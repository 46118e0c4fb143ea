// Package embed draws what pages of other sites show of the portal (Document), the form that makes an address for it
// (New), and the list of addresses (List).
package embed
