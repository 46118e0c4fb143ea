package gateway

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// socket is the connection of a browser after a websocket has taken it over. Notebooks keep some open for days, mostly
// with nothing to say. httputil.ReverseProxy would keep the handler of the call for as long, with its stack, the
// request, and the buffers of the server, and copy with 32 KiB in each direction. It copies by ReadFrom and WriteTo
// where a connection has them: here they begin to copy in both directions and tell the proxy that it is done, so that
// the handler returns. What the proxy closes then stays open until both directions have ended.
type socket struct {
	net.Conn // of the browser
	pod      *podConn
	call     *call

	begins sync.Once
	half   atomic.Bool // one direction has ended
}

// errLasts is what the proxy hears of a websocket that goes on without it.
var errLasts = errors.New("gateway: the websocket goes on without its handler")

// ReadFrom is asked to send to the browser what the pod says.
func (s *socket) ReadFrom(io.Reader) (int64, error) { return 0, s.begin() }

// WriteTo is asked to send to the pod what the browser says.
func (s *socket) WriteTo(io.Writer) (int64, error) { return 0, s.begin() }

func (s *socket) begin() error {
	s.begins.Do(func() {
		s.pod.lasts.Store(true)
		go s.copy(s.pod, s.Conn)
		go s.copy(s.Conn, s.pod)
	})
	return errLasts
}

// copy is one direction. At its end the other side hears that this one says no more, so that it may finish; after a
// failure both are closed. The call is over with the second direction.
func (s *socket) copy(to io.Writer, from io.Reader) {
	_, err := copySparely(to, from)
	last := s.half.Swap(true)
	if c, ok := to.(interface{ CloseWrite() error }); last || err != nil || !ok || c.CloseWrite() != nil {
		_ = s.Conn.Close()
		_ = s.pod.ReadWriteCloser.Close()
	}
	if last {
		s.call.over()
	}
}

// Close is called by the proxy when it is done: with a websocket that lasts, or with one that has not begun because the
// browser went away.
func (s *socket) Close() error {
	if s.pod.lasts.Load() {
		return nil
	}
	s.call.over()
	return s.Conn.Close()
}

// podConn is the connection to the pod of a websocket.
type podConn struct {
	io.ReadWriteCloser
	lasts atomic.Bool // Close does nothing any more
}

// Close is called by the proxy when it is done, or its call is.
func (p *podConn) Close() error {
	if p.lasts.Load() {
		return nil
	}
	return p.ReadWriteCloser.Close()
}

// CloseWrite tells the pod that the browser says no more.
func (p *podConn) CloseWrite() error {
	if c, ok := p.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}
