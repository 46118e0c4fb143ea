package terminal_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/coder/websocket"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
)

// runs is a container whose programs are those of this machine: what is asked of exec runs as a process.
func (w *world) runs(e exec) {
	e.conn.SetReadLimit(-1)
	w.mu.Lock()
	asked, _ := url.ParseQuery(w.asked)
	w.mu.Unlock()
	command := asked["command"]
	cmd := osexec.CommandContext(e.ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = channel{e, stdout}, channel{e, 2}
	var in io.WriteCloser
	if asked.Get("stdin") == "true" {
		in, _ = cmd.StdinPipe()
	}
	if err := cmd.Start(); err != nil {
		_ = e.writes(failed, `{"status":"Failure","reason":"InternalError","message":"exec: executable file not found"}`)
		_ = e.conn.Close(websocket.StatusNormalClosure, "")
		return
	}
	go func() {
		for {
			_, m, err := e.conn.Read(e.ctx)
			switch {
			case err != nil, m[0] == 255 && m[1] == stdin: // the client has closed its end
				if in != nil {
					_ = in.Close()
				}
				if err != nil {
					return
				}
			case m[0] == stdin && in != nil:
				_, _ = in.Write(m[1:])
			}
		}
	}()
	err := cmd.Wait()
	var exited *osexec.ExitError
	if errors.As(err, &exited) {
		e.exits(strconv.Itoa(exited.ExitCode()))
		return
	}
	_ = e.writes(failed, `{"status":"Success"}`)
	_ = e.conn.Close(websocket.StatusNormalClosure, "")
}

// channel is a stream of the protocol.
type channel struct {
	exec
	number byte
}

func (c channel) Write(p []byte) (int, error) { return len(p), c.writes(c.number, string(p)) }

// filesIn are those of a container like this machine.
func filesIn(t *testing.T, adjust ...func(*terminal.Options)) (*world, *terminal.Files) {
	t.Helper()
	w := newWorld(t, append([]func(*terminal.Options){func(o *terminal.Options) {
		o.Rules.Files, o.Rules.FileBytes = true, 1<<20
	}}, adjust...)...)
	w.shell = w.runs
	f, err := w.OpenFiles(t.Context(), person("p-dana"), "w-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return w, f
}

func wantFault(t *testing.T, err error, kind fault.Kind, sentence string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind || f.Sentence.ID != sentence {
		t.Errorf("want %s %s, got %v", kind, sentence, err)
	}
}

func put(t *testing.T, at, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(at, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// TestADirectoryIsListed as the programs of the container tell it: kinds, sizes, times, names that a shell would take
// for something else, and none of what lies deeper.
func TestADirectoryIsListed(t *testing.T) {
	_, f := filesIn(t)
	dir := t.TempDir()
	for _, name := range []string{"-rf", "$(touch gone)", "with space", "über.txt", ".hidden", "a'b\"c", "line\nbreak"} {
		put(t, filepath.Join(dir, name), "four", 0o644)
	}
	if err := os.MkdirAll(filepath.Join(dir, "models", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("models", filepath.Join(dir, "latest")); err != nil {
		t.Fatal(err)
	}
	then := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "-rf"), then, then); err != nil {
		t.Fatal(err)
	}
	list, err := f.List(dir + "/models/..")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range list.Files {
		got = append(got, string(one.Kind)+" "+one.Name)
	}
	want := "directory models|file $(touch gone)|file -rf|file .hidden|file a'b\"c|symlink latest|file with space|" +
		"file über.txt"
	if strings.Join(got, "|") != want || list.Path != dir || list.More {
		t.Errorf("want %s in %s\ngot  %s in %s, more: %t", want, dir, strings.Join(got, "|"), list.Path, list.More)
	}
	if one := list.Files[2]; one.Bytes != 4 || !one.Modified.Equal(then) {
		t.Errorf("want 4 bytes of %s, got %+v", then, one)
	}
	if list, err = f.List(dir + "/latest"); err != nil || len(list.Files) != 1 || list.Files[0].Name != "deep" {
		t.Errorf("want the directory behind the link, got %+v %v", list, err)
	}
	for at, want := range map[string]struct {
		kind     fault.Kind
		sentence string
	}{
		dir + "/none": {fault.NotFound, "files.missing"}, dir + "/-rf": {fault.Conflict, "files.not_directory"},
		"relative": {fault.Invalid, "files.path"}, "/a\x00b": {fault.Invalid, "files.path"},
		"/" + strings.Repeat("a", 5000): {fault.Invalid, "files.path"},
	} {
		_, err := f.List(at)
		wantFault(t, err, want.kind, want.sentence)
	}
}

// TestMoreFilesThanAreShown: of 1,005 files there are 1,000, and it is said that there are more.
func TestMoreFilesThanAreShown(t *testing.T) {
	_, f := filesIn(t)
	dir := t.TempDir()
	for n := range terminal.MostFiles + 5 {
		put(t, filepath.Join(dir, strconv.Itoa(n)), "", 0o644)
	}
	if list, err := f.List(dir); err != nil || len(list.Files) != terminal.MostFiles || !list.More {
		t.Errorf("want %d and more, got %d %t %v", terminal.MostFiles, len(list.Files), list.More, err)
	}
}

// TestAFileIsRead byte by byte as it is, with its size before, and in the record before the first byte.
func TestAFileIsRead(t *testing.T) {
	w, f := filesIn(t)
	dir := t.TempDir()
	every := make([]byte, 300_000)
	for i := range every {
		every[i] = byte(i * 7)
	}
	at := filepath.Join(dir, "-every $byte")
	put(t, at, string(every), 0o644)
	var got bytes.Buffer
	told := int64(-1)
	if err := f.Read(at, &got, func(n int64) error { told = n; return nil }); err != nil ||
		told != int64(len(every)) || !bytes.Equal(got.Bytes(), every) {
		t.Errorf("want %d bytes as they are, got %d, told %d, %v", len(every), got.Len(), told, err)
	}
	put(t, filepath.Join(dir, "empty"), "", 0o644)
	told = -1
	if err := f.Read(filepath.Join(dir, "empty"), io.Discard, func(n int64) error { told = n; return nil }); err != nil ||
		told != 0 {
		t.Errorf("want an empty file, got %d %v", told, err)
	}
	put(t, filepath.Join(dir, "large"), strings.Repeat("x", 1<<20+1), 0o644)
	for name, want := range map[string]struct {
		kind     fault.Kind
		sentence string
	}{"none": {fault.NotFound, "files.missing"}, "large": {fault.TooLarge, "files.too_large"},
		".": {fault.Conflict, "files.directory"}} {
		var out bytes.Buffer
		wantFault(t, f.Read(filepath.Join(dir, name), &out, func(int64) error { return nil }), want.kind, want.sentence)
		if out.Len() > 0 {
			t.Errorf("%s: %d bytes were sent", name, out.Len())
		}
	}
	broken := errors.New("the browser went away")
	if err := f.Read(at, io.Discard, func(int64) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("want %v, got %v", broken, err)
	}
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	first := w.record.events[0]
	if first.Kind != audit.FileDownloaded || first.Workload != "w-1" || first.Tenant != "vision" ||
		first.Detail.ID != "files.passed" || len(w.record.events) < 2 {
		t.Errorf("want the downloads in the record, got %+v", w.record.events)
	}
}

// unpacked is what an archive holds: names, with what files have and where links lead.
func unpacked(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = string(text) + h.Linkname
	}
}

// TestADirectoryIsPacked whole, under its own name, with links as links; it is in the record before the first byte.
func TestADirectoryIsPacked(t *testing.T) {
	w, f := filesIn(t)
	dir := filepath.Join(t.TempDir(), "-run $1")
	for _, name := range []string{"models/deep", "none", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "models/deep", "-x 'y\"\n"), "weights", 0o644)
	put(t, filepath.Join(dir, ".hidden"), "", 0o600)
	put(t, filepath.Join(dir, "none", "a"), "a", 0o644)
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "of somebody else", 0o644)
	for name, to := range map[string]string{"out": secret, "dangling": "nowhere", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	told := int64(-1)
	if err := f.Archive(dir+"/models/..", &out, func(n int64) error { told = n; return nil }); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"./-run $1/": "", "./-run $1/models/": "", "./-run $1/models/deep/": "",
		"./-run $1/models/deep/-x 'y\"\n": "weights", "./-run $1/.hidden": "", "./-run $1/none/": "",
		"./-run $1/none/a": "a", "./-run $1/empty/": "", "./-run $1/out": secret, "./-run $1/dangling": "nowhere",
		"./-run $1/up": ".."}
	if got := unpacked(t, bytes.NewReader(out.Bytes())); !maps.Equal(got, want) {
		t.Errorf("want %q\n got %q", want, got)
	}
	if told < 2*1024+512 || told > 16<<10 {
		t.Errorf("told %d bytes", told)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "..", "latest")); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := f.Archive(filepath.Join(dir, "..", "latest"), &out, func(int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := unpacked(t, &out); !maps.Equal(got, want) {
		t.Errorf("behind a link: %q", got)
	}
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	downloads := 0
	for _, e := range w.record.events {
		if e.Kind == audit.FileDownloaded && e.Detail.ID == "files.passed" {
			downloads++
		}
	}
	if downloads != 2 {
		t.Errorf("want two downloads in the record, got %+v", w.record.events)
	}
}

// TestWhatIsNotPacked: no byte of a directory that is none, is too large, or of which the record is away.
func TestWhatIsNotPacked(t *testing.T) {
	w, f := filesIn(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "x", 0o644)
	for _, name := range []string{"large/inside", "many"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, "large/inside/a"), strings.Repeat("x", 1<<20), 0o644)
	for n := range 1100 { // a header of 512 bytes and a block each
		put(t, filepath.Join(dir, "many", strconv.Itoa(n)), "x", 0o644)
	}
	for at, want := range map[string]struct {
		kind     fault.Kind
		sentence string
	}{
		dir + "/none": {fault.NotFound, "files.missing"}, dir + "/file": {fault.Conflict, "files.not_directory"},
		dir + "/large": {fault.TooLarge, "files.archive_large"}, dir + "/many": {fault.TooLarge, "files.archive_large"},
		"relative": {fault.Invalid, "files.path"},
	} {
		var out bytes.Buffer
		wantFault(t, f.Archive(at, &out, func(int64) error { return nil }), want.kind, want.sentence)
		if out.Len() > 0 {
			t.Errorf("%s: %d bytes were sent", at, out.Len())
		}
	}
	w.record.err = errors.New("the database is away")
	var out bytes.Buffer
	if err := f.Archive(dir+"/large/..", &out, func(int64) error { return nil }); err == nil || out.Len() > 0 {
		t.Errorf("want nothing, got %d bytes, %v", out.Len(), err)
	}
}

// TestAnArchiveThatBreaksOff is an error however much has come: the pod goes away, tar gives up, or files grew beyond
// what may pass.
func TestAnArchiveThatBreaksOff(t *testing.T) {
	w, f := filesIn(t)
	for what, c := range map[string]struct {
		shell    func(exec)
		kind     fault.Kind
		sentence string
	}{
		"the pod goes away": {func(e exec) {
			_ = e.writes(stdout, "1024\n\x1f\x8b the beginning")
			_ = e.conn.CloseNow()
		}, fault.Unavailable, ""},
		"tar gives up": {func(e exec) {
			_ = e.writes(stdout, "1024\n\x1f\x8b the beginning")
			_ = e.writes(2, "tar: ./run/a: Read error\n")
			e.exits("2")
		}, fault.Unavailable, "files.failed"},
		"it grows": {func(e exec) {
			e.conn.SetReadLimit(-1)
			_ = e.writes(stdout, "1024\n")
			for range 20 {
				_ = e.writes(stdout, strings.Repeat("x", 64<<10))
			}
			e.exits("0")
		}, fault.TooLarge, "files.archive_large"},
		"what cannot be read": {func(e exec) {
			_ = e.writes(2, "./run/private\n")
			e.exits("70")
		}, fault.Forbidden, "files.archive_denied"},
		"it says nothing": {func(e exec) {
			_ = e.writes(failed, `{"status":"Success"}`)
			_ = e.conn.Close(websocket.StatusNormalClosure, "")
		}, fault.Unavailable, "files.no_tools"},
	} {
		w.shell = c.shell
		err := f.Archive("/data/run", io.Discard, func(int64) error { return nil })
		var got *fault.Error
		if !errors.As(err, &got) || got.Kind != c.kind || c.sentence != "" && got.Sentence.ID != c.sentence {
			t.Errorf("%s: want %s %s, got %v", what, c.kind, c.sentence, err)
		}
	}
}

// TestWhatIsNotRecordedIsNotRead: no byte leaves where the record is away.
func TestWhatIsNotRecordedIsNotRead(t *testing.T) {
	w, f := filesIn(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "secret", 0o644)
	w.record.err = errors.New("the database is away")
	var out bytes.Buffer
	if err := f.Read(filepath.Join(dir, "a"), &out, func(int64) error { return nil }); err == nil || out.Len() > 0 {
		t.Errorf("want nothing, got %q %v", out.String(), err)
	}
	if _, err := f.Write(dir, "b", false, strings.NewReader("b")); err == nil {
		t.Error("want no file without a record")
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("want the one file, got %v", left)
	}
}

// TestAFileIsWritten whole or not at all: nothing is left of one that breaks off, is too large, or has no place; one of
// the same name stays unless it is to be replaced.
func TestAFileIsWritten(t *testing.T) {
	w, f := filesIn(t)
	dir := t.TempDir()
	has := func(name, text string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s: want %d bytes, got %d %v", name, len(text), len(got), err)
		}
	}
	large := strings.Repeat("0123456789abcdef", 1<<16)
	if name, err := f.Write(dir, `C:\work\-a $b.bin`, false, strings.NewReader(large)); err != nil || name != "-a $b.bin" {
		t.Fatalf("want it written by its last name, got %q %v", name, err)
	}
	has("-a $b.bin", large)
	_, err := f.Write(dir, "-a $b.bin", false, strings.NewReader("other"))
	wantFault(t, err, fault.Conflict, "files.exists")
	has("-a $b.bin", large)
	if _, err := f.Write(dir, "-a $b.bin", true, strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	has("-a $b.bin", "")
	put(t, filepath.Join(dir, "kept"), "kept", 0o644)
	if err := os.Mkdir(filepath.Join(dir, "models"), 0o755); err != nil {
		t.Fatal(err)
	}
	cut := io.MultiReader(strings.NewReader("begun"), iotest.ErrReader(io.ErrUnexpectedEOF))
	for _, test := range []struct {
		dir, name string
		from      io.Reader
		kind      fault.Kind
		sentence  string
	}{
		{dir, "kept", cut, fault.Invalid, "files.cut_off"},
		{dir, "kept", strings.NewReader(large + "x"), fault.TooLarge, "files.too_large"},
		{dir, "models", strings.NewReader("x"), fault.Conflict, "files.directory"},
		{dir + "/none", "a", strings.NewReader("x"), fault.NotFound, "files.missing"},
		{dir + "/kept", "a", strings.NewReader("x"), fault.Conflict, "files.not_directory"},
		{dir, "..", strings.NewReader("x"), fault.Invalid, "files.name"},
		{dir, "", strings.NewReader("x"), fault.Invalid, "files.name"},
		{dir, strings.Repeat("n", 256), strings.NewReader("x"), fault.Invalid, "files.name"},
	} {
		_, err := f.Write(test.dir, test.name, true, test.from)
		wantFault(t, err, test.kind, test.sentence)
	}
	has("kept", "kept")
	if left, _ := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("want three entries and no parts, got %v", left)
	}
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	if len(w.record.events) != 2 || w.record.events[0].Kind != audit.FileUploaded {
		t.Errorf("want the two uploads in the record, got %+v", w.record.events)
	}
}

