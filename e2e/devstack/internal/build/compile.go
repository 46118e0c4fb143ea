package build

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// compile builds one program and prints how long it takes already: on a terminal in one line that counts, elsewhere one
// line every five seconds.
func compile(ctx context.Context, progress io.Writer, source, out string, p program) error {
	fresh := filepath.Join(out, "."+p.name+".new") // renamed at the end: the old one may be running
	args := []string{"build", "-trimpath", "-mod=readonly", "-buildvcs=false", "-ldflags", p.ldflags, "-o", fresh}
	if p.tags != "" {
		args = append(args, "-tags", p.tags)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, p.pkg)...)
	cmd.Dir = filepath.Join(source, p.module)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said

	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go build: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	err := report(progress, p, begin, done)
	if ctx.Err() != nil {
		return fmt.Errorf("building %s was stopped", p.name)
	}
	if err != nil {
		return fmt.Errorf("building %s: %w\n%s", p.name, err, said.String())
	}
	return os.Rename(fresh, filepath.Join(out, p.name))
}

func report(progress io.Writer, p program, begin time.Time, done <-chan error) error {
	every, clear, end := 5*time.Second, "", "\n"
	if isTerminal(progress) {
		every, clear, end = time.Second, "\r\x1b[K", "" // back to the start of the line, and wipe it
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err == nil {
				fmt.Fprintf(progress, "%sbuilt %s in %.0f s\n", clear, p.name, time.Since(begin).Seconds())
			}
			return err
		case <-tick.C:
			fmt.Fprintf(progress, "%sbuilding %s … %.0f s (the first time takes about %s)%s", clear, p.name,
				time.Since(begin).Seconds(), p.first, end)
		}
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
