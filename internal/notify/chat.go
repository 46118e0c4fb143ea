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

// Chats sends to chat services, at addresses in the form of shoutrrr: slack://…, mattermost://host/token. Only services that take our HTTP client are here, so that nothing
// goes past the guard.
type Chats struct{ Client *http.Client }

type chatService interface {
	types.HTTPClientSetter
	Initialize(at *url.URL, logger types.StdLogger) error
	Send(message string, params *types.Params) error
}

var chatServices = map[string]func() chatService{
	"slack": func() chatService { return &slack.Service{} }, "mattermost": func() chatService { return &mattermost.Service{} },
	"rocketchat": func() chatService { return &rocketchat.Service{} }, "discord": func() chatService { return &discord.Service{} },
	"teams": func() chatService { return &teams.Service{} }, "googlechat": func() chatService { return &googlechat.Service{} },
}

// ChatServices lists the schemes of chat addresses.
func ChatServices() []string { return slices.Sorted(maps.Keys(chatServices)) }

// open reads an address; the error says nothing of it.
func (c Chats) open(address string) (chatService, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, refusal{errNotAllowed}
	}
	make, ok := chatServices[u.Scheme]
	if !ok {
		return nil, refusal{errNotAllowed}
	}
	service := make()
	service.SetHTTPClient(c.Client)
	if err := service.Initialize(u, log.New(io.Discard, "", 0)); err != nil {
		return nil, refusal{errNotAllowed}
	}
	service.SetHTTPClient(c.Client) // some begin with one of their own
	return service, nil
}

// Send says title, text and link. The library knows no context; the client's own limit ends the call.
func (c Chats) Send(_ context.Context, m Message) error {
	service, err := c.open(m.Target.URL)
	if err != nil {
		return err
	}
	return plainly(service.Send(m.Title+"\n"+m.Body+"\n"+m.Link, &types.Params{}), m.Target.URL)
}