// TestFilesNeedTheirRule: the site's switch, the team's place on its list, and the rights of a terminal.
func TestFilesNeedTheirRule(t *testing.T) {
	for name, test := range map[string]struct {
		adjust   func(*terminal.Rules)
		actor    identity.Actor
		sentence string
	}{
		"files are off":     {func(r *terminal.Rules) { r.Files = false }, person("p-dana"), "files.off"},
		"terminals are off": {func(r *terminal.Rules) { r.Enabled = false }, person("p-dana"), "terminal.off"},
		"another team":      {func(r *terminal.Rules) { r.Tenants = []string{"speech"} }, person("p-dana"), "terminal.off"},
		"a colleague":       {func(*terminal.Rules) {}, person("p-devi"), "terminal.not_shared"},
		"a token": {func(*terminal.Rules) {}, func() identity.Actor {
			a := person("p-dana")
			a.Via = identity.ViaToken
			return a
		}(), "terminal.session"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *terminal.Options) {
				o.Rules.Files = true
				test.adjust(&o.Rules)
			})
			_, err := w.OpenFiles(t.Context(), test.actor, "w-1")
			wantFault(t, err, fault.Forbidden, test.sentence)
			if w.Running() != 0 {
				t.Errorf("%d places are taken", w.Running())
			}
		})
	}
}

