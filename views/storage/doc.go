// Package storage draws the storage that outlives workloads.
package storage
