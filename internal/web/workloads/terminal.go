package workloads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a-h/templ"
	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

func terminalPath(id workload.ID) string { return page.WorkloadPath(id) + "/terminal" }

// workloadTerminal answers: what is it like inside.
func (w *Pages) workloadTerminal(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	rules := w.Terminals.Rules()
	if err := rules.Permit(k.Actor, s.Workload, k.Words.Now); err != nil {
		return page.View{}, err
	}
	m := workloadview.TerminalModel{Name: s.Name, Socket: terminalPath(s.ID) + "/socket",
		Connect: connectPath(page.WorkloadPath(s.ID)), State: terminalState(k.Words, s.Workload),
		Idle: k.Words.Duration(rules.Idle), Longest: k.Words.Duration(rules.Longest)}
	v := w.workloadView(k, s, workloadview.Terminal, workloadview.PageModel{Terminal: m})
	v.Parts = append(v.Parts, page.Part{ID: m.State.ID,
		Draw: func(page.Words) templ.Component { return workloadview.TerminalState(m.State) }})
	return v, nil
}

// terminalState says why there is nothing to type into, in the words of the workload's own state.
func terminalState(say page.Words, item workload.Workload) workloadview.TerminalStateModel {
	m := workloadview.TerminalStateModel{ID: "terminal-state", Path: page.WorkloadPath(item.ID)}
	if item.State != workload.Running {
		m.State, m.Reason = blocks.StateModel(say, item).Word, say.Text(item.Reason)
	}
	return m
}

