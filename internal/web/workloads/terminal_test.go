package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// TestOutputWaitsForTheBrowser: no more is sent than a browser has shown, so that neither side keeps it in memory.
func TestOutputWaitsForTheBrowser(t *testing.T) {
	sockets, done := make(chan *socket), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		s := newSocket(r.Context(), conn, func(i18n.Text) string { return "" })
		defer s.stop()
		sockets <- s
		<-done
	}))
	defer server.Close()
	defer close(done)
	browser, _, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = browser.CloseNow() }()
	browser.SetReadLimit(-1)
	go func() { // it takes everything, and shows nothing
		for {
			if _, _, err := browser.Read(context.Background()); err != nil {
				return
			}
		}
	}()
	s, chunk := <-sockets, make([]byte, 32<<10)
	waitsNot, cancel := context.WithCancel(t.Context())
	cancel()
	sent := 0
	for sent < 10*mostUnseen {
		if err := s.Write(waitsNot, chunk); err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			break
		}
		sent += len(chunk)
	}
	if sent != mostUnseen+len(chunk) {
		t.Errorf("%d bytes are sent to a browser that shows none", sent)
	}
	text, _ := json.Marshal(map[string]int{"seen": sent})
	if err := browser.Write(t.Context(), websocket.MessageText, text); err != nil {
		t.Fatal(err)
	}
	waittest.For(t, "room", func() bool { return s.Write(waitsNot, chunk) == nil })
}
