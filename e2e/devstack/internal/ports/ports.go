// Package ports chooses free loopback ports on the first start and remembers them, so that addresses (the OIDC issuer
// above all) stay the same from one start to the next.
package ports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Book maps what needs a port to the port.
type Book map[string]int

// Taken says that a remembered port belongs to another program now.
type Taken struct {
	Name string
	Port int
}

func (t *Taken) Error() string {
	return fmt.Sprintf("port %d, which %s had at the last start, is taken by another program: stop that program, "+
		"start once with --new-ports, or begin anew with `make demo-reset`", t.Port, t.Name)
}

// Open reads the book at path, adds a free port for each name that has none, checks that all are free, and writes
// the book back. With forget it begins with an empty book.
func Open(path string, forget bool, names ...string) (Book, error) {
	book := Book{}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || forget:
	case err != nil:
		return nil, fmt.Errorf("read the ports: %w", err)
	default:
		if err := json.Unmarshal(text, &book); err != nil {
			return nil, fmt.Errorf("read the ports in %s: %w", path, err)
		}
	}
	if err := book.fill(names); err != nil {
		return nil, err
	}
	text, err = json.MarshalIndent(book, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return book, os.WriteFile(path, append(text, '\n'), 0o644)
}

// fill holds every port that it finds open until all names have one, so that no two get the same.
func (b Book) fill(names []string) error {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	var fresh draw
	for _, name := range names {
		var l net.Listener
		var err error
		if b[name] == 0 {
			l, err = fresh.listen()
		} else if l, err = listen(b[name], 3*time.Second); err != nil {
			return &Taken{Name: name, Port: b[name]}
		}
		if err != nil {
			return fmt.Errorf("find a free port for %s: %w", name, err)
		}
		held = append(held, l)
		b[name] = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}

// Ports are drawn from blocks below those that Linux gives to outgoing connections (net.ipv4.ip_local_port_range, 32768
// to 60999): between the choice of a port and the start of its program such a connection could take it. macOS and
// Windows begin at 49152.
const (
	lowest    = 20_000
	blockSize = 16
	blocks    = 798
)

// guards are the first ports of the blocks that this process draws from, held until it ends: another process that
// starts at the same time draws from other blocks.
var (
	guarding sync.Mutex
	guards   []net.Listener
)

// draw gives the ports of a block one by one, and of another block when it is used up.
type draw struct{ next int }

func (d *draw) listen() (net.Listener, error) {
	for range 10 * blocks {
		if d.next%blockSize == 0 {
			first := lowest + blockSize*rand.IntN(blocks)
			guard, err := listen(first, 0)
			if err != nil {
				continue
			}
			guarding.Lock()
			guards = append(guards, guard)
			guarding.Unlock()
			d.next = first + 1
		}
		l, err := listen(d.next, 0)
		d.next++
		if err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("none of %d to %d is free", lowest, lowest+blocks*blockSize-1)
}

// listen is patient with a port that a program of the last run may still be giving back.
func listen(port int, patience time.Duration) (net.Listener, error) {
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil || !time.Now().Before(end) {
			return l, err
		}
	}
}

// Addr is host:port of a name.
func (b Book) Addr(name string) string { return fmt.Sprintf("127.0.0.1:%d", b[name]) }

// URL is the http address of a name.
func (b Book) URL(name string) string { return "http://" + b.Addr(name) }
