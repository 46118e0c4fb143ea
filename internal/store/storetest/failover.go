package storetest

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// Pair is a PostgreSQL primary with a standby that follows it by streaming replication, each in a folder of its own.
type Pair struct {
	programs, folder string
	as               *syscall.SysProcAttr
	nodes            map[string]*node
}

type node struct {
	life  *os.File
	ended chan error
}

// The two servers of a Pair.
const (
	First  = "a" // the primary at first
	Second = "b"
)

// NewPair starts both; they end with the test.
func NewPair(t *testing.T) *Pair {
	t.Helper()
	programs, ok := programs()
	if !ok {
		t.Fatal(errNoPrograms)
	}
	folder, err := os.MkdirTemp("/tmp", "gpu-portal-pair-")
	if err != nil {
		t.Fatal(err)
	}
	as, err := ordinaryUser(folder)
	if err != nil {
		t.Fatal(err)
	}
	p := &Pair{programs: programs, folder: folder, as: as, nodes: map[string]*node{}}
	t.Cleanup(func() {
		for name := range p.nodes {
			p.Stop(t, name)
		}
		_ = os.RemoveAll(folder)
	})
	p.do(t, "initdb", "-D", p.data(First), "-U", "portal", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	p.Start(t, First)
	p.do(
		t,
		"pg_basebackup",
		"-D",
		p.data(Second),
		"-R",
		"-X",
		"stream",
		"-c",
		"fast",
		"-h",
		p.socket(First),
		"-U",
		"portal",
	)
	p.Start(t, Second)
	return p
}

func (p *Pair) data(name string) string   { return filepath.Join(p.folder, "data-"+name) }
func (p *Pair) socket(name string) string { return filepath.Join(p.folder, name) }

// Address is that of the portal's database on one of them.
func (p *Pair) Address(name string) string {
	query := url.Values{"host": {p.socket(name)}, "user": {"portal"}, "sslmode": {"disable"}}
	return "postgres:///postgres?" + query.Encode()
}

func (p *Pair) do(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(p.programs, program), args...)
	cmd.Dir, cmd.SysProcAttr = p.folder, p.as
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// serve ends with its input, which the kernel closes for a dead program too.
const serve = `
mkdir -p "$3"
"$1/postgres" -D "$2" -k "$3" -c listen_addresses= -c fsync=off -c wal_level=replica \
	-c max_wal_senders=4 -c hot_standby=on \
	-c wal_keep_size=64MB >>"$2.log" 2>&1 &
server=$!
cat >/dev/null
kill -QUIT $server
wait $server
`

// Start starts one that is down, and waits until it answers.
func (p *Pair) Start(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", serve, "sh", p.programs, p.data(name), p.socket(name))
	cmd.Dir, cmd.SysProcAttr = p.folder, p.as
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	input, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = input
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = input.Close()
	n := &node{life: output, ended: make(chan error, 1)}
	go func() { n.ended <- cmd.Wait() }()
	p.nodes[name] = n
	p.await(t, name, "SELECT 1", "1")
}

// Stop ends one at once, as a power cut would.
func (p *Pair) Stop(t *testing.T, name string) {
	t.Helper()
	n := p.nodes[name]
	if n == nil {
		return
	}
	delete(p.nodes, name)
	_ = n.life.Close()
	<-n.ended
}

// Promote makes the standby a primary.
func (p *Pair) Promote(t *testing.T, name string) {
	t.Helper()
	p.await(t, name, "SELECT pg_promote()", "true")
	p.await(t, name, "SELECT pg_is_in_recovery()", "false")
}

// CaughtUp waits until the standby has everything that the primary has.
func (p *Pair) CaughtUp(t *testing.T) {
	t.Helper()
	db, err := sql.Open("pgx", p.Address(First))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var at string
	if err := db.QueryRow("SELECT pg_current_wal_lsn()::text").Scan(&at); err != nil {
		t.Fatal(err)
	}
	p.await(t, Second, fmt.Sprintf("SELECT pg_last_wal_replay_lsn() >= '%s'::pg_lsn", at), "true")
}

// await asks until the answer is the wanted one.
func (p *Pair) await(t *testing.T, name, query, want string) {
	t.Helper()
	db, err := sql.Open("pgx", p.Address(name))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got string
	waittest.Until(t, query, func() error {
		err := db.QueryRow(query).Scan(&got)
		if err == nil && got == want {
			return nil
		}
		log, _ := os.ReadFile(p.data(name) + ".log")
		return fmt.Errorf("server %s: want %s, got %q, %w\n%s", name, want, got, err, log)
	})
}
