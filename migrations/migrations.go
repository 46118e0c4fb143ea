// Package migrations holds the numbered SQL that makes the portal's database, up and down, for goose. One set serves SQLite and PostgreSQL. What
// is released is never edited: a change adds a file, in steps that run with the code before and after it (add, backfill, switch, remove).
// schema.sql is what all of them together lead to; a test of internal/store asks that both stay equal.
package migrations

import "embed"

// Files are the migrations, NNNN_name.sql.
//
//go:embed 0*.sql
var Files embed.FS

// Schema is the resulting schema, for people to read and for the test that compares it.
//
//go:embed schema.sql
var Schema string
