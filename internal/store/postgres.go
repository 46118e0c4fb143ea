package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// Numbers of the advisory locks; all begin alike, so that a person who looks into pg_locks can tell whose they are.
const (
	migrateLock = 0x6770_7500 + iota // "gpu" and a number
	grantLock
	leaderLock
)

// postgresServer is a database on a PostgreSQL server, 13 or newer. Connections must be sessions: a pooler in
// transaction mode breaks the leader's lock.
type postgresServer struct {
	config *pgx.ConnConfig
	write  *sql.DB // transactions that write, and the leader's session
	read   *sql.DB
}

func openPostgres(ctx context.Context, address string, opts Options) (*Store, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err) // pgx leaves the password out
	}
	readers := max(1, opts.Connections*3/5)
	p := &postgresServer{config: config}
	p.write = p.pool(max(2, opts.Connections-readers), opts.Statement, opts.Statement)
	p.read = p.pool(readers, opts.Statement, min(opts.ReadWait, opts.Statement))
	for _, db := range p.pools() {
		if err := db.PingContext(ctx); err != nil {
			return nil, errors.Join(failure(fmt.Errorf("reach the database: %w", err)), p.close())
		}
	}
	write, err := gorm.Open(postgres.New(postgres.Config{Conn: p.write}), opts.gormConfig())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), p.close())
	}
	read, err := gorm.Open(postgres.New(postgres.Config{Conn: newShares(p.read, readers, opts.ReadWait)}),
		opts.gormConfig())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), p.close())
	}
	return newStore(p, write, read, opts), nil
}

// pool opens connections on which no statement, lock or idle transaction can last forever. What the address itself
// sets goes first.
func (p *postgresServer) pool(connections int, statement, lock time.Duration) *sql.DB {
	config := p.config.Copy()
	for name, value := range map[string]string{
		"application_name":                    "gpu-portal",
		"timezone":                            "UTC",
		"statement_timeout":                   strconv.FormatInt(statement.Milliseconds(), 10),
		"lock_timeout":                        strconv.FormatInt(lock.Milliseconds(), 10),
		"idle_in_transaction_session_timeout": "15000", // of a process that stands still; others wait for its locks
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	db.SetConnMaxLifetime(30 * time.Minute)
	return db
}

// lockGrants waits for the one lock that every grant takes. Each statement after it sees what the grants before have
// committed, for the transaction is READ COMMITTED and a lock is let go only after its commit can be seen.
func (p *postgresServer) lockGrants(tx *gorm.DB) error {
	return tx.Exec("SELECT pg_advisory_xact_lock(?)", grantLock).Error
}

// lockMeter waits for those who are writing to the meter and makes the others wait; everybody may read on.
func (p *postgresServer) lockMeter(tx *gorm.DB) error {
	return tx.Exec("LOCK TABLE meter_intervals IN SHARE ROW EXCLUSIVE MODE").Error
}

func (p *postgresServer) epochQuery() string {
	return "SELECT epoch, set_config('idle_in_transaction_session_timeout', '5000', true) AS timeout " +
		"FROM leadership WHERE id = 1 FOR SHARE"
}

func (p *postgresServer) oneWriter() bool { return false }

// begin says the isolation, whatever the server's default: lockGrants and flush count on it.
func (p *postgresServer) clock() string {
	return "SELECT CAST(floor(extract(epoch FROM clock_timestamp())) AS BIGINT)"
}

func (p *postgresServer) begin() []*sql.TxOptions {
	return []*sql.TxOptions{{Isolation: sql.LevelReadCommitted}}
}

func (p *postgresServer) pools() map[string]*sql.DB {
	return map[string]*sql.DB{"read": p.read, "write": p.write}
}

// migrate holds a lock on a connection of its own, so that of several portals that start at once one migrates and the
// others then find nothing to do. A migration may take as long as it takes.
func (p *postgresServer) migrate(ctx context.Context) error {
	db := p.pool(3, 0, 0)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // lets the lock go with the session
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrateLock); err != nil {
		return err
	}
	if err := migrateUp(ctx, goose.DialectPostgres, db); err != nil {
		return err
	}
	if err := p.guardInsertOnly(ctx, db); err != nil {
		return err
	}
	return p.createOperatorViews(ctx, db)
}

// insertOnly are the tables whose rows are only ever added: the audit record, and the books of budgets.
var insertOnly = []string{"audit_events", "budget_transactions"}

// guardInsertOnly lets the server itself refuse to change such a table. An owner of the table could take the guard away
// again; an account that is granted what GrantTo says cannot. An account that is not the owner finds the guard there,
// or leaves it to the owner.
func (p *postgresServer) guardInsertOnly(ctx context.Context, db *sql.DB) error {
	for _, table := range insertOnly {
		var there, owner bool
		err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = $1::regclass AND tgname = $2),
			pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = $1::regclass), 'USAGE')`, table,
			table+"_insert_only").Scan(&there, &owner)
		if err != nil {
			return err
		}
		if there || !owner {
			continue
		}
		_, err = db.ExecContext(ctx, `
			CREATE OR REPLACE FUNCTION `+table+`_refuse() RETURNS trigger LANGUAGE plpgsql AS
				$$ BEGIN RAISE EXCEPTION 'the table % is insert-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege'; END $$;
			CREATE TRIGGER `+table+`_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON `+table+
			` FOR EACH STATEMENT EXECUTE FUNCTION `+table+`_refuse();`)
		if err != nil {
			return err
		}
	}
	return nil
}

// GrantTo lets another account of the same server run the portal on a schema that it does not own: it may read and
// write every table, but only add to those that are insert-only. PostgreSQL only; the account must exist.
func (s *Store) GrantTo(ctx context.Context, account string) error {
	if _, ok := s.dialect.(*postgresServer); !ok {
		return errors.New("only PostgreSQL has accounts to grant to; this database is SQLite")
	}
	name := pgx.Identifier{account}.Sanitize()
	return failure(s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		for _, statement := range []string{
			"GRANT USAGE ON SCHEMA public TO " + name,
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + name,
			"REVOKE UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON " + strings.Join(insertOnly, ", ") + " FROM " + name,
			"REVOKE INSERT, UPDATE, DELETE ON " + operatorViewNames() + " FROM " + name,
		} {
			if err := tx.Exec(statement).Error; err != nil {
				return err
			}
		}
		return nil
	}))
}

func (p *postgresServer) close() error { return errors.Join(p.read.Close(), p.write.Close()) }
