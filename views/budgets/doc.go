// Package budgets shows what teams may use in a month, what is left of it, and the book behind each number.
package budgets
