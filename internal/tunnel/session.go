package tunnel

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/session"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Session is one tunnel.
type Session struct {
	service  *Service
	actor    identity.Actor
	workload workload.Workload
	port     int32
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

// Client is a person's program. Deadlines of writes must work; those of reads are not set.
type Client interface {
	net.Conn
	// End is called once, after all bytes and before Close: how it ended.
	End(ctx context.Context, end End)
}

// Bounds of what comes after a session.
const (
	tellWithin   = 2 * time.Second
	recordWithin = 5 * time.Second
)

// Run passes bytes until the session is over, and closes both connections. An error: it could not be recorded that it
// starts, and nothing passed.
func (s *Session) Run(ctx context.Context, client Client) (End, error) {
	defer s.Close()
	defer func() { _ = client.Close() }()
	o, began := s.service.o, s.service.o.Now()
	port := digits(s.port)
	if err := s.record(ctx, audit.TunnelOpened, i18n.T("tunnel.opened", "Port", port)); err != nil {
		o.Logger.ErrorContext(ctx, "the start of a tunnel could not be recorded", "workload", s.workload.ID, "error", err)
		return End{}, err
	}
	end := s.pass(ctx, client)
	end.Lasted = o.Now().Sub(began)
	o.Ended(end.Reason)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	if err := s.record(ctx, audit.TunnelClosed, i18n.T("tunnel.closed", "Port", port, "For",
		catalog.Duration(end.Lasted.Round(time.Second)).String(), "Sent", end.Sent, "Received", end.Received, "End",
		end.Words())); err != nil {
		o.Logger.ErrorContext(ctx, "the end of a tunnel could not be recorded", "workload", s.workload.ID, "person",
			s.actor.Person.ID, "reason", end.Reason, "error", err)
	}
	return end, nil
}

func (s *Session) record(ctx context.Context, kind audit.Kind, detail i18n.Text) error {
	w := s.workload
	e := audit.By(s.actor, kind, s.service.o.Now())
	e.Tenant, e.Workload, e.Detail = w.Tenant, string(w.ID), detail
	return s.service.o.Record.Append(ctx, e)
}

func (s *Session) pass(ctx context.Context, client Client) End {
	o := s.service.o
	life := s.service.pool.Begin(ctx, session.Present(s.check, s.service.o.Visits, s.actor.Person.ID,
		s.workload.ID, s.service.o.Now))
	defer life.Stop()
	var passed, sent, received atomic.Int64
	way := func(from, to net.Conn, count *atomic.Int64, gone, unreachable Reason) *copying {
		return &copying{from: from, to: to, count: count, all: &passed, most: o.Rules.MaxBytes, patience: o.Patience,
			life: life, gone: gone, unreachable: unreachable, done: make(chan struct{})}
	}
	up, down := way(client, s.pod, &sent, Left, Closed), way(s.pod, client, &received, Closed, Left)
	go up.run()
	go down.run()
	go func() {
		<-up.done
		<-down.done
		life.End(Closed) // each side has ended its direction
	}()
	<-life.Context().Done()
	finished := End{}
	finished.Reason, _ = life.Reason()
	_ = s.pod.Close() // what still reads or writes ends with its connection
	told, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellWithin)
	client.End(told, finished)
	cancel()
	_ = client.Close()
	<-up.done
	<-down.done
	finished.Sent, finished.Received = sent.Load(), received.Load()
	return finished
}

// check ends a session when who has it may no longer, or its pod went away.
func (s *Session) check(ctx context.Context) Reason {
	w, err := s.service.Permit(ctx, s.actor, s.workload.ID)
	switch {
	case session.Denied(err):
		return NoLonger
	case err == nil && !s.same(w):
		return PodGone
	}
	return ""
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
	life        *session.Life
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
			c.life.Stir()
			if c.all.Add(int64(n)) > c.most {
				c.life.End(TooMuch)
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
				c.life.End(reason)
				return
			}
		}
		if err != nil {
			_, halves := c.from.(halfCloser)
			to, both := c.to.(halfCloser)
			if !errors.Is(err, io.EOF) || !halves || !both || to.CloseWrite() != nil {
				c.life.End(c.gone)
			}
			return
		}
	}
}
