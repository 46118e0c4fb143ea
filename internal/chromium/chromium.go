// Package chromium finds the browser that tests and pictures use.
package chromium

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
)

// programs are what may be there, the better first: Debian's chromium-headless-shell renders the same, without the
// windows, tabs and profiles of a desktop, which take more processor time than the pages do.
var programs = []string{"chromium-headless-shell", "chromium"}

// Find is the path of the first that is installed.
func Find() (string, error) {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither chromium-headless-shell nor chromium is installed: .ci/needs installs one")
}

// Command runs the program that Find gave, as a process group of its own that ends with the context: Debian's programs
// are scripts, and the end of one of them is not that of the browser which it has started.
func Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	return c
}
