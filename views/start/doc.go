// Package start draws the page where one asks for a GPU: tiles and a table of sizes, and a bar with price, time of
// start and button that stays in view.
package start
