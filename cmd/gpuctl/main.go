// Gpuctl is the command line client of a GPU Portal. It calls the REST API as one person, and knows nothing of the
// portal but its OpenAPI document.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := (&cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, home: home,
		zone: time.Local, program: program,
		interactive: func() bool { return term.IsTerminal(int(os.Stdin.Fd())) }, secret: secret,
		every: 3 * time.Second}).run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// home is the folder of the file that login writes.
func home() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "gpuctl"), err
}

// secret reads a line without showing it.
func secret(prompt string, to io.Writer) (string, error) {
	fmt.Fprint(to, prompt)
	text, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(to)
	return string(text), err
}
