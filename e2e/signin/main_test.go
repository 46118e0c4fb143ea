package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const people = `[
  {"sub": "mara", "name": "Mara Vogel", "email": "mara@example.test", "groups": ["vision-developers"], "what": "developer of team vision"},
  {"sub": "ida", "name": "Ida <Admin>", "email": "ida@example.test", "groups": ["gpu-admins"], "what": "platform admin"}
]`

func TestProgramServesUntilToldToStop(t *testing.T) {
	dir := t.TempDir()
	users, keys := filepath.Join(dir, "users.json"), filepath.Join(dir, "keys.json")
	if err := os.WriteFile(users, []byte(people), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	args := []string{"--listen", address, "--issuer", "http://" + address, "--users", users, "--client-secret", "s",
		"--keys", keys}
	var published [2]string
	for i := range published {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, args, io.Discard) }()
		document := struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}{}
		if err := json.Unmarshal([]byte(get(t, "http://"+address+"/.well-known/openid-configuration")),
			&document); err != nil {
			t.Fatal(err)
		}
		if want := "http://" + address; document.Issuer != want {
			t.Errorf("issuer: want %q, got %q", want, document.Issuer)
		}
		published[i] = get(t, document.Keys)
		cancel()
		if err := <-ended; err != nil {
			t.Fatalf("want a quiet end, got %v", err)
		}
	}
	if published[0] != published[1] {
		t.Error("the keys changed over a restart")
	}
}

func TestProgramRefusesToStart(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users.json")
	if err := os.WriteFile(users, []byte(people), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"an address others can reach": {[]string{"--users", users, "--client-secret", "s", "--issuer",
			"http://localhost:1", "--listen", "0.0.0.0:0"}, "not a loopback"},
		"no users":                       {[]string{"--client-secret", "s"}, "--users"},
		"no secret":                      {[]string{"--users", users}, "--client-secret"},
		"a users file that is not there": {[]string{"--users", users + "x", "--client-secret", "s"}, "read users"},
		"a flag nobody knows":            {[]string{"--usres", users}, "usres"},
		"an argument too many":           {[]string{"serve"}, "serve"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			err := run(ctx, c.args, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// get asks until the program listens.
func get(t *testing.T, url string) string {
	t.Helper()
	for range 200 {
		reply, err := http.Get(url)
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		if err != nil || reply.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", url, reply.Status, err)
		}
		return string(body)
	}
	t.Fatalf("%s does not answer", url)
	return ""
}
