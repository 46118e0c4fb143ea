package gateway

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// connected gives both ends of a TCP connection, which are closed with the test.
func connected(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	one, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{one, other} {
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	return one.(*net.TCPConn), other.(*net.TCPConn)
}

// opened is a socket between a browser and a pod, as the proxy leaves it.
func opened(t *testing.T) (browser, pod *net.TCPConn, ends *atomic.Int32) {
	t.Helper()
	browser, near := connected(t)
	pod, behind := connected(t)
	ends = &atomic.Int32{}
	c := &call{lasts: true}
	c.atEnd(func() { ends.Add(1) })
	s := &socket{Conn: near, pod: &podConn{ReadWriteCloser: behind}, call: c}
	c.ResponseWriter = nil
	for range 2 { // it copies in both directions
		if _, err := io.Copy(s, s.pod); !errors.Is(err, errLasts) {
			t.Fatal(err)
		}
		if _, err := io.Copy(s.pod, s); !errors.Is(err, errLasts) {
			t.Fatal(err)
		}
	}
	c.handled()
	if err := errors.Join(s.pod.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return browser, pod, ends
}

func TestASocketOutlivesItsHandler(t *testing.T) {
	browser, pod, ends := opened(t)
	large := strings.Repeat("0123456789", 100_000)
	for _, way := range []struct{ from, to *net.TCPConn }{{browser, pod}, {pod, browser}} {
		for _, text := range []string{"a", large} {
			go func() { _, _ = io.WriteString(way.from, text) }()
			got := make([]byte, len(text))
			if _, err := io.ReadFull(way.to, got); err != nil || string(got) != text {
				t.Fatalf("%d bytes did not come through: %v", len(text), err)
			}
		}
	}
	if n := ends.Load(); n != 0 {
		t.Fatalf("it has ended %d times while it is open", n)
	}
	// who has said everything still hears the rest
	_ = browser.CloseWrite()
	if rest, err := io.ReadAll(pod); err != nil || len(rest) > 0 {
		t.Fatalf("want the end at the pod, got %q, %v", rest, err)
	}
	_, _ = io.WriteString(pod, "bye")
	_ = pod.Close()
	if rest, err := io.ReadAll(browser); err != nil || string(rest) != "bye" {
		t.Fatalf("want the pod's last words, got %q, %v", rest, err)
	}
	waitFor(t, "the call is over once", func() bool { return ends.Load() == 1 })
}

func TestASocketEndsWithAFailureOfOneSide(t *testing.T) {
	for name, fails := range map[string]func(browser, pod *net.TCPConn) (left *net.TCPConn){
		"the browser": func(browser, pod *net.TCPConn) *net.TCPConn {
			_ = browser.SetLinger(0) // a reset
			_ = browser.Close()
			return pod
		},
		"the pod": func(browser, pod *net.TCPConn) *net.TCPConn {
			_ = pod.SetLinger(0)
			_ = pod.Close()
			return browser
		},
	} {
		t.Run(name, func(t *testing.T) {
			browser, pod, ends := opened(t)
			_, _ = io.Copy(io.Discard, fails(browser, pod)) // until it is closed
			waitFor(t, "the call is over once", func() bool { return ends.Load() == 1 })
		})
	}
}

// TestASocketThatNeverBegan: the browser has gone before it read that the pod agreed.
func TestASocketThatNeverBegan(t *testing.T) {
	browser, near := connected(t)
	pod, behind := connected(t)
	ends := 0
	c := &call{lasts: true}
	c.atEnd(func() { ends++ })
	s := &socket{Conn: near, pod: &podConn{ReadWriteCloser: behind}, call: c}
	if err := errors.Join(s.Close(), s.pod.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{browser, pod} {
		if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
			t.Errorf("want it closed, got %q, %v", rest, err)
		}
	}
	if c.handled(); ends != 1 {
		t.Errorf("the call ended %d times", ends)
	}
}
