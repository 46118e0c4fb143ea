package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

const (
	trained = "/workloads/w-train-resnet/terminal"
	portal  = "http://localhost:8080" // of this world
)

// cluster is an API server with the pod of one workload. What its shell is told comes back in capitals: of channel 0
// as of channel 4, which has sizes. exit ends it.
func cluster(t *testing.T, w *webtest.World) {
	t.Helper()
	execs(t, w, func(r *http.Request, conn *websocket.Conn) {
		for {
			_, m, err := conn.Read(r.Context())
			switch {
			case err != nil:
				return
			case string(m) == "\x00exit":
				_ = conn.Write(r.Context(), websocket.MessageBinary, []byte("\x03"+`{"status":"Success"}`))
				_ = conn.Close(websocket.StatusNormalClosure, "")
				return
			case len(m) > 1 && (m[0] == 0 || m[0] == 4):
				_ = conn.Write(r.Context(), websocket.MessageBinary, append([]byte{1}, strings.ToUpper(string(m[1:]))...))
			}
		}
	})
}

// execs is an API server with the pod of one workload; answer is given each exec.
func execs(t *testing.T, w *webtest.World, answer func(*http.Request, *websocket.Conn)) {
	t.Helper()
	item := w.Work("w-train-resnet")
	at := "GET /api/v1/namespaces/" + item.Namespace + "/pods/" + item.Observed.Pod
	mux := http.NewServeMux()
	mux.HandleFunc(at, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: item.Observed.Pod, Namespace: item.Namespace, UID: "u-1",
				Labels: kube.PodSelector(item)},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}})
	})
	mux.HandleFunc(at+"/exec", func(rw http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(rw, r, &websocket.AcceptOptions{Subprotocols: []string{"v5.channel.k8s.io"}})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		answer(r, conn)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c, err := terminal.NewCluster(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	w.Terminals[item.Cluster] = c
}

// dial opens the socket as a person, from a page of an origin.
func dial(t *testing.T, w *webtest.World, p identity.Person, origin string) (*websocket.Conn, int) {
	t.Helper()
	server := httptest.NewServer(w.Handler(p, "en"))
	t.Cleanup(server.Close)
	o := &websocket.DialOptions{HTTPHeader: http.Header{}}
	if origin != "" {
		o.HTTPHeader.Set("Origin", origin)
	}
	conn, answer, err := websocket.Dial(t.Context(), server.URL+trained+"/socket", o)
	if answer == nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil, answer.StatusCode
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn, answer.StatusCode
}

func say(t *testing.T, conn *websocket.Conn, kind websocket.MessageType, text string) {
	t.Helper()
	if err := conn.Write(t.Context(), kind, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// hears is what comes until the end, and how it ended.
func hears(t *testing.T, conn *websocket.Conn, until string) (output, end string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		kind, m, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("after %q: %v", output, err)
		}
		if kind == websocket.MessageText {
			var last struct{ End string }
			if err := json.Unmarshal(m, &last); err != nil {
				t.Fatal(err)
			}
			return output, last.End
		}
		if output += string(m); until != "" && strings.Contains(output, until) {
			return output, ""
		}
	}
}

// TestATerminalThroughThePage: keys and sizes go in, output comes out, the end is said in words, and both are recorded.
func TestATerminalThroughThePage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	cluster(t, w)
	conn, status := dial(t, w, webtest.Anna, portal)
	if status != http.StatusSwitchingProtocols {
		t.Fatalf("answered %d", status)
	}
	say(t, conn, websocket.MessageText, `{"columns":120,"rows":40}`)
	hears(t, conn, `{"WIDTH":120,"HEIGHT":40}`)
	say(t, conn, websocket.MessageBinary, "ls\r")
	hears(t, conn, "LS\r")
	say(t, conn, websocket.MessageText, `{"seen":65536}`)
	say(t, conn, websocket.MessageBinary, "exit")
	if _, end := hears(t, conn, ""); end != "The shell exited with code 0." {
		t.Errorf("ended with %q", end)
	}
	if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("then %v", err)
	}
	var kinds []string
	for _, e := range w.Record() {
		if e.Kind == audit.TerminalOpened || e.Kind == audit.TerminalClosed {
			kinds = append(kinds, string(e.Kind)+" "+e.ActorName+" "+e.Workload)
		}
	}
	if got := strings.Join(kinds, ", "); got !=
		"terminal.opened Anna Albers w-train-resnet, terminal.closed Anna Albers w-train-resnet" {
		t.Errorf("recorded %s", got)
	}
}

// TestOnlyThePortalsOwnPageOpensATerminal: cookies travel with WebSockets from everywhere.
func TestOnlyThePortalsOwnPageOpensATerminal(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	cluster(t, w)
	for _, origin := range []string{"", "null", "https://localhost:8080", "http://localhost",
		"http://localhost:8080.example.org",
		"http://train-resnet.localhost:8080", "https://evil.example.org"} {
		if _, status := dial(t, w, webtest.Anna, origin); status != http.StatusForbidden {
			t.Errorf("from %q: %d", origin, status)
		}
	}
	if answer := w.Get(webtest.Anna, trained+"/socket"); answer.Code != http.StatusConflict {
		t.Errorf("without a WebSocket: %d", answer.Code)
	}
}

