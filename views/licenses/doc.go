// Package licenses draws license pools and who holds their seats.
package licenses