// TestAnImageWithoutPrograms says so, and a program's own complaint is told.
func TestAnImageWithoutPrograms(t *testing.T) {
	w, f := filesIn(t)
	w.shell = func(e exec) {
		_ = e.writes(failed, `{"status":"Failure","reason":"InternalError","message":"exec: \"sh\": executable file not `+
			`found in $PATH","code":500}`)
		_ = e.conn.Close(websocket.StatusNormalClosure, "")
	}
	_, err := f.List("/")
	wantFault(t, err, fault.Unavailable, "files.no_tools")
	w.shell = func(e exec) {
		_ = e.writes(2, "cat: write error: No space left on device\n")
		e.exits("1")
	}
	_, err = f.Write("/", "a", false, strings.NewReader("x"))
	wantFault(t, err, fault.Unavailable, "files.failed")
	if err == nil || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("want the words of the program, got %v", err)
	}
}

// TestATransferEndsWithItsRight: one that goes on when the sign-in ends is cut off.
func TestATransferEndsWithItsRight(t *testing.T) {
	w, f := filesIn(t)
	dir := t.TempDir()
	from, to := io.Pipe()
	defer func() { _ = to.Close() }()
	done := make(chan error, 1)
	go func() { _, err := f.Write(dir, "a", false, from); done <- err }()
	if _, err := to.Write([]byte("begun")); err != nil {
		t.Fatal(err)
	}
	w.alive.Store(false)
	select {
	case err := <-done:
		wantFault(t, err, fault.Unavailable, "terminal.end_no_longer")
	case <-t.Context().Done():
		t.Fatal("it goes on")
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("want no file, got %v", err)
	}
}
