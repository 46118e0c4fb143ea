package notify

import (
	"context"
	"io"
	"log"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/googlechat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/slack"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/teams"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
)

// Chats sends to chat services, at addresses in the form of shoutrrr: slack://…, mattermost://host/token. Only services
// that take our HTTP client are here, so that nothing goes past the guard.
type Chats struct{ Client *http.Client }

type chatService interface {
	types.HTTPClientSetter
	Initialize(at *url.URL, logger types.StdLogger) error
	Send(message string, params *types.Params) error
}

var chatServices = map[string]func() chatService{
	"slack":      func() chatService { return &slack.Service{} },
	"mattermost": func() chatService { return &mattermost.Service{} },
	"rocketchat": func() chatService { return &rocketchat.Service{} },
	"discord":    func() chatService { return &discord.Service{} },
	"teams":      func() chatService { return &teams.Service{} },
	"googlechat": func() chatService { return &googlechat.Service{} },
}

// ChatServices lists the schemes of chat addresses.
func ChatServices() []string { return slices.Sorted(maps.Keys(chatServices)) }

// open reads an address; the error says nothing of it.
func (c Chats) open(address string, client types.HTTPClient) (chatService, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, refusal{errNotAllowed}
	}
	make, ok := chatServices[u.Scheme]
	if !ok {
		return nil, refusal{errNotAllowed}
	}
	service := make()
	service.SetHTTPClient(client)
	if err := service.Initialize(u, log.New(io.Discard, "", 0)); err != nil {
		return nil, refusal{errNotAllowed}
	}
	service.SetHTTPClient(client) // some begin with one of their own
	return service, nil
}

// Send says title, text and link. The library knows no context; the client's own limit ends the call.
func (c Chats) Send(_ context.Context, m Message) error {
	heard := &listener{Client: c.Client}
	service, err := c.open(m.Target.URL, heard)
	if err != nil {
		return err
	}
	err = service.Send(m.Title+"\n"+m.Body+"\n"+m.Link, &types.Params{})
	switch answered := judge(heard.status); {
	case err == nil:
		return nil
	case heard.err != nil:
		return plainly(heard.err, m.Target.URL)
	case heard.status > 0 && answered != nil:
		return answered
	}
	return plainly(err, m.Target.URL)
}

// listener remembers what came of the last call: the libraries of the chats make words of it, each its own.
type listener struct {
	*http.Client
	status int // 0 while nothing was answered
	err    error
}

// Do sends the request and keeps the answer's status for the failure.
func (l *listener) Do(r *http.Request) (*http.Response, error) {
	answer, err := l.Client.Do(r)
	l.status, l.err = 0, err
	if err == nil {
		l.status = answer.StatusCode
	}
	return answer, err
}
