//go:build !unix

package store

import "os"

// lockFile only marks the place: where there is no flock, SQLite's own locks keep two processes from writing at once,
// and nothing says so clearly.
func lockFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) }