// terminalSocket is the WebSocket of a terminal. What it sends and takes is said at socket. A browser does not show a
// script why a WebSocket was refused, so whatever is no matter of rights is said in the open one.
func (w *Pages) terminalSocket(c echo.Context) error {
	k := w.CallOf(c)
	id := workload.ID(c.Param("id"))
	if _, err := w.Terminals.Permit(k.Ctx, k.Actor, id); err != nil {
		return err
	}
	switch {
	case !strings.EqualFold(c.Request().Header.Get("Upgrade"), "websocket"):
		return fault.New(fault.Conflict, i18n.T("terminal.origin"))
	case !ownOrigin(w.PortalURL, c.Request()):
		return fault.New(fault.Forbidden, i18n.T("terminal.origin"))
	}
	conn, err := websocket.Accept(c.Response(), c.Request(), &websocket.AcceptOptions{
		InsecureSkipVerify: true, // ownOrigin is stricter
		CompressionMode:    websocket.CompressionDisabled})
	if err != nil {
		return nil // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	s := newSocket(k.Ctx, conn, k.Words.Text)
	defer s.stop()
	session, err := w.Terminals.Open(k.Ctx, k.Actor, id)
	if err != nil {
		s.End(k.Ctx, terminal.Words(err))
	} else {
		_, _ = session.Run(k.Ctx, s) // the client and the log know
	}
	_ = conn.Close(websocket.StatusNormalClosure, "")
	return nil
}

// ownOrigin reports whether a call comes from a page of the portal. WebSockets know no CORS and send cookies from
// wherever they are opened, and CrossOriginProtection lets every GET pass.
func ownOrigin(portal string, r *http.Request) bool {
	own, err := url.Parse(portal)
	return err == nil && strings.EqualFold(r.Header.Get("Origin"), own.Scheme+"://"+own.Host)
}

// Bounds of a socket.
const (
	mostMessage = 64 << 10  // bytes of one message of the browser
	mostUnseen  = 512 << 10 // bytes that the browser has not shown yet
	mostSide    = 1000      // characters of a window
	writeWithin = 30 * time.Second
	// The idle timeouts of proxies begin at 30 s (HAProxy of OpenShift); the pong may take longer than that of a browser
	// that a laptop's lid has just woken.
	pingEvery  = 20 * time.Second
	pongWithin = 45 * time.Second
)

// socket is a browser at a terminal. Binary messages are keys and output as they are. Texts are JSON: the browser sends
// {"columns":80,"rows":24}, and {"seen":65536} for so many bytes of output that it has shown; the portal sends
// {"end":"…"} at the end.
type socket struct {
	conn  *websocket.Conn
	words func(i18n.Text) string
	life  context.Context // that of the connection: a read or write whose context ends would close it
	stop  context.CancelFunc
	in    chan terminal.Input
	gone  chan struct{} // closed when nothing more can be read
	reads atomic.Bool   // it waits for the browser, and not for the shell

	mu     sync.Mutex
	unseen int
	seen   chan struct{} // closed when unseen has become less
}

func newSocket(ctx context.Context, conn *websocket.Conn, words func(i18n.Text) string) *socket {
	s := &socket{conn: conn, words: words, in: make(chan terminal.Input), gone: make(chan struct{}),
		seen: make(chan struct{})}
	s.life, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	conn.SetReadLimit(mostMessage)
	go s.pump()
	go s.beat()
	return s
}

var errGone = errors.New("the browser went away")

// Read gives what was typed, or another size.
func (s *socket) Read(ctx context.Context) (terminal.Input, error) {
	select {
	case in := <-s.in:
		return in, nil
	case <-s.gone:
		return terminal.Input{}, errGone
	case <-ctx.Done():
		return terminal.Input{}, ctx.Err()
	}
}

func (s *socket) pump() {
	defer close(s.gone)
	for {
		s.reads.Store(true)
		kind, data, err := s.conn.Read(s.life)
		s.reads.Store(false)
		if err != nil {
			return
		}
		in := terminal.Input{Keys: data}
		if kind == websocket.MessageText {
			var ok bool
			if in, ok = s.control(data); !ok {
				_ = s.conn.Close(websocket.StatusPolicyViolation, "")
				return
			}
		}
		if len(in.Keys) == 0 && in.Size == (terminal.Size{}) {
			continue
		}
		select {
		case s.in <- in:
		case <-s.life.Done():
			return
		}
	}
}

// control is what a text says; false for one that the page does not send.
func (s *socket) control(text []byte) (terminal.Input, bool) {
	var m struct{ Columns, Rows, Seen int }
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&m) != nil || m.Seen < 0 {
		return terminal.Input{}, false
	}
	if m.Seen > 0 {
		s.saw(m.Seen)
		return terminal.Input{}, true
	}
	if m.Columns < 1 || m.Rows < 1 || m.Columns > mostSide || m.Rows > mostSide {
		return terminal.Input{}, false
	}
	return terminal.Input{Size: terminal.Size{Columns: uint16(m.Columns), Rows: uint16(m.Rows)}}, true
}

func (s *socket) saw(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unseen = max(0, s.unseen-n)
	close(s.seen)
	s.seen = make(chan struct{})
}

// Write waits while the browser has much to show: it would keep everything in memory otherwise.
func (s *socket) Write(ctx context.Context, output []byte) error {
	for {
		seen, ok := s.room(len(output))
		if ok {
			break
		}
		select {
		case <-seen:
		case <-s.gone:
			return errGone
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithTimeout(s.life, writeWithin)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageBinary, output)
}

// room takes so many bytes where there is room for more; else it gives what is closed when there may be.
func (s *socket) room(n int) (seen <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unseen > mostUnseen {
		return s.seen, false
	}
	s.unseen += n
	return nil, true
}

// End says why it ended.
func (s *socket) End(ctx context.Context, words i18n.Text) {
	text, _ := json.Marshal(map[string]string{"end": s.words(words)}) // of texts
	_ = s.conn.Write(ctx, websocket.MessageText, text)
}

// beat keeps proxies from closing a connection on which nothing happens, and finds one whose browser is gone.
func (s *socket) beat() {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-s.gone:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(s.life, pongWithin)
		err := s.conn.Ping(ctx)
		cancel()
		if err != nil && s.reads.Load() { // else the pong may lie behind keys that the shell does not take
			_ = s.conn.CloseNow()
		}
	}
}
