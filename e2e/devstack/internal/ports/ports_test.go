package ports

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestPortsAreRemembered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ports.json")
	first, err := Open(path, false, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	second, err := Open(path, false, "a", "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	if first["a"] != second["a"] || first["b"] != second["b"] || second["c"] == 0 {
		t.Errorf("want the same ports and a new one, got %v, then %v", first, second)
	}
}

// Nobody else gets a port between its choice and the start of its program: neither an outgoing connection nor another
// stack that starts now.
func TestChosenPortsAreNobodyElses(t *testing.T) {
	seen, names := map[int]bool{}, make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprint("part-", i)
	}
	for n := range 40 {
		book, err := Open(filepath.Join(t.TempDir(), "ports.json"), false, names...)
		if err != nil {
			t.Fatal(err)
		}
		for name, port := range book {
			if seen[port] || port < 20_000 || port >= 32_768 {
				t.Errorf("stack %d: %s has port %d", n, name, port)
			}
			seen[port] = true
		}
	}
	if len(seen) != 40*len(names) {
		t.Errorf("want %d ports, got %d", 40*len(names), len(seen))
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ports.json")
	book, err := Open(path, false, "prometheus")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", book.Addr("prometheus"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Open(path, false, "prometheus")
	var taken *Taken
	if !errors.As(err, &taken) || !strings.Contains(err.Error(), "prometheus") ||
		!strings.Contains(err.Error(), "demo-reset") {
		t.Errorf("want to be told who needs the port and what to do, got %v", err)
	}
	if again, err := Open(path, true, "prometheus"); err != nil || again["prometheus"] == book["prometheus"] {
		t.Errorf("want another port when the old ones are forgotten, got %v, %v", again, err)
	}
}
