package markup

import (
	"context"
	"io"
	"strconv"
	"sync"

	"github.com/a-h/templ"
)

// Writer collects the HTML of a component and keeps the first error.
type Writer struct {
	ctx context.Context
	to  io.Writer
	buf []byte
	err error
}

// largestKept bounds the buffers that are kept for the next component, in bytes.
const largestKept = 64 << 10

var writers = sync.Pool{New: func() any { return &Writer{buf: make([]byte, 0, 4<<10)} }}

// render has write fill a buffer, and sends it on.
func render(ctx context.Context, to io.Writer, write func(*Writer)) error {
	h := writers.Get().(*Writer)
	h.ctx, h.to = ctx, to
	write(h)
	h.flush()
	err := h.err
	h.ctx, h.to, h.err = nil, nil, nil
	if cap(h.buf) <= largestKept {
		writers.Put(h)
	}
	return err
}

func (h *Writer) flush() {
	if h.err == nil && len(h.buf) > 0 {
		_, h.err = h.to.Write(h.buf)
	}
	h.buf = h.buf[:0]
}

// Context is that of the component.
func (h *Writer) Context() context.Context { return h.ctx }

// Raw writes what is HTML already.
func (h *Writer) Raw(html string) { h.buf = append(h.buf, html...) }

// RawIf is Raw on a condition.
func (h *Writer) RawIf(condition bool, html string) {
	if condition {
		h.Raw(html)
	}
}

// RawBytes is Raw of what was put together in a buffer.
func (h *Writer) RawBytes(html []byte) { h.buf = append(h.buf, html...) }

// Text writes words, escaped for text and for attributes.
func (h *Writer) Text(words string) {
	written := 0
	for i := range len(words) {
		escaped := ""
		switch words[i] {
		case '&':
			escaped = "&amp;"
		case '<':
			escaped = "&lt;"
		case '>':
			escaped = "&gt;"
		case '"':
			escaped = "&#34;"
		case '\'':
			escaped = "&#39;"
		default:
			continue
		}
		h.buf = append(append(h.buf, words[written:i]...), escaped...)
		written = i + 1
	}
	h.buf = append(h.buf, words[written:]...)
}

// Attr writes an attribute, unless its value is empty.
func (h *Writer) Attr(name, value string) {
	if value != "" {
		h.Always(name, value)
	}
}

// Always writes an attribute, also with an empty value.
func (h *Writer) Always(name, value string) {
	h.Raw(" ")
	h.Raw(name)
	h.Raw(`="`)
	h.Text(value)
	h.Raw(`"`)
}

// URL writes an attribute that is an address; one that could run a script is replaced, as templ.URL does.
func (h *Writer) URL(name, address string) { h.Always(name, string(templ.URL(address))) }

// Number writes a number with as many decimals as it has.
func (h *Writer) Number(v float64) { h.buf = strconv.AppendFloat(h.buf, v, 'f', -1, 32) }

// Fixed writes a number with so many decimals.
func (h *Writer) Fixed(v float64, decimals int) {
	h.buf = strconv.AppendFloat(h.buf, v, 'f', decimals, 64)
}

// Element writes an element with a class around words; none around no words.
func (h *Writer) Element(name, class, words string) {
	if words == "" {
		return
	}
	h.Raw("<")
	h.Raw(name)
	h.Always("class", class)
	h.Raw(">")
	h.Text(words)
	h.Raw("</")
	h.Raw(name)
	h.Raw(">")
}

// Attrs writes attributes that the caller of a component gave.
func (h *Writer) Attrs(attributes templ.Attributes) {
	if len(attributes) > 0 && h.err == nil {
		h.err = templ.RenderAttributes(h.ctx, appender{h}, attributes)
	}
}

// appender writes into the buffer of a Writer.
type appender struct{ h *Writer }

func (a appender) Write(data []byte) (int, error) {
	a.h.RawBytes(data)
	return len(data), nil
}

func (a appender) WriteString(data string) (int, error) {
	a.h.Raw(data)
	return len(data), nil
}

// Put writes a component; nil writes nothing.
func (h *Writer) Put(c templ.Component) {
	switch c := c.(type) {
	case nil:
	case Component:
		c(h)
	default:
		if h.flush(); h.err == nil {
			h.err = c.Render(h.ctx, h.to)
		}
	}
}
