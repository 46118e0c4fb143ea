package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"
)

// preparedPool is a pool of two connections to a table of ten numbers.
func preparedPool(t *testing.T, limit int) *prepared {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "numbers.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(2)
	for _, statement := range []string{"CREATE TABLE numbers (n INTEGER)",
		"INSERT INTO numbers VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return newPrepared(db, limit)
}

func (p *prepared) numbers(ctx context.Context, query string, args ...any) (out []int, err error) {
	return numbersOf(p.QueryContext(ctx, query, args...))
}

func numbersOf(rows *sql.Rows, err error) (out []int, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Err()
}

// Many readers of few connections meet the same statements at the same time, one within the rows of the other.
func TestPreparedStatementsOfManyReaders(t *testing.T) {
	p := preparedPool(t, 3)
	var readers sync.WaitGroup
	for i := range 8 {
		readers.Go(func() {
			for j := range 200 {
				from := (i + j) % 10
				query := fmt.Sprintf("SELECT n FROM numbers WHERE n >= ? AND n < %d ORDER BY n", 10+j%5)
				got, err := p.numbers(t.Context(), query, from)
				if err != nil || len(got) != 10-from || got[0] != from {
					t.Errorf("from %d: %v, %v", from, got, err)
					return
				}
			}
		})
	}
	readers.Wait()
	if len(p.kept) != 3 {
		t.Errorf("want as many statements kept as the limit says, got %d", len(p.kept))
	}
	rows, err := p.QueryContext(t.Context(), "SELECT n FROM numbers ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal("no row")
	}
	if got, err := p.numbers(t.Context(), "SELECT n FROM numbers ORDER BY n"); err != nil || len(got) != 10 {
		t.Errorf("the same statement while its rows are read: %v, %v", got, err)
	}
}

// What is not kept, and what is wrong, is answered as without.
func TestStatementsThatAreNotKept(t *testing.T) {
	p := preparedPool(t, 10)
	list := make([]any, mostParameters+1)
	for i := range list {
		list[i] = i
	}
	in := "SELECT n FROM numbers WHERE n IN (?" + strings.Repeat(", ?", mostParameters) + ")"
	if got, err := p.numbers(t.Context(), in, list...); err != nil || len(got) != 10 {
		t.Errorf("a long list: %v, %v", got, err)
	}
	if _, err := p.numbers(t.Context(), "SELECT n FROM letters"); err == nil ||
		!strings.Contains(err.Error(), "no such table") {
		t.Errorf("want to hear of the table, got %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.numbers(gone, "SELECT n FROM numbers"); !errors.Is(err, context.Canceled) {
		t.Errorf("want the end of the call, got %v", err)
	}
	if len(p.kept) != 0 {
		t.Errorf("want none kept, got %d", len(p.kept))
	}
	if got, err := p.numbers(t.Context(), "SELECT n FROM numbers"); err != nil || len(got) != 10 || len(p.kept) != 1 {
		t.Errorf("after it: %v, %v, %d kept", got, err, len(p.kept))
	}
	if _, err := p.Exec("ALTER TABLE numbers ADD COLUMN name TEXT"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.numbers(t.Context(), "SELECT n FROM numbers"); err != nil || len(got) != 10 {
		t.Errorf("after the table has changed: %v, %v", got, err)
	}
}

// TestStatementsOfTransactions: they are prepared once a transaction has ended, and never wait for a connection in one.
func TestStatementsOfTransactions(t *testing.T) {
	p := preparedPool(t, 3)
	const query = "SELECT n FROM numbers WHERE n >= ? ORDER BY n"
	for _, kept := range []bool{false, true} {
		var open [2]gorm.ConnPool // all connections
		for i := range open {
			tx, err := p.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			open[i] = tx
		}
		if (p.known(query) != nil) != kept {
			t.Errorf("want the statement kept %v", kept)
		}
		for _, tx := range open {
			for from := range 10 {
				var n int
				if err := tx.QueryRowContext(t.Context(), query, from).Scan(&n); err != nil || n != from {
					t.Errorf("from %d: %d, %v", from, n, err)
				}
				if got, err := numbersOf(tx.QueryContext(t.Context(), query, from)); err != nil || len(got) != 10-from {
					t.Errorf("from %d: %v, %v", from, got, err)
				}
			}
		}
		if err := errors.Join(open[0].(gorm.TxCommitter).Commit(), open[1].(gorm.TxCommitter).Rollback()); err != nil {
			t.Fatal(err)
		}
	}
}
