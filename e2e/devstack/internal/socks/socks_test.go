package socks

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

type fixed struct {
	handle Handle
	err    error
	host   string
	port   int
}

func (f *fixed) At(_ context.Context, host string, port int) (Handle, error) {
	f.host, f.port = host, port
	return f.handle, f.err
}

// talk sends bytes to a server and reads as many as wanted.
func talk(t *testing.T, network Network, send []byte, want int) []byte {
	t.Helper()
	near, far := net.Pipe()
	go func() {
		if serve(context.Background(), far, network) != nil {
			_ = far.Close()
		}
	}()
	go func() { _, _ = near.Write(send) }()
	got := make([]byte, want)
	n, _ := io.ReadFull(near, got)
	_ = near.Close()
	return got[:n]
}

func TestHandshake(t *testing.T) {
	greeting := []byte{5, 1, 0}
	to := func(kind byte, addr ...byte) []byte {
		return append(append(append([]byte{}, greeting...), 5, 1, 0, kind), append(addr, 0x22, 0xb8)...)
	}
	cases := map[string]struct {
		send []byte
		err  error
		code byte
		host string
	}{
		"an IPv4 address":               {to(1, 10, 64, 0, 1), nil, 0, "10.64.0.1"},
		"a name":                        {to(3, append([]byte{9}, "svc.a.svc"...)...), nil, 0, "svc.a.svc"},
		"an IPv6 address":               {to(4, append(make([]byte, 15), 1)...), nil, 0, "::1"},
		"nothing listens":               {to(1, 10, 64, 0, 1), Refused, 5, "10.64.0.1"},
		"nobody is there":               {to(1, 10, 64, 0, 1), errors.New("no route"), 4, "10.64.0.1"},
		"another command":               {append(append([]byte{}, greeting...), 5, 2, 0, 1), nil, 7, ""},
		"an unknown address":            {append(append([]byte{}, greeting...), 5, 1, 0, 9), nil, 8, ""},
		"a client with a password only": {[]byte{5, 1, 2}, nil, 0xff, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			network := &fixed{err: c.err, handle: func(conn net.Conn) { _ = conn.Close() }}
			got := talk(t, network, c.send, 12)
			code := got[1]
			if len(got) == 12 {
				code = got[3]
			}
			if code != c.code || network.host != c.host {
				t.Errorf("want code %d for %q, got %v for %q", c.code, c.host, got, network.host)
			}
			if c.host != "" && network.port != 8888 {
				t.Errorf("want port 8888, got %d", network.port)
			}
		})
	}
}

func TestPortStopsItsConnections(t *testing.T) {
	held := make(chan net.Conn, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	port := &Port{Addr: addr, Network: &fixed{handle: func(conn net.Conn) { held <- conn }}}
	if err := port.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{5, 1, 0, 5, 1, 0, 1, 10, 64, 0, 1, 0, 80}); err != nil {
		t.Fatal(err)
	}
	<-held
	port.Stop()
	if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Logf("the connection ended with %v", err)
	}
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("want the port closed")
	}
	if err := port.Start(context.Background()); err != nil || !port.Open() {
		t.Errorf("want the port open again, got %v", err)
	}
	port.Stop()
}
