package socks

import (
	"context"
	"net"
	"sync"
)

// Port is a SOCKS5 server that can be stopped and started again at the same address.
type Port struct {
	Addr    string
	Network Network

	mu       sync.Mutex
	listener *tracking
}

// Start opens the port; it does nothing when it is open.
func (p *Port) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", p.Addr)
	if err != nil {
		return err
	}
	p.listener = &tracking{Listener: l, open: map[net.Conn]bool{}}
	go func(l *tracking) { _ = Serve(ctx, l, p.Network) }(p.listener)
	return nil
}

// Stop closes the port and every connection through it.
func (p *Port) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.closeAll()
		p.listener = nil
	}
}

// Open says whether the port is open.
func (p *Port) Open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listener != nil
}

// tracking knows the connections that it accepted.
type tracking struct {
	net.Listener
	mu   sync.Mutex
	open map[net.Conn]bool
}

func (t *tracking) Accept() (net.Conn, error) {
	conn, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[conn] = true
	return &tracked{Conn: conn, from: t}, nil
}

func (t *tracking) closeAll() {
	_ = t.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	for conn := range t.open {
		_ = conn.Close()
	}
}

type tracked struct {
	net.Conn
	from *tracking
}

func (c *tracked) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c.Conn)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends one direction, for Relay.
func (c *tracked) CloseWrite() error {
	if half, ok := c.Conn.(*net.TCPConn); ok {
		return half.CloseWrite()
	}
	return nil
}
