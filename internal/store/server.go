package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Server is the version and settings of the database server, for health checks.
type Server struct {
	Engine, Version string
	ReadOnly        bool     // it takes no writes: a standby, or set so
	Unsafe          []string // settings with which a crash loses what was acknowledged
	Encoding        string   // of PostgreSQL
	Connections     int      // most that PostgreSQL lets in; 0: no bound
}

// Server describes the server and how it is set.
func (s *Store) Server(ctx context.Context) (Server, error) {
	d, err := s.dialect.server(ctx)
	if err != nil {
		return d, failure(fmt.Errorf("describe the server: %w", err))
	}
	return d, nil
}

func (f *sqliteFile) server(ctx context.Context) (Server, error) {
	d := Server{Engine: "SQLite"}
	return d, f.read.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&d.Version)
}

func (p *postgresServer) server(ctx context.Context) (Server, error) {
	d := Server{Engine: "PostgreSQL"}
	rows, err := p.read.QueryContext(ctx, `SELECT name, setting FROM pg_settings WHERE name IN ('server_version', `+
		`'max_connections', 'fsync', 'full_page_writes', 'synchronous_commit', 'default_transaction_read_only', `+
		`'server_encoding') ORDER BY name`)
	if err != nil {
		return d, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := d.scan(rows); err != nil {
			return d, err
		}
	}
	if err := rows.Err(); err != nil {
		return d, err
	}
	var standby bool
	err = p.read.QueryRowContext(ctx, "SELECT pg_is_in_recovery()").Scan(&standby)
	d.ReadOnly = d.ReadOnly || standby
	return d, err
}

func (d *Server) scan(rows *sql.Rows) error {
	var name, value string
	if err := rows.Scan(&name, &value); err != nil {
		return err
	}
	switch name {
	case "server_version":
		d.Version = value
	case "server_encoding":
		d.Encoding = value
	case "max_connections":
		_, err := fmt.Sscan(value, &d.Connections)
		return err
	case "default_transaction_read_only":
		d.ReadOnly = value == "on"
	case "fsync", "full_page_writes", "synchronous_commit":
		if value == "off" {
			d.Unsafe = append(d.Unsafe, name+" = off")
		}
	}
	return nil
}
