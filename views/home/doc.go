// Package home draws "My GPUs": what do I have, is it well, what ends soon, what waits for me.
package home
