package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/migrations"
)

// Migrate brings the schema up to date. It may be called by several portals at once, and when there is nothing to do.
func (s *Store) Migrate(ctx context.Context) error {
	s.migrates.Lock()
	defer s.migrates.Unlock()
	if err := s.migrate(ctx); err != nil {
		return failure(fmt.Errorf("migrate: %w", err))
	}
	if _, err := s.Setting(ctx, databaseID); !fault.Is(err, fault.NotFound) {
		return err
	}
	_, err := s.PutSetting(ctx, databaseID, rand.Text())
	return err
}

func migrateUp(ctx context.Context, dialect goose.Dialect, db *sql.DB) error {
	provider, err := goose.NewProvider(dialect, db, migrations.Files)
	if err != nil {
		return err
	}
	if err := notNewer(ctx, provider); err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// notNewer refuses a database that a newer program has migrated: this one would write to a schema that it does not
// know.
func notNewer(ctx context.Context, provider *goose.Provider) error {
	have, err := provider.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	if want := sources[len(sources)-1].Version; have > want {
		return fmt.Errorf("%w: its schema is at version %d, and this program knows versions up to %d. Run the newer "+
			"program, or restore a backup from before the upgrade", ErrNewer, have, want)
	}
	return nil
}

// ErrNewer is in the error of Migrate for a database of a newer program.
var ErrNewer = errors.New("the database belongs to a newer version of the portal")

// SchemaVersion says which migration the database is at and which one this program knows last; have is 0 for an empty
// database.
func (s *Store) SchemaVersion(ctx context.Context) (have, want int64, err error) {
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil || len(files) == 0 {
		return 0, 0, errors.Join(err, errors.New("no migrations are built in"))
	}
	if want, err = goose.NumericComponent(files[len(files)-1]); err != nil {
		return 0, 0, err
	}
	if !s.db.Migrator().HasTable(goose.DefaultTablename) {
		return 0, want, nil
	}
	err = s.at(ctx).Raw("SELECT COALESCE(MAX(version_id), 0) FROM " + goose.DefaultTablename + " WHERE is_applied").Scan(
		&have).Error
	return have, want, failure(err)
}
