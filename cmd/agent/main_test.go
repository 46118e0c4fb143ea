package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/agent"
)

// The tests start this very program as the agent: a library that is loaded stays in a process permanently.
func TestMain(m *testing.M) {
	if os.Getenv("BE_THE_AGENT") != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestUsage(t *testing.T) {
	none := func(string) string { return "" }
	cases := map[string]struct {
		args []string
		code int
		want string
	}{
		"help":                   {[]string{"-h"}, 0, "AGENT_LISTEN"},
		"version":                {[]string{"-version"}, 0, "dev"},
		"unknown flag":           {[]string{"-x"}, 2, "-x"},
		"an argument":            {[]string{"serve"}, 2, `"serve"`},
		"no time between rounds": {[]string{"-interval", "10ms"}, 2, "-interval"},
		"half of a certificate":  {[]string{"-tls-cert", "x"}, 2, "-tls-key"},
		"no certificate": {[]string{"-listen", "127.0.0.1:0", "-tls-cert", "/nowhere", "-tls-key", "/nowhere"}, 1,
			"/nowhere"},
		"an address of elsewhere": {[]string{"-listen", "192.0.2.1:1"}, 1, "192.0.2.1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(t.Context(), c.args, none, &out, &errs); code != c.code ||
				!strings.Contains(out.String()+errs.String(), c.want) {
				t.Errorf("want %d and %q, got %d and %s%s", c.code, c.want, code, &out, &errs)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	env := map[string]string{"AGENT_LISTEN": ":1", "NODE_NAME": "n", "AGENT_NVML": "/lib", "AGENT_TOKEN_FILE": "/t"}
	s, err := parse([]string{"-listen", ":2", "-interval", "3s"}, func(k string) string { return env[k] }, &bytes.Buffer{})
	if err != nil || s.listen != ":2" || s.node != "n" || s.library != "/lib" || s.tokenFile != "/t" ||
		s.proc != "/proc" || s.interval != 3*time.Second {
		t.Errorf("got %+v, %v", s, err)
	}
}

// Without a library, and without cgo, the agent says so and lives on.
func TestWithoutLibrary(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-once", "-nvml", "/nowhere/libnvidia-ml.so.1"},
		func(string) string { return "" }, &out, &errs); code != 0 {
		t.Fatalf("%d: %s", code, &errs)
	}
	r, err := agent.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	if why := r.GPUs.Why(); why != agent.LibraryMissing && why != agent.BuiltWithoutNVML || r.Driver.State != string(why) {
		t.Errorf("cards: %q, driver: %q", why, r.Driver.State)
	}
}

func TestEndsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	if code := run(ctx, []string{"-listen", "127.0.0.1:0", "-nvml", "/nowhere"}, func(string) string { return "" }, &out,
		&errs); code != 0 {
		t.Errorf("%d: %s", code, &errs)
	}
}
