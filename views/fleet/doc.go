// Package fleet draws what GPUs there are, what is free, and what is odd.
package fleet
