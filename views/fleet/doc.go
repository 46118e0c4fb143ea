// Package fleet draws what GPUs there are, what is free, and what needs a look.
package fleet
