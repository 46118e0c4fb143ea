package gateway

import (
	"io"
	"sync"
)

// Sizes of the buffers between a caller and a pod. Most of what stays open is idle or sends little at a time, and keeps
// its buffer meanwhile.
const (
	pageBuffer   = 8 << 10 // of answers: pages, files
	streamBuffer = 2 << 10 // of answers of endpoints: mostly streams of small events
	socketBuffer = 1 << 10 // of each direction of a websocket while it has little to say
	// of the transport, for headers; bodies go past them
	headerBuffer = 2 << 10
)

// buffers lends the copying loop its buffers.
type buffers struct {
	size int
	pool sync.Pool
}

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, b.size)
}

func (b *buffers) Put(buf []byte) {
	if len(buf) == b.size {
		b.pool.Put(&buf)
	}
}

var bursts = buffers{size: pageBuffer}

// copySparely is io.Copy with a small buffer, and a larger one for as long as that is filled.
func copySparely(to io.Writer, from io.Reader) (n int64, err error) {
	small := make([]byte, socketBuffer)
	for {
		read, err := copyOnce(to, from, small)
		n += int64(read)
		if err == nil && read == len(small) {
			var burst int64
			burst, err = copyBurst(to, from)
			n += burst
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func copyBurst(to io.Writer, from io.Reader) (n int64, err error) {
	large := bursts.Get()
	defer bursts.Put(large)
	for read := len(large); err == nil && read == len(large); n += int64(read) {
		read, err = copyOnce(to, from, large)
	}
	return n, err
}

// copyOnce passes on what one read gives; io.EOF at the end.
func copyOnce(to io.Writer, from io.Reader, buf []byte) (int, error) {
	read, err := from.Read(buf)
	if read > 0 {
		if wrote, failed := to.Write(buf[:read]); failed != nil {
			return wrote, failed
		}
	}
	return read, err
}
