package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the "pgx" driver

	"github.com/gpu-portal/gpu-portal/internal/store"
)

// template is the migrated database that each test gets a copy of: copying takes a fraction of migrating.
const template = "portal_template"

// Postgres gives the address of a fresh, migrated database on a PostgreSQL server that the test program starts from the
// programs on this machine, once, with a clock of Asia/Kolkata. The database is dropped with the test, the server ends
// with the program. Without PostgreSQL on the machine the test is skipped. A benchmark's server syncs its disk, a
// test's does not.
func Postgres(t testing.TB) string {
	t.Helper()
	s := running(t)
	return s.database(t, template)
}

// EmptyPostgres is Postgres without a schema.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	return running(t).database(t, "template0")
}

// server is one PostgreSQL.
type server struct {
	folder string
	once   sync.Once
	err    error
	clones atomic.Int64
	admin  *sql.DB
	copies sync.Mutex // copying a template wants nobody else to be at it
	life   *os.File   // the server ends when this pipe closes, which the kernel does for a dead program too

	// strategy is of CREATE DATABASE, where the server knows it (PostgreSQL 15). Copying files takes a quarter of the CPU
	// of the default, which writes each block to the log of a server that need not survive (0.08 s against 0.33 s).
	strategy string
}

var quick, synced server

func running(t testing.TB) *server {
	t.Helper()
	s, sync := &quick, "off"
	if _, benchmark := t.(*testing.B); benchmark {
		s, sync = &synced, "on"
	}
	programs, ok := programs()
	if !ok {
		t.Fatal(errNoPrograms)
	}
	s.once.Do(func() { s.err = s.start(programs, sync) })
	if s.err != nil {
		t.Fatalf("start PostgreSQL: %v", s.err)
	}
	return s
}

var errNoPrograms = errors.New("no PostgreSQL programs in PATH or /usr/lib/postgresql/*/bin; on Debian: " +
	"apt-get install postgresql")

// programs is the folder with initdb and postgres.
func programs() (string, bool) {
	folders := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin"} {
		found, _ := filepath.Glob(pattern)
		folders = append(folders, found...)
	}
	for _, folder := range folders {
		_, noServer := os.Stat(filepath.Join(folder, "postgres"))
		_, noInit := os.Stat(filepath.Join(folder, "initdb"))
		if noServer == nil && noInit == nil {
			return folderOf(filepath.Join(folder, "postgres")), true
		}
	}
	return "", false
}

// folderOf is the folder of what a path leads to: what is in PATH may be links to some of the programs only.
func folderOf(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return filepath.Dir(path)
}

// Program finds one of PostgreSQL's programs, such as pg_dump.
func Program(name string) (string, error) {
	folder, ok := programs()
	if !ok {
		return "", errNoPrograms
	}
	path := filepath.Join(folder, name)
	_, err := os.Stat(path)
	return path, err
}

func (s *server) start(programs, sync string) error {
	folder, err := os.MkdirTemp("/tmp", "gpu-portal-pg-") // short: a socket's path has at most 107 bytes
	if err != nil {
		return err
	}
	s.folder = folder
	as, err := ordinaryUser(folder)
	if err != nil {
		return err
	}
	if err := s.run(programs, as, sync); err != nil {
		log, _ := os.ReadFile(filepath.Join(folder, "log"))
		return fmt.Errorf("%w\n%s", err, log)
	}
	if s.admin, err = sql.Open("pgx", s.address("postgres")); err != nil {
		return err
	}
	s.admin.SetMaxOpenConns(4)
	return s.makeTemplate()
}

// ordinaryUser is who runs the server: PostgreSQL refuses to be root. Nil means this user.
func ordinaryUser(folder string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(folder, uid, gid); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// script makes the cluster, serves until its input ends, and cleans up after itself, so that no way of ending the tests
// leaves a server behind.
const script = `
"$1/initdb" -D "$2/data" -U portal -A trust -E UTF8 --locale=C --no-sync >"$2/log" 2>&1 || exit 1
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c timezone=Asia/Kolkata -c log_timezone=Asia/Kolkata -c max_connections=300 \
	-c fsync="$3" -c full_page_writes="$3" -c synchronous_commit="$3" -c autovacuum_naptime=10min >>"$2/log" 2>&1 &
server=$!
cat >/dev/null
kill -QUIT $server
wait $server
rm -rf "$2"
`

func (s *server) run(programs string, as *syscall.SysProcAttr, sync string) error {
	command := exec.Command("/bin/sh", "-c", script, "sh", programs, s.folder, sync)
	command.Dir, command.SysProcAttr = s.folder, as
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=Asia/Kolkata"}
	input, output, err := os.Pipe()
	if err != nil {
		return err
	}
	command.Stdin, s.life = input, output
	if err := command.Start(); err != nil {
		return err
	}
	_ = input.Close()
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			return fmt.Errorf("the server ended: %w", err)
		default:
		}
		if s.answers() {
			return nil
		}
	}
	return errors.New("the server did not come up within a minute")
}

func (s *server) answers() bool {
	if _, err := os.Stat(filepath.Join(s.folder, ".s.PGSQL.5432")); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	db, err := sql.Open("pgx", s.address("postgres"))
	if err != nil {
		return false
	}
	defer db.Close()
	return db.Ping() == nil
}

func (s *server) address(database string) string {
	query := url.Values{"host": {s.folder}, "user": {"portal"}, "sslmode": {"disable"}}
	return "postgres:///" + database + "?" + query.Encode()
}

func (s *server) makeTemplate() error {
	var version int
	if err := s.admin.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return err
	}
	if version >= 15_00_00 {
		s.strategy = " STRATEGY FILE_COPY"
	}
	if _, err := s.admin.Exec("CREATE DATABASE " + template); err != nil {
		return err
	}
	ctx := context.Background()
	st, err := store.Open(ctx, s.address(template), store.Options{})
	if err != nil {
		return err
	}
	return errors.Join(st.Migrate(ctx), st.Close())
}

func (s *server) database(t testing.TB, from string) string {
	t.Helper()
	name := "test_" + strconv.FormatInt(s.clones.Add(1), 10)
	s.copies.Lock()
	defer s.copies.Unlock()
	if _, err := s.admin.Exec("CREATE DATABASE " + name + " TEMPLATE " + from + s.strategy); err != nil {
		t.Fatalf("copy the template database: %v", err)
	}
	t.Cleanup(func() {
		if _, err := s.admin.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil &&
			!strings.Contains(err.Error(), "does not exist") {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return s.address(name)
}
