package terminal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// FileKind is what a name in a directory stands for.
type FileKind string

// The kinds.
const (
	RegularFile FileKind = "file"
	Directory   FileKind = "directory"
	Symlink     FileKind = "symlink"
	SpecialFile FileKind = "special" // a device, a socket or a pipe
)

// File is an entry of a directory.
type File struct {
	Name     string
	Kind     FileKind
	Bytes    int64
	Modified time.Time
}

// Listing is a directory of a container: directories first, by name.
type Listing struct {
	Path  string // absolute and clean
	Files []File
	More  bool // there are more than MostFiles
}

// MostFiles is how many entries of a directory are shown.
const MostFiles = 1000

// Exit codes of the scripts, below those that a shell uses itself (126 and more).
const (
	exitMissing  = 63 + iota // no such file or directory
	exitDenied               // the user of the container may not
	exitTooLarge             // its size is the output
	exitExists
	exitNotDirectory
	exitDirectory
	exitChanged    // not as long as what was sent
	exitUnreadable // of a directory that is to be packed; the name is on standard error
)

// The scripts need a POSIX shell and find, stat, head, cat, mv, rm, tar and gzip as GNU and BusyBox have them. What
// people chose is in their arguments, never in their text.
//
// The archive has links as links, so nothing outside of the directory is in it. Its files are looked at before the
// first byte: how much they are with a header of tar for each, and whether each can be read. A volume's lost+found is
// left out where it is root's. GNU tar exits with 1 for a file that was written to meanwhile: it is in the archive, as
// far as it was then.
const (
	listScript = `cd -- "$1" 2>/dev/null || { [ -e "$1" ] || exit 63; [ -d "$1" ] && exit 64; exit 67; }
[ -r . ] || exit 64
find . ! -name . -prune -exec stat -c '%f/%s/%Y/%n' {} + | head -n "$2"`

	readScript = `[ -e "$1" ] || exit 63
[ -d "$1" ] && exit 68
[ -f "$1" ] && [ -r "$1" ] || exit 64
size=$(stat -L -c %s "$1") || exit 64
echo "$size"
[ "$size" -le "$2" ] || exit 65
exec head -c "$size" "$1"`

	writeScript = `cd -- "$1" 2>/dev/null || { [ -e "$1" ] || exit 63; [ -d "$1" ] && exit 64; exit 67; }
[ -w . ] || exit 64
[ -d "./$2" ] && exit 68
[ -e "./$2" ] && [ "$4" != replace ] && exit 66
exec cat > "./$3"`

	keepScript = `cd -- "$1" || exit 63
[ "$(stat -c %s "./$3")" = "$5" ] || exit 69
[ -d "./$2" ] && exit 68
[ -e "./$2" ] && [ "$4" != replace ] && exit 66
exec mv -f "./$3" "./$2"`

	archiveScript = `cd -P -- "$1" 2>/dev/null || { [ -e "$1" ] || exit 63; [ -d "$1" ] && exit 64; exit 67; }
[ -r . ] || exit 64
command -v tar >/dev/null && command -v gzip >/dev/null || exit 127
skip=./.
[ -d lost+found ] && [ ! -r lost+found ] && skip=./lost+found
deny=$(find . -path "$skip" -prune -o ! -type l -exec sh -c 'for f; do
[ -r "$f" ] && { [ ! -d "$f" ] || [ -x "$f" ]; } || { echo "$f"; exit 1; }; done' sh {} + 2>/dev/null | head -n 1)
[ -z "$deny" ] || { echo "$deny" >&2; exit 70; }
size=$(find . -path "$skip" -prune -o -type f -exec stat -c %s {} + | { n=0
while read -r s; do n=$((n + (s + 1023) / 512 * 512)); done; echo "$n"; })
entries=$(find . -path "$skip" -prune -o ! -type f -print | wc -l)
size=$((size + entries * 512))
echo "$size"
[ "$size" -le "$2" ] || exit 65
name=${PWD##*/}
if [ -n "$name" ] && cd ..; then name=./$name; else name=.; fi
set -- "$name"
if [ "$skip" = ./lost+found ]; then
set --
for f in "$name"/* "$name"/.[!.]* "$name"/..?*; do
[ "$f" = "$name/lost+found" ] || { [ ! -e "$f" ] && [ ! -L "$f" ]; } || set -- "$@" "$f"; done
fi
tar -czf - "$@"
code=$?
[ "$code" = 1 ] && tar --version 2>/dev/null | head -n 1 | grep -q GNU && code=0
exit "$code"`

	dropScript = `rm -f -- "$1/$2"`
)

