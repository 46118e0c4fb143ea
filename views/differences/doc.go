// Package differences shows what database and clusters do not agree on, and asks what is right.
package differences
