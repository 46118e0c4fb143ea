package api

import (
	"context"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
)

// NoticeChoice is how somebody hears of one kind of thing.
type NoticeChoice struct {
	Kind     string   `json:"kind" enum:"waiting,decided,ready,failed,lease,idle,stopped,budget,statement,licence,broken,storage" doc:"What happened: a request waits for me, mine was decided, a workload is ready, cannot run, ends soon, has an idle GPU, was stopped; budget, a month's statement, licence, broken hardware, storage"`
	Channels []string `json:"channels" enum:"mail,chat,webhook" nullable:"false" doc:"None: not at all"`
}

// NoticeChoices are what somebody hears of, and how.
type NoticeChoices struct {
	Language string         `json:"language" enum:"en,de,zh,ko" doc:"Of the messages"`
	Choices  []NoticeChoice `json:"choices" nullable:"false" maxItems:"50" doc:"Kinds that are missing are not told of"`
}

func (a *API) noticeChoices(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[NoticeChoices], error) {
	s, err := a.deps.Notify.Settings(ctx, actor)
	if err != nil {
		return nil, err
	}
	v := NoticeChoices{Language: s.Preferences.Language}
	for _, kind := range notify.Kinds() {
		c := NoticeChoice{Kind: string(kind), Channels: []string{}}
		for _, channel := range s.Preferences.By(kind) {
			c.Channels = append(c.Channels, string(channel))
		}
		v.Choices = append(v.Choices, c)
	}
	return reply(v, nil)
}

type noticeChoicesInput struct {
	Body NoticeChoices
}

// chooseNotices replaces the whole choice.
func (a *API) chooseNotices(ctx context.Context, actor identity.Actor, in *noticeChoicesInput) (*output[NoticeChoices], error) {
	wishes := notify.Preferences{Language: in.Body.Language, Channels: map[notify.Kind][]notify.Channel{}}
	for _, c := range in.Body.Choices {
		for _, channel := range c.Channels {
			kind := notify.Kind(c.Kind)
			wishes.Channels[kind] = append(wishes.Channels[kind], notify.Channel(channel))
		}
	}
	if err := a.deps.Notify.Choose(ctx, actor, wishes); err != nil {
		return nil, err
	}
	return a.noticeChoices(ctx, actor, nil)
}