// Bounds of names, as Linux has them, and of what a script says.
const (
	mostPath   = 4095 // bytes
	mostName   = 255  // bytes
	mostErrors = 2 << 10
)

// CleanPath makes a path of a container absolute and clean. A fault: Invalid where it cannot be one.
func CleanPath(at string) (string, error) {
	if !path.IsAbs(at) || len(at) > mostPath || strings.ContainsRune(at, 0) {
		return "", fault.New(fault.Invalid, i18n.T("files.path"))
	}
	return path.Clean(at), nil
}

// fileName is the name that a browser gave to what it sends, without the directories of its own machine.
func fileName(given string) (string, error) {
	name := path.Base(strings.ReplaceAll(given, `\`, "/"))
	if given == "" || name == "." || name == ".." || name == "/" || len(name) > mostName || strings.ContainsRune(name, 0) {
		return "", fault.New(fault.Invalid, i18n.T("files.name"))
	}
	return name, nil
}

// PermitFiles is Permit for files: the same people, where the site lets files pass.
func (r Rules) PermitFiles(a identity.Actor, w workload.Workload, now time.Time) error {
	if r.Enabled && !r.Files {
		return fault.New(fault.Forbidden, i18n.T("files.off"))
	}
	return r.Permit(a, w, now)
}

// OpenFiles prepares to list and pass files; it counts as a session. Close must be called.
func (s *Service) OpenFiles(ctx context.Context, a identity.Actor, id workload.ID) (*Files, error) {
	w, err := s.o.Workloads.Get(ctx, a, id)
	if err != nil {
		return nil, err
	}
	if err := s.o.Rules.PermitFiles(a, w, s.o.Now()); err != nil {
		return nil, err
	}
	opened, err := s.Open(ctx, a, id)
	if err != nil {
		return nil, err
	}
	f := &Files{session: opened}
	f.life = s.pool.Begin(ctx, opened.check)
	return f, nil
}

// Files are those in the main container of a workload. Faults: Invalid for a path or name that cannot be, NotFound,
// Forbidden for what the user of the container may not, Conflict for what is there already or is no directory,
// TooLarge, Unavailable for a cluster or an image that does not answer.
type Files struct {
	session *Session
	life    *session.Life
}

// Close gives the place back.
func (f *Files) Close() {
	f.life.Stop()
	f.session.Close()
}

// Home is the directory to begin at.
func (f *Files) Home() string { return cmp.Or(f.session.workload.Image.Home, "/") }

// List reads a directory.
func (f *Files) List(at string) (Listing, error) {
	at, err := CleanPath(at)
	if err != nil {
		return Listing{}, err
	}
	var out bytes.Buffer
	if err := f.run(listScript, nil, &out, at, strconv.Itoa(MostFiles+1)); err != nil {
		return Listing{}, err
	}
	l := Listing{Path: at, Files: parseFiles(out.String())}
	if l.More = len(l.Files) > MostFiles; l.More {
		l.Files = l.Files[:MostFiles]
	}
	return l, nil
}

// entry is a line of listScript: the mode in hexadecimal, bytes, seconds since 1970, and the name behind "./".
var entry = regexp.MustCompile(`^([0-9a-f]+)/(\d+)/(-?\d+)/\./(.+)$`)

// parseFiles reads the lines of listScript. A line that is none is the rest of a name with a line break, which is left
// out.
func parseFiles(text string) []File {
	var all []File
	for line := range strings.Lines(text) {
		m := entry.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			all = all[:max(0, len(all)-1)]
			continue
		}
		mode, _ := strconv.ParseUint(m[1], 16, 32)
		size, _ := strconv.ParseInt(m[2], 10, 64)
		seconds, _ := strconv.ParseInt(m[3], 10, 64)
		all = append(all, File{Name: strings.ToValidUTF8(m[4], "\ufffd"), Kind: kindOf(mode), Bytes: size,
			Modified: time.Unix(seconds, 0)})
	}
	slices.SortFunc(all, func(a, b File) int {
		if first := a.Kind == Directory; first != (b.Kind == Directory) {
			if first {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return all
}

// kindOf reads st_mode; see inode(7).
func kindOf(mode uint64) FileKind {
	switch mode & 0o170000 {
	case 0o100000:
		return RegularFile
	case 0o040000:
		return Directory
	case 0o120000:
		return Symlink
	}
	return SpecialFile
}

// Read sends a file to w. Start is told its bytes before the first one; what it refuses is not read. An error after
// Start means that w has not all of it.
func (f *Files) Read(at string, w io.Writer, start func(bytes int64) error) error {
	at, err := CleanPath(at)
	if err != nil {
		return err
	}
	out := &sized{to: w, start: func(size int64) error {
		if size > f.session.service.o.Rules.FileBytes {
			return f.tooLarge()
		}
		if err := f.record(audit.FileDownloaded, at, size); err != nil {
			return err
		}
		return start(size)
	}}
	if err := f.run(readScript, nil, out, at, strconv.FormatInt(f.session.service.o.Rules.FileBytes, 10)); err != nil {
		return cmp.Or(out.err, err)
	}
	if out.err == nil && out.left != 0 {
		return fault.New(fault.Unavailable, i18n.T("terminal.end_broken"))
	}
	return out.err
}

// Archive sends a directory to w as a compressed tar, and is like Read: links stay links, and start is told how many
// bytes lie there.
func (f *Files) Archive(at string, w io.Writer, start func(bytes int64) error) error {
	at, err := CleanPath(at)
	if err != nil {
		return err
	}
	most := f.session.service.o.Rules.FileBytes
	tooLarge := fault.New(fault.TooLarge, i18n.T("files.archive_large", "Most", most>>20))
	bound := &capped{to: w, left: most + most/1000 + archiveSlack, over: tooLarge}
	out := &sized{to: bound, start: func(size int64) error {
		if size > most {
			return tooLarge
		}
		if err := f.record(audit.FileDownloaded, strings.TrimSuffix(at, "/")+"/", size); err != nil {
			return err
		}
		return start(size)
	}}
	err = f.run(archiveScript, nil, out, at, strconv.FormatInt(most, 10))
	switch {
	case out.err != nil:
		return out.err
	case fault.Is(err, fault.TooLarge):
		return tooLarge
	case err != nil:
		return err
	case !out.begun:
		return fault.New(fault.Unavailable, i18n.T("files.no_tools"))
	}
	return nil
}

// archiveSlack is how much an archive may be larger than what lies in it, beside a thousandth of that: blocks at its
// end, and what gzip adds to what cannot be compressed.
const archiveSlack = 64 << 10

// capped refuses what is more than there may be: files can grow while they are packed.
type capped struct {
	to   io.Writer
	left int64
	over error
}

func (c *capped) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, c.over
	}
	return c.to.Write(p)
}

// sized passes on what follows a first line with its bytes.
type sized struct {
	to    io.Writer
	start func(int64) error
	head  []byte
	begun bool
	left  int64
	err   error
}

func (s *sized) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	rest := p
	if !s.begun {
		s.head = append(s.head, p...)
		line, after, found := bytes.Cut(s.head, []byte("\n"))
		if !found {
			return len(p), nil
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
		if err != nil {
			s.err = fault.Wrap(fault.Unavailable, err, i18n.T("files.no_tools"))
			return 0, s.err
		}
		s.begun, s.left = true, size
		if s.err = s.start(size); s.err != nil {
			return 0, s.err
		}
		rest = after
	}
	s.left -= int64(len(rest))
	if _, s.err = s.to.Write(rest); s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// Write makes a file in a directory of what r has, whole or not at all, and gives its name. One of that name is
// replaced only where that is wished.
func (f *Files) Write(dir, name string, replace bool, r io.Reader) (string, error) {
	dir, err := CleanPath(dir)
	if err != nil {
		return "", err
	}
	if name, err = fileName(name); err != nil {
		return "", err
	}
	part, mode := ".gpu-portal-upload-"+strings.ToLower(rand.Text()[:12]), "keep"
	if replace {
		mode = "replace"
	}
	in := &counted{from: r, stir: f.life.Stir, most: f.session.service.o.Rules.FileBytes}
	err = f.run(writeScript, in, io.Discard, dir, name, part, mode)
	if size := in.bytes.Load(); err == nil {
		switch {
		case size > in.most:
			err = f.tooLarge()
		case in.failed() != nil:
			err = fault.Wrap(fault.Invalid, in.failed(), i18n.T("files.cut_off"))
		default:
			if err = f.record(audit.FileUploaded, path.Join(dir, name), size); err == nil {
				err = f.run(keepScript, nil, io.Discard, dir, name, part, mode, strconv.FormatInt(size, 10))
			}
		}
	}
	if err != nil {
		f.drop(dir, part)
	}
	return name, err
}

// drop removes what came of a file that is not kept; the caller may be gone.
func (f *Files) drop(dir, part string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.life.Context()), askWithin)
	defer cancel()
	if err := f.exec(ctx, dropScript, nil, io.Discard, dir, part); err != nil {
		f.session.service.o.Logger.WarnContext(ctx, "a part of a file stays in a container", "workload",
			f.session.workload.ID, "directory", dir, "file", part, "error", err)
	}
}

// counted is what is sent, up to one byte more than there may be.
type counted struct {
	from  io.Reader
	stir  func() // told of each read
	most  int64
	bytes atomic.Int64

	mu  sync.Mutex
	err error
}

func (c *counted) Read(p []byte) (int, error) {
	left := c.most + 1 - c.bytes.Load()
	if left <= 0 {
		return 0, io.EOF
	}
	n, err := c.from.Read(p[:min(int64(len(p)), left)])
	c.bytes.Add(int64(n))
	c.stir()
	if err != nil && !errors.Is(err, io.EOF) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err = err
	}
	return n, err
}

func (c *counted) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (f *Files) tooLarge() error {
	return fault.New(fault.TooLarge, i18n.T("files.too_large", "Most", f.session.service.o.Rules.FileBytes>>20))
}

func (f *Files) record(kind audit.Kind, at string, size int64) error {
	return f.session.record(f.life.Context(), kind, i18n.T("files.passed", "Path", at, "Bytes", size))
}

// run is exec while the session may go on.
func (f *Files) run(script string, in io.Reader, out io.Writer, args ...string) error {
	ctx, stop := context.WithCancel(f.life.Context())
	defer stop()
	err := f.exec(ctx, script, in, &stirring{out, f.life.Stir, stop}, args...)
	if reason, ended := f.life.Reason(); ended {
		return fault.New(fault.Unavailable, End{Reason: reason}.Words())
	}
	return err
}

// stirring tells a session that something passes. It stops a command whose output nobody takes: the executor goes on
// reading.
type stirring struct {
	io.Writer
	stir, stop func()
}

func (s *stirring) Write(p []byte) (int, error) {
	s.stir()
	n, err := s.Writer.Write(p)
	if err != nil {
		s.stop()
	}
	return n, err
}

// exec runs a script with arguments and says as a fault what it ended with.
func (f *Files) exec(ctx context.Context, script string, in io.Reader, out io.Writer, args ...string) error {
	executor, err := f.session.executor(ctx, corev1.PodExecOptions{Stdin: in != nil, Stdout: true, Stderr: true,
		Command: append([]string{"sh", "-c", script, "sh"}, args...)})
	if err != nil {
		return err
	}
	said := &start{most: mostErrors}
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: said})
	var code utilexec.CodeExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &code):
		return f.exited(code.Code, args[0], said.text.String())
	case strings.Contains(err.Error(), "executable file not found"):
		return fault.Wrap(fault.Unavailable, err, i18n.T("files.no_tools"))
	}
	return refused(err, f.session.workload)
}

func (f *Files) exited(code int, at, said string) error {
	switch code {
	case exitMissing:
		return fault.New(fault.NotFound, i18n.T("files.missing", "Path", at))
	case exitDenied:
		return fault.New(fault.Forbidden, i18n.T("files.denied", "Path", at))
	case exitTooLarge:
		return f.tooLarge()
	case exitExists:
		return fault.New(fault.Conflict, i18n.T("files.exists"))
	case exitNotDirectory:
		return fault.New(fault.Conflict, i18n.T("files.not_directory", "Path", at))
	case exitDirectory:
		return fault.New(fault.Conflict, i18n.T("files.directory", "Path", at))
	case exitChanged:
		return fault.New(fault.Invalid, i18n.T("files.cut_off"))
	case exitUnreadable:
		name, _, _ := strings.Cut(strings.ToValidUTF8(said, "\ufffd"), "\n")
		return fault.New(fault.Forbidden, i18n.T("files.archive_denied", "Path", path.Join(at, name)))
	case 126, 127:
		return fault.New(fault.Unavailable, i18n.T("files.no_tools"))
	}
	return fault.Wrap(fault.Unavailable, fmt.Errorf("exit %d: %s", code, said),
		i18n.T("files.failed", "Words", lastLine(said), "Code", code))
}

// lastLine is what a program said in the end.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd")), "\n")
	return lines[len(lines)-1]
}

// start keeps the beginning of what is written.
type start struct {
	text bytes.Buffer
	most int
}

func (s *start) Write(p []byte) (int, error) {
	s.text.Write(p[:min(len(p), max(0, s.most-s.text.Len()))])
	return len(p), nil
}
