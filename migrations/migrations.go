// Package migrations holds the numbered SQL of the portal's database, up and down, for goose. One set serves SQLite and
// PostgreSQL. 0001_initial.sql is the whole schema: nothing has been released yet, so until the first release it is
// edited in place. From then on a released file is never edited: a change adds a file, in steps that run with the code
// before and after it (add, backfill, switch, remove). A file alters one table: goose runs it in one transaction, and
// one that waits for the locks of two tables can deadlock with the replicas that still run.
package migrations

import "embed"

// Files are the migrations, NNNN_name.sql.
//
//go:embed 0*.sql
var Files embed.FS
