package world

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// between is the pause between two tries to connect.
const between = 200 * time.Millisecond

// Dial connects to the API server, and while nothing listens there, waits for it, until ctx ends where it does. A
// refused connection never reaches the watches, which would pause up to a minute after an outage (client-go's reflector
// backs off) and leave the caches old while the next test already uses them.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, network, addr)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(between):
		}
	}
}
