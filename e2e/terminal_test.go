package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// opened is a socket of a terminal from a page of the portal: whether the browser got it.
const opened = `path => new Promise(done => {
	const socket = new WebSocket(new URL(path, location.href.replace(/^http/, 'ws')))
	socket.onopen = () => { socket.close(); done('opened') }
	socket.onclose = () => done('refused')
})`

// types sends keys to the terminal.
func (p *person) types(line string) {
	p.t.Helper()
	p.do(p.at(".xterm-helper-textarea").Focus())
	p.do(p.page.Keyboard().Type(line))
	p.do(p.page.Keyboard().Press("Enter"))
}

// TestATerminalInThePage: a shell in one's own workload over the real API server's exec, with its size, its end in
// words, its lines in the audit, and nothing of it for others.
func TestATerminalInThePage(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("cpu", map[string]any{"name": "inside"})
	page := "/workloads/" + str(w["id"])
	p := signIn(t, "dana", look{})
	p.open(page)
	p.click("[data-test=tab-terminal]")
	p.reads("[data-test=terminal-status]", "Terminal connected.")
	p.types("env")
	p.reads(".xterm-rows", "HOSTNAME="+str(w["pod"]))
	p.accessible()
	p.shot("open")
	rows := func() string { return p.text(".xterm-rows") }
	p.types("stty size")
	var before, after, columns int
	sizes := func(n *int) func() bool {
		return func() bool {
			text := rows()
			_, last, found := cutLast(text, "stty size")
			_, err := fmt.Sscanf(strings.TrimSpace(last), "%d %d", n, &columns)
			return found && err == nil
		}
	}
	waittest.For(t, "the size", sizes(&before))
	wide := columns
	p.do(p.page.SetViewportSize(700, 600))
	waittest.For(t, "another size", func() bool {
		p.types("stty size")
		return sizes(&after)() && columns < wide
	})
	p.do(p.page.Keyboard().Press("Escape"))
	p.do(p.page.Keyboard().Press("Tab"))
	p.sees("[data-test=terminal-reader]:focus")

	p.types("") // the shell has got the Escape too: it begins a line that is no command
	p.types("exit 3")
	p.reads("[data-test=terminal-status]", "The shell exited with code 3.")
	p.sees("[data-test=terminal-again]:focus")
	p.shot("ended")
	p.do(p.page.Keyboard().Press("Enter"))
	p.reads("[data-test=terminal-status]", "Terminal connected.")

	p.passesFiles()
	p.click("[data-test=tab-terminal]")
	p.reads("[data-test=terminal-status]", "Terminal connected.")
	othersHaveNoTerminal(t, page)

	dana.ok(http.StatusOK, http.MethodPost, page+"/stop", nil)
	p.reads("[data-test=terminal-status]", "the container stopped")
	p.reads("[data-test=terminal-not-running]", "No terminal yet")
	p.click("[data-test=tab-history]")
	p.reads("[data-test=workload-history]", "opened a terminal")
	p.reads("[data-test=workload-history]", "The shell exited with code 3.")
}

