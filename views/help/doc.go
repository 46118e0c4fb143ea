// Package help shows the texts of docs/ in the look of the portal.
package help
