// Package licences draws licence pools and who holds their seats.
package licences