// passesFiles puts a file into the container, finds it in its directory, does not overwrite it unasked, and takes it
// out again as it was.
func (p *person) passesFiles() {
	p.t.Helper()
	p.click("[data-test=tab-files]")
	p.sees("[data-test=files-empty]")
	dir, err := p.at("[data-test=files-path]").InputValue()
	p.do(err)
	sent := make([]byte, 3<<20)
	for i := range sent {
		sent[i] = byte(i * 31 >> 3)
	}
	choose := func() {
		p.do(p.at("[data-test=files-file]").SetInputFiles([]playwright.InputFile{{Name: "model ü.bin",
			MimeType: "application/octet-stream", Buffer: sent}}))
		p.click("[data-test=files-send]")
	}
	choose()
	p.reads("[data-test=files]", "model ü.bin")
	p.reads("[data-test=files]", "3 MiB")
	p.reads("[data-test=files-status]", "File uploaded.")
	p.accessible()
	p.shot("files")
	p.expecting("409")
	choose()
	p.reads("[data-test=files-wrong]", "A file of that name already exists")
	p.do(p.at("[data-test=files-replace]").Check())
	choose()
	p.reads("[data-test=files-status]", "File uploaded.")
	got, err := p.page.ExpectDownload(func() error { return p.at("[data-test=file-download]").Click() })
	p.do(err)
	at, err := got.Path()
	p.do(err)
	if came, err := os.ReadFile(at); err != nil || !bytes.Equal(came, sent) || got.SuggestedFilename() != "model ü.bin" {
		p.t.Errorf("want what was sent, got %d bytes as %s, %v", len(came), got.SuggestedFilename(), err)
	}
	got, err = p.page.ExpectDownload(func() error { return p.at("[data-test=files-archive]").Click() })
	p.do(err)
	at, err = got.Path()
	p.do(err)
	base := dir[strings.LastIndex(dir, "/")+1:]
	if came := packed(p.t, at, "./"+base+"/model ü.bin"); !bytes.Equal(came, sent) ||
		got.SuggestedFilename() != base+".tar.gz" {
		p.t.Errorf("want an archive of what was sent, got %d bytes in %s", len(came), got.SuggestedFilename())
	}
	p.click("[data-test=files-up]")
	p.reads("[data-test=files]", base+"/")
	p.fill("[data-test=files-path]", "/nowhere")
	p.click("[data-test=files-go]")
	p.reads("[data-test=files-wrong]", "/nowhere does not exist")
	p.click("[data-test=tab-history]")
	p.reads("[data-test=workload-history]", dir+"/model ü.bin, 3,145,728 bytes")
}

// packed is a file of an archive.
func packed(t *testing.T, archive, name string) []byte {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s is not in the archive: %v", name, err)
		}
		if h.Name == name {
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
}

// othersHaveNoTerminal: colleagues and other teams find neither a tab nor a page nor a socket.
func othersHaveNoTerminal(t *testing.T, page string) {
	t.Helper()
	for who, status := range map[string]string{"devi": "403", "audrey": "403", "nora": "404"} {
		p := signIn(t, who, look{})
		p.expecting(status)
		p.expecting("WebSocket connection")
		if got, err := p.page.Evaluate(opened, page+"/terminal/socket"); err != nil || got != "refused" {
			t.Errorf("%s: the socket is %v, %v", who, got, err)
		}
		p.open(page + "/terminal")
		if text := p.text("body"); strings.Contains(text, "Terminal connected.") {
			t.Errorf("%s has a terminal: %s", who, text)
		}
		if who == "nora" {
			continue
		}
		p.open(page)
		p.sees("[data-test=tab-connect]")
		if n, err := p.at("[data-test=tab-terminal]").Count(); err != nil || n != 0 {
			t.Errorf("%s has %d tabs, %v", who, n, err)
		}
	}
}

func cutLast(text, sep string) (before, after string, found bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}

// TestATerminalLooksRight in the dark, in German, on a telephone and without scripts.
func TestATerminalLooksRight(t *testing.T) {
	dana := as(t, "dana")
	w := dana.running("cpu", map[string]any{"name": "looks"})
	page := "/workloads/" + str(w["id"]) + "/terminal"
	for name, l := range map[string]look{"dark": {Dark: true}, "german": {Language: "de-DE"}, "telephone": {Width: 390}} {
		p := signIn(t, "dana", l)
		p.open(page)
		p.types("env")
		p.reads(".xterm-rows", "HOSTNAME=")
		p.accessible()
		p.shot(name)
	}
	p := signIn(t, "dana", look{NoScript: true})
	p.open(page)
	p.reads("[data-test=terminal-no-script]", "A terminal needs JavaScript")
	p.click("[data-test=terminal-connect]")
	p.sees("[data-test=connect-kubectl]")
}
