package podlogs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// maxLine is how much of a line is shown, in bytes. Container runtimes split at 16 KiB, kubelets join again.
const maxLine = 16 << 10

// maxRaw is how much of a line is kept to be cleaned: escape sequences and a secret at the cut may be longer than what
// is shown of them.
const maxRaw = 2 * maxLine

// mask stands in place of a secret.
const mask = "********"

// Line is one line of a log.
type Line struct {
	At   time.Time // when the container wrote it; zero where the cluster does not say
	Text string
	Cut  int       // bytes of the line that were left out
	Note i18n.Text // said by the portal in place of a line: why the log ends here
}

// scanner reads lines of any length in bounded memory.
type scanner struct {
	in      *bufio.Reader
	secrets []string
	read    int64 // bytes so far
}

func newScanner(in io.Reader, secrets []string) *scanner {
	return &scanner{in: bufio.NewReaderSize(in, maxLine), secrets: secrets}
}

// next gives the next line, or the last one that has no end yet.
func (s *scanner) next() (Line, error) {
	var raw []byte
	whole := 0
	for {
		part, err := s.in.ReadSlice('\n')
		s.read += int64(len(part))
		whole += len(part)
		raw = append(raw, part[:min(len(part), maxRaw-len(raw))]...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && whole == 0:
			return Line{}, err
		}
		return s.line(raw, whole), nil
	}
}

func (s *scanner) line(raw []byte, whole int) Line {
	more := whole - len(raw)
	raw = bytes.TrimRight(raw, "\r\n")
	l := Line{}
	if stamp, rest, ok := bytes.Cut(raw, []byte(" ")); ok {
		if at, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil {
			l.At, raw = at.UTC(), rest
		}
	}
	text := hide(clean(raw), s.secrets)
	l.Text = shorten(text, maxLine)
	l.Cut = more + len(text) - len(l.Text)
	return l
}

// sequences are those by which programs colour text and move the cursor (ECMA-48): CSI, OSC and the two-byte ones.
var sequences = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\-_]")

// clean makes text of any bytes: of a progress bar that was written over and over only its last state is left, escape
// sequences go, and what is no text becomes U+FFFD.
func clean(raw []byte) string {
	if i := bytes.LastIndexByte(raw, '\r'); i >= 0 {
		raw = raw[i+1:]
	}
	if bytes.IndexByte(raw, 0x1b) >= 0 {
		raw = sequences.ReplaceAll(raw, nil)
	}
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(string(raw), string(utf8.RuneError)))
}

// hide puts the mask in place of every secret.
func hide(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, mask)
		}
	}
	return text
}

// shorten cuts between characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
