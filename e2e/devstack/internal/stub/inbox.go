package stub

import (
	"context"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// podConn is a connection that has reached its pod.
type podConn struct {
	net.Conn
	workload *Workload
	face     http.Handler // in place of the workload's, for what is no workload
	port     int
	target   Target
	ip       string
	uid      types.UID
	ended    func(*podConn)
}

// Close also takes the connection out of its network's list.
func (c *podConn) Close() error {
	if c.ended != nil {
		c.ended(c)
	}
	return c.Conn.Close()
}

// inbox is a net.Listener that is fed with connections instead of accepting them.
type inbox struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newInbox() *inbox {
	return &inbox{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (i *inbox) put(conn net.Conn) {
	select {
	case i.conns <- conn:
	case <-i.closed:
		_ = conn.Close()
	}
}

func (i *inbox) Accept() (net.Conn, error) {
	select {
	case conn := <-i.conns:
		return conn, nil
	case <-i.closed:
		return nil, net.ErrClosed
	}
}

func (i *inbox) Close() error   { return nil }
func (i *inbox) Addr() net.Addr { return &net.TCPAddr{} }

type connKey struct{}

// serve answers all connections with one http.Server; each request finds its pod through its connection.
func (i *inbox) serve(ctx context.Context, memory *Memory) {
	server := &http.Server{
		Handler:           faces(memory),
		ReadHeaderTimeout: 30 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{},
				c)
		},
	}
	go func() {
		<-ctx.Done()
		close(i.closed)
		_ = server.Close()
	}()
	_ = server.Serve(i)
}

func faces(memory *Memory) http.Handler {
	jupyter, model := jupyterFace(memory), modelFace(memory)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if face := connOf(r).face; face != nil {
			face.ServeHTTP(w, r)
			return
		}
		if connOf(r).port == jupyterPort {
			jupyter.ServeHTTP(w, r)
			return
		}
		model.ServeHTTP(w, r)
	})
}

func connOf(r *http.Request) *podConn { return r.Context().Value(connKey{}).(*podConn) }

func workloadOf(r *http.Request) *Workload { return connOf(r).workload }
