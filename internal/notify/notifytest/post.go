// Package notifytest has a mail server for tests: Post listens on loopback and keeps what it is sent.
package notifytest

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
)

// Post is a mail server on loopback that keeps what it gets.
type Post struct {
	net.Listener
	mu      sync.Mutex
	mails   []string
	answers []string
}

// NewPost listens at a free port until it is closed.
func NewPost() (*Post, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Post{Listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.talk(c)
		}
	}()
	return p, nil
}

// Port is where it listens.
func (p *Post) Port() int { return p.Addr().(*net.TCPAddr).Port }

// Answer sets what the next recipients are answered, to refuse or to ask for patience; after them every one is
// accepted.
func (p *Post) Answer(answers ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = answers
}

// Mails are those that arrived, as they were sent.
func (p *Post) Mails() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mails)
}

func (p *Post) talk(c net.Conn) {
	defer c.Close()
	in := bufio.NewScanner(c)
	say := func(line string) { fmt.Fprint(c, line+"\r\n") }
	say("220 post")
	for in.Scan() {
		switch verb := strings.ToUpper(strings.Fields(in.Text() + " -")[0]); verb {
		case "EHLO", "HELO":
			say("250-post\r\n250 8BITMIME")
		case "RCPT":
			say(p.next())
		case "DATA":
			say("354 go on")
			p.keep(in)
			say("250 kept")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (p *Post) keep(in *bufio.Scanner) {
	var mail []string
	for in.Scan() && in.Text() != "." {
		mail = append(mail, in.Text())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mails = append(p.mails, strings.Join(mail, "\n"))
}

func (p *Post) next() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) == 0 {
		return "250 ok"
	}
	answer := p.answers[0]
	p.answers = p.answers[1:]
	return answer
}
