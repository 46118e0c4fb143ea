// Package account draws what belongs to the signed-in person: who the portal thinks they are, and their API tokens.
package account