// TestWhoHasATerminal: the tab, the page and the socket are for the same people.
func TestWhoHasATerminal(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for who, test := range map[string]struct {
		person identity.Person
		status int
	}{"the owner": {webtest.Anna, http.StatusOK}, "a colleague": {webtest.Ben, http.StatusForbidden},
		"an administrator": {webtest.Dora, http.StatusForbidden}, "an auditor": {webtest.Eli, http.StatusForbidden},
		"another team": {webtest.Olaf, http.StatusNotFound}} {
		if got := w.Get(test.person, trained).Code; got != test.status {
			t.Errorf("%s: the page answers %d, want %d", who, got, test.status)
		}
		if _, got := dial(t, w, test.person, portal); test.status != http.StatusOK && got != test.status {
			t.Errorf("%s: the socket answers %d, want %d", who, got, test.status)
		}
		if test.status == http.StatusNotFound {
			continue
		}
		overview := read(t, w.Get(test.person, "/workloads/w-train-resnet"), http.StatusOK)
		if tab := part(overview, "tab-terminal").Length() == 1; tab != (test.status == http.StatusOK) {
			t.Errorf("%s: has the tab: %t", who, tab)
		}
		connect := read(t, w.Get(test.person, "/workloads/w-train-resnet/connect"), http.StatusOK)
		if link := part(connect, "connect-terminal").Length() == 1; link != (test.status == http.StatusOK) {
			t.Errorf("%s: has the link: %t", who, link)
		}
	}
}

// TestWhatTheTerminalPageSays: without scripts the way to another shell, and why there is none yet.
func TestWhatTheTerminalPageSays(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	doc := read(t, w.Get(webtest.Anna, trained), http.StatusOK)
	box := doc.Find("[data-terminal]")
	if at, _ := box.Attr("data-terminal"); at != trained+"/socket" {
		t.Errorf("the socket is %q", at)
	}
	if _, now := box.Attr("data-terminal-now"); !now {
		t.Error("it does not open by itself")
	}
	if text := doc.Find("noscript").Text(); !strings.Contains(text, "A terminal needs JavaScript") ||
		!strings.Contains(text, "/workloads/w-train-resnet/connect") {
		t.Errorf("without scripts: %s", text)
	}
	wantText(t, doc, "terminal-keys", "Esc then Tab leaves the terminal")
	wantAbsent(t, doc, "terminal-not-running")

	doc = read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/terminal"), http.StatusOK)
	wantText(t, doc, "terminal-not-running", "No terminal yet")
	if _, now := doc.Find("[data-terminal]").Attr("data-terminal-now"); now {
		t.Error("it opens by itself though nothing runs")
	}
}

// TestWhatATerminalIsRefusedFor is said in the open socket, since scripts do not see why one was refused: too many, and
// a cluster that does not answer.
func TestWhatATerminalIsRefusedFor(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	away, _ := dial(t, w, webtest.Anna, portal)
	if _, end := hears(t, away, ""); !strings.Contains(end, "The cluster local does not respond") {
		t.Errorf("without a cluster: %q", end)
	}
	cluster(t, w)
	for range 2 {
		one, _ := dial(t, w, webtest.Anna, portal)
		say(t, one, websocket.MessageBinary, "x")
		hears(t, one, "X")
	}
	third, _ := dial(t, w, webtest.Anna, portal)
	const many = "You already have 2 terminals and file transfers open. Close one first."
	if _, end := hears(t, third, ""); end != many {
		t.Errorf("a third: %q", end)
	}
}

// TestASocketTakesNothingElse: what the page does not send closes it, and so does a message that is too long.
func TestASocketTakesNothingElse(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		text string
		want websocket.StatusCode
	}{"no JSON": {"ls", websocket.StatusPolicyViolation},
		"something else":    {`{"run":"ls"}`, websocket.StatusPolicyViolation},
		"no size":           {`{"columns":0,"rows":3}`, websocket.StatusPolicyViolation},
		"a huge size":       {`{"columns":65536,"rows":3}`, websocket.StatusPolicyViolation},
		"less than nothing": {`{"seen":-1}`, websocket.StatusPolicyViolation},
		"much at once":      {strings.Repeat("x", 64<<10+1), websocket.StatusMessageTooBig}} {
		w := webtest.Busy(t)
		cluster(t, w)
		conn, _ := dial(t, w, webtest.Anna, portal)
		say(t, conn, websocket.MessageText, test.text)
		for {
			_, _, err := conn.Read(t.Context())
			if err == nil { // the end may be said first
				continue
			}
			if got := websocket.CloseStatus(err); got != test.want {
				t.Errorf("%s: closed with %v, want %v", what, err, test.want)
			}
			break
		}
	}
}

// TestATerminalEndsWithTheRight: who is shut out or loses it is out within moments.
func TestATerminalEndsWithTheRight(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*webtest.World){
		"signed out": func(w *webtest.World) { w.Dead.Store(true) },
		"given away": func(w *webtest.World) {
			item := w.Work("w-train-resnet")
			item.Owner, item.OwnerName = webtest.Ben.ID, webtest.Ben.Name
			w.PutWork(item)
		},
	} {
		w := webtest.Busy(t)
		cluster(t, w)
		conn, _ := dial(t, w, webtest.Anna, portal)
		say(t, conn, websocket.MessageBinary, "x")
		hears(t, conn, "X")
		end(w)
		if _, words := hears(t, conn, ""); !strings.Contains(words, "may no longer use this workload") {
			t.Errorf("%s: ended with %q", what, words)
		}
	}
}
