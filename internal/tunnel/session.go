package tunnel

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Session is one tunnel.
type Session struct {
	service  *Service
	actor    identity.Actor
	workload workload.Workload
	pod      net.Conn
	leave    func()
}

// Workload is the one that it leads to.
func (s *Session) Workload() workload.Workload { return s.workload }

// Close gives the place back of a session that does not run.
func (s *Session) Close() {
	s.leave()
	_ = s.pod.Close()
}

// over is the cause of a session's end.
type over struct{ reason Reason }

func (o over) Error() string { return string(o.reason) }

// Run passes bytes until the session is over, and closes both connections.
func (s *Session) Run(ctx context.Context, client net.Conn) End {
	defer s.Close()
	defer func() { _ = client.Close() }()
	o, began := s.service.o, s.service.o.Now()
	ctx, end := context.WithCancelCause(ctx)
	defer end(context.Canceled)
	defer context.AfterFunc(s.service.closing, func() { end(over{Stopping}) })()
	defer time.AfterFunc(o.Rules.Longest, func() { end(over{TooLong}) }).Stop()
	idle := time.AfterFunc(o.Rules.Idle, func() { end(over{Idle}) })
	defer idle.Stop()
	go s.guard(ctx, end)

	var passed, sent, received atomic.Int64
	way := func(from, to net.Conn, count *atomic.Int64, gone, unreachable Reason) *copying {
		return &copying{from: from, to: to, count: count, all: &passed, most: o.Rules.MaxBytes, patience: o.Patience,
			stir: func() { idle.Reset(o.Rules.Idle) }, end: end, gone: gone, unreachable: unreachable,
			done: make(chan struct{})}
	}
	up, down := way(client, s.pod, &sent, Left, Closed), way(s.pod, client, &received, Closed, Left)
	go up.run()
	go down.run()
	go func() {
		<-up.done
		<-down.done
		end(over{Closed}) // each side has ended its direction
	}()
	<-ctx.Done()
	_ = s.pod.Close() // what still reads or writes ends with its connection
	_ = client.Close()
	<-up.done
	<-down.done
	finished := End{Reason: Left, Lasted: o.Now().Sub(began), Sent: sent.Load(), Received: received.Load()}
	var why over
	if errors.As(context.Cause(ctx), &why) {
		finished.Reason = why.reason
	}
	return finished
}

// guard ends a session when who has it may no longer, or its pod went away.
func (s *Session) guard(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(s.service.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w, err := s.service.Permit(ctx, s.actor, s.workload.ID)
		switch {
		case fault.Is(err, fault.NotFound), fault.Is(err, fault.Forbidden), !s.service.o.Alive(ctx):
			end(over{NoLonger})
		case err == nil && !s.same(w):
			end(over{PodGone})
		}
	}
}

// same reports whether the workload still runs where the session leads. A name alone may be another pod's by now.
func (s *Session) same(w workload.Workload) bool {
	return w.Desired == workload.WantRunning && w.State == workload.Running &&
		w.Generation == s.workload.Generation && w.Observed.Pod == s.workload.Observed.Pod &&
		w.Observed.PodIP == s.workload.Observed.PodIP
}

// halfCloser can end the direction in which it writes, and still be read.
type halfCloser interface{ CloseWrite() error }

// copying is one direction.
type copying struct {
	from, to    net.Conn
	count, all  *atomic.Int64
	most        int64 // of both directions
	patience    time.Duration
	stir        func()
	end         context.CancelCauseFunc
	gone        Reason // the reader's connection broke
	unreachable Reason // the writer's did
	done        chan struct{}
}

// run copies until one side ends. Where both connections can end one direction alone, as TCP can, an orderly end goes
// on to the other side, which may still have something to say; every other end is that of the session.
func (c *copying) run() {
	defer close(c.done)
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.from.Read(buffer)
		if n > 0 {
			c.stir()
			if c.all.Add(int64(n)) > c.most {
				c.end(over{TooMuch})
				return
			}
			_ = c.to.SetWriteDeadline(time.Now().Add(c.patience))
			written, err := c.to.Write(buffer[:n])
			c.count.Add(int64(written))
			if err != nil {
				reason := c.unreachable
				if errors.Is(err, os.ErrDeadlineExceeded) {
					reason = Slow
				}
				c.end(over{reason})
				return
			}
		}
		if err != nil {
			_, halves := c.from.(halfCloser)
			to, both := c.to.(halfCloser)
			if !errors.Is(err, io.EOF) || !halves || !both || to.CloseWrite() != nil {
				c.end(over{c.gone})
			}
			return
		}
	}
}
