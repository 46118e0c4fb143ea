// Package platform draws the front page of those who answer for the fleet.
package platform
