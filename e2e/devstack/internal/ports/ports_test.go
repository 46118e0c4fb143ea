package ports

import (
	"errors"
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
