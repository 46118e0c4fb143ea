// Package storetest is the suite that every store must pass, run on SQLite and on a real PostgreSQL, and the PostgreSQL
// server that tests and benchmarks of other packages start as well.
package storetest
