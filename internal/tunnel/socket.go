package tunnel

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Bounds of a socket.
const (
	mostMessage = 1 << 20 // bytes of one message of the program
	// The idle timeouts of proxies begin at 30 s (HAProxy of OpenShift).
	pingEvery  = 20 * time.Second
	pongWithin = 45 * time.Second
)

// Socket is a person's program at a WebSocket. Binary messages are the bytes of the connection as they are. The portal
// sends one text at the end, {"end":"…"}, unless the server in the pod has closed the connection itself.
type Socket struct {
	net.Conn // addresses, and deadlines that nobody sets
	conn     *websocket.Conn
	say      func(i18n.Text) string
	life     context.Context // that of the connection: a read or write whose context ends would close it
	stop     context.CancelFunc
	reader   io.Reader
	deadline atomic.Pointer[time.Time]
}

// NewSocket takes a WebSocket that has been accepted; Close ends it.
func NewSocket(ctx context.Context, conn *websocket.Conn, say func(i18n.Text) string) *Socket {
	s := &Socket{conn: conn, say: say}
	s.life, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	conn.SetReadLimit(mostMessage)
	go s.beat()
	return s
}

// Read gives what the program sends. A text is none of its messages.
func (s *Socket) Read(p []byte) (int, error) {
	for {
		if s.reader == nil {
			kind, r, err := s.conn.Reader(s.life)
			if err != nil {
				return 0, err
			}
			if kind != websocket.MessageBinary {
				_ = s.conn.Close(websocket.StatusUnsupportedData, "")
				return 0, io.ErrUnexpectedEOF
			}
			s.reader = r
		}
		n, err := s.reader.Read(p)
		if err == io.EOF { // of the message
			s.reader, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// SetWriteDeadline is for the writes that begin after it.
func (s *Socket) SetWriteDeadline(t time.Time) error {
	s.deadline.Store(&t)
	return nil
}

func (s *Socket) Write(p []byte) (int, error) {
	ctx := s.life
	if at := s.deadline.Load(); at != nil && !at.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, *at)
		defer cancel()
	}
	if err := s.conn.Write(ctx, websocket.MessageBinary, p); err != nil {
		if s.life.Err() == nil && ctx.Err() != nil {
			err = os.ErrDeadlineExceeded
		}
		return 0, err
	}
	return len(p), nil
}

// End says why it ended, and closes the WebSocket in order.
func (s *Socket) End(ctx context.Context, end End) {
	if end.Reason != Closed && end.Reason != Left {
		text, _ := json.Marshal(map[string]string{"end": s.say(end.Words())}) // of texts
		if s.conn.Write(ctx, websocket.MessageText, text) != nil {
			return
		}
	}
	_ = s.conn.Close(websocket.StatusNormalClosure, "")
}

// Close ends the connection at once.
func (s *Socket) Close() error {
	s.stop()
	return s.conn.CloseNow()
}

// beat keeps proxies from closing a connection on which nothing happens, and finds one whose program is gone. A pong
// can wait behind bytes that the pod does not take, but for no longer than a session's patience.
func (s *Socket) beat() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(s.life, pongWithin)
		err := s.conn.Ping(ctx)
		cancel()
		if err != nil {
			_ = s.conn.CloseNow()
			return
		}
	}
}
