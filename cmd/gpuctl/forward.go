package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
	"github.com/spf13/cobra"

	"github.com/gpu-portal/gpu-portal/internal/apiclient"
)

func (c *cli) forward() *cobra.Command {
	return &cobra.Command{Use: "forward WORKLOAD [LOCAL:]PORT…",
		Short: "Forward local ports to TCP ports of a workload",
		Long: "Forward local ports to TCP ports of a workload, through the portal, until you press Ctrl-C.\n\n" +
			"PORT is the name or the number of a port that its image has; gpuctl get says which there are. LOCAL is the port " +
			"of this computer: the same number if you leave it out, any free one if it is 0. Only programs of this computer " +
			"get there.",
		Example: "  gpuctl forward train tensorboard\n  gpuctl forward train 16006:tensorboard 0:grpc",
		Args:    cobra.MinimumNArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return c.completeWorkloads(cmd, args, typed)
			}
			return c.completePorts(cmd.Context(), args[0])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := c.portal()
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			a, err := find(ctx, client, strings.TrimSuffix(args[0], suffix))
			if err != nil {
				return err
			}
			list, err := forwardsOf(a.Value, args[1:])
			if err != nil {
				return err
			}
			if err := running(a.Value); err != nil {
				return err
			}
			return c.forwardAll(ctx, client, a.Value, list)
		}}
}

func (c *cli) completePorts(ctx context.Context, workload string) ([]string, cobra.ShellCompDirective) {
	client, err := c.portal()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a, err := find(ctx, client, workload)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return portNames(a.Value), cobra.ShellCompDirectiveNoFileComp
}

// forward is a port of this computer (0: any free one) and the one of the workload that it leads to.
type forward struct {
	local, remote int32
	name          string
}

// portNames are the names of the ports of a workload that a tunnel leads to.
func portNames(w apiclient.Workload) []string {
	names := slices.Collect(maps.Keys(w.Ports))
	if w.Ssh != nil {
		names = append(names, "ssh")
	}
	slices.Sort(names)
	return names
}

// forwardsOf reads [LOCAL:]PORT.
func forwardsOf(w apiclient.Workload, args []string) ([]forward, error) {
	var list []forward
	for _, arg := range args {
		local, port, both := strings.Cut(arg, ":")
		if !both {
			port = local
		}
		f, known := portOf(w, port)
		switch {
		case !known && len(portNames(w)) == 0:
			return nil, exitf(conflict, "The image %s of %s defines no ports. Choose another one; gpuctl images -o json says "+
				"which.", w.Image, w.Name)
		case !known:
			return nil, exitf(conflict, "%s has no port %q. It has: %s.", w.Name, port, strings.Join(portNames(w), ", "))
		}
		if f.local = f.remote; both {
			n, err := strconv.ParseUint(local, 10, 16)
			if err != nil {
				return nil, exitf(wrong, "%q is not a local port: use 1 to 65535, or 0 for any free one.", local)
			}
			f.local = int32(n) //nolint:gosec // of 16 bits
		}
		list = append(list, f)
	}
	return list, nil
}

// portOf is the port that a name or a number means.
func portOf(w apiclient.Workload, wanted string) (forward, bool) {
	if w.Ssh != nil && (wanted == "ssh" || wanted == strconv.Itoa(int(w.Ssh.Port))) {
		return forward{remote: w.Ssh.Port, name: "ssh"}, true
	}
	for name, number := range w.Ports {
		if wanted == name || wanted == strconv.Itoa(int(number)) {
			return forward{remote: number, name: name}, true
		}
	}
	return forward{}, false
}

// forwardAll listens on loopback until the context ends. One port that cannot be listened on is an error of all.
func (c *cli) forwardAll(ctx context.Context, client *apiclient.Client, w apiclient.Workload, list []forward) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	failures := make(chan error, len(list))
	for _, f := range list {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(f.local))))
		if err != nil {
			return exitf(failed, "Cannot listen on local port %d: %v. For any free port use 0:%s.", f.local,
				err, f.name)
		}
		context.AfterFunc(ctx, func() { _ = l.Close() })
		fmt.Fprintf(c.out, "%s leads to %s (%d) of %s\n", l.Addr(), f.name, f.remote, clean(w.Name))
		all.Go(func() { failures <- c.accept(ctx, client, w, f, l) })
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-failures:
		return err
	}
}

// accept gives each connection a tunnel of its own. A refusal of the portal is said and closes the connection; others
// may still be let in.
func (c *cli) accept(ctx context.Context, client *apiclient.Client, w apiclient.Workload, f forward,
	l net.Listener) error {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		local, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		all.Go(func() {
			defer func() { _ = local.Close() }()
			conn, err := apiclient.Tunnel(ctx, client, w.Id, f.name)
			if err == nil {
				stop := context.AfterFunc(ctx, func() { _ = local.Close() })
				defer stop()
				err = pass(ctx, conn, local, local)
			}
			if err != nil && ctx.Err() == nil {
				c.says.Lock()
				defer c.says.Unlock()
				c.explain(err)
			}
		})
	}
}

const (
	chunk       = 32 << 10
	mostMessage = 1 << 20
)

// pass copies both ways until one of them ends. That who reads out or writes in has left is no error.
func pass(ctx context.Context, conn *websocket.Conn, in io.Reader, out io.Writer) error {
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(mostMessage)
	var left atomic.Bool
	go func() {
		to := &messages{ctx: ctx, conn: conn}
		_, _ = io.CopyBuffer(to, struct{ io.Reader }{in}, make([]byte, chunk))
		left.Store(to.err == nil)
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}()
	for {
		kind, message, err := conn.Read(ctx)
		switch {
		case err != nil && (left.Load() || websocket.CloseStatus(err) == websocket.StatusNormalClosure):
			return nil
		case err != nil:
			return fmt.Errorf("connection to the portal lost: %w", err)
		case kind == websocket.MessageText:
			var last struct{ End string }
			if json.Unmarshal(message, &last) != nil || last.End == "" {
				last.End = "The portal ended the connection."
			}
			return exitf(failed, "%s", last.End)
		}
		if _, err := out.Write(message); err != nil {
			return nil //nolint:nilerr // it has left
		}
	}
}

// messages makes a binary message of each write.
type messages struct {
	ctx  context.Context
	conn *websocket.Conn
	err  error
}

func (m *messages) Write(p []byte) (int, error) {
	m.err = m.conn.Write(m.ctx, websocket.MessageBinary, p)
	return len(p), m.err
}
