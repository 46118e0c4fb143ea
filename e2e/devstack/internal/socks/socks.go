// Package socks is a SOCKS5 server (RFC 1928; CONNECT, no sign-in) that does not dial: it asks a Network what stands at
// an address and hands the connection over. It is the only road into the pod network of the devstack.
package socks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Network tells what stands at an address. Handle takes over the connection. Errors are Refused, or anything else for a
// host that cannot be reached.
type Network interface {
	At(ctx context.Context, host string, port int) (Handle, error)
}

// Handle serves one connection and closes it.
type Handle func(net.Conn)

// Refused says that the host is there and nothing listens.
var Refused = errors.New("connection refused")

// The replies of RFC 1928, section 6.
const (
	version          = 5
	succeeded        = 0
	hostUnreachable  = 4
	refused          = 5
	commandUnknown   = 7
	addressUnknown   = 8
	connect          = 1
	addrIPv4         = 1
	addrName         = 3
	addrIPv6         = 4
	noSignIn         = 0
	noMethodFits     = 0xff
	handshakeTimeout = 10 * time.Second
)

// Serve accepts connections until the listener is closed.
func Serve(ctx context.Context, l net.Listener, network Network) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go func() {
			if err := serve(ctx, conn, network); err != nil {
				_ = conn.Close()
			}
		}()
	}
}

func serve(ctx context.Context, conn net.Conn, network Network) error {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	if err := greet(conn); err != nil {
		return err
	}
	host, port, err := request(conn)
	if err != nil {
		return err
	}
	handle, err := network.At(ctx, host, port)
	switch {
	case errors.Is(err, Refused):
		return errors.Join(err, reply(conn, refused))
	case err != nil:
		return errors.Join(err, reply(conn, hostUnreachable))
	}
	if err := reply(conn, succeeded); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Time{})
	handle(conn)
	return nil
}

func greet(conn net.Conn) error {
	var head [2]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(conn, methods); err != nil {
		return err
	}
	if head[0] != version {
		return fmt.Errorf("SOCKS version %d", head[0])
	}
	for _, m := range methods {
		if m == noSignIn {
			_, err := conn.Write([]byte{version, noSignIn})
			return err
		}
	}
	_, _ = conn.Write([]byte{version, noMethodFits})
	return errors.New("the client wants to sign in")
}

func request(conn net.Conn) (host string, port int, err error) {
	var head [4]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return "", 0, err
	}
	if head[1] != connect {
		return "", 0, errors.Join(fmt.Errorf("command %d", head[1]), reply(conn, commandUnknown))
	}
	size := 0
	switch head[3] {
	case addrIPv4:
		size = net.IPv4len
	case addrIPv6:
		size = net.IPv6len
	case addrName:
		var length [1]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return "", 0, err
		}
		size = int(length[0])
	default:
		return "", 0, errors.Join(fmt.Errorf("address type %d", head[3]), reply(conn, addressUnknown))
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return "", 0, err
	}
	host = string(rest[:size])
	if head[3] != addrName {
		host = net.IP(rest[:size]).String()
	}
	return host, int(binary.BigEndian.Uint16(rest[size:])), nil
}

// reply answers the request; the bound address, which nobody reads, is all zeros.
func reply(conn net.Conn, code byte) error {
	_, err := conn.Write([]byte{version, code, 0, addrIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

// Relay copies both ways between the connection and a real server until both sides have ended.
func Relay(addr string) Handle {
	return func(conn net.Conn) {
		defer conn.Close()
		far, err := net.DialTimeout("tcp", addr, 5*time.Second)
		if err != nil {
			return
		}
		defer far.Close()
		done := make(chan struct{})
		go func() {
			_, _ = io.Copy(far, conn)
			closeWrite(far)
			close(done)
		}()
		_, _ = io.Copy(conn, far)
		closeWrite(conn)
		<-done
	}
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
