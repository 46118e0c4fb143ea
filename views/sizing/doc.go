// Package sizing draws the page that helps to choose a size: four questions, and under them what is proposed and why.
package sizing
