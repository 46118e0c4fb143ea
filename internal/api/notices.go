package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// NoticeChoice is how somebody hears of one kind of thing.
type NoticeChoice struct {
	Kind     string   `json:"kind" enum:"waiting,decided,ready,failed,lease,idle,stopped,budget,statement,license,broken,drift,storage,token" doc:"What happened: a request waits for me, mine was decided, a workload is ready, cannot run, ends soon, has an idle GPU, was stopped; budget, a month's statement, license, broken hardware, storage, an API token that expires"`
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
func (a *API) chooseNotices(ctx context.Context, actor identity.Actor,
	in *noticeChoicesInput) (*output[NoticeChoices], error) {
	preferences := notify.Preferences{Language: in.Body.Language, Channels: map[notify.Kind][]notify.Channel{}}
	for _, c := range in.Body.Choices {
		for _, channel := range c.Channels {
			kind := notify.Kind(c.Kind)
			preferences.Channels[kind] = append(preferences.Channels[kind], notify.Channel(channel))
		}
	}
	if err := a.deps.Notify.Choose(ctx, actor, preferences); err != nil {
		return nil, err
	}
	return a.noticeChoices(ctx, actor, nil)
}

// Warning is the latest warning of its kind, and what became of the message to its owner.
type Warning struct {
	About   string     `json:"about" enum:"lease,idle" doc:"The end of its lease, or its idle GPU"`
	At      time.Time  `json:"at" doc:"When the portal warned"`
	Message string     `json:"message" enum:"queued,delivered,failed,no_recipient" doc:"queued: on its way, perhaps for another attempt. no_recipient: its owner hears of this by no way"`
	To      string     `json:"to,omitempty" doc:"Name of its owner, or of the team where only that has an address for this"`
	Channel string     `json:"channel,omitempty" enum:"mail,chat,webhook" doc:"That took it, or gave up last"`
	Done    *time.Time `json:"doneAt,omitempty" doc:"When it was delivered or given up"`
	Reason  string     `json:"reason,omitempty" doc:"Why it failed, or why it is tried again"`
	Said    string     `json:"said,omitempty" doc:"What the other side said then, in its own words"`
}

func (a *API) warningsOf(ctx context.Context, actor identity.Actor, in *idInput) (*output[List[Warning]], error) {
	found, err := a.deps.Notify.Warnings(ctx, actor, workload.ID(in.ID))
	views := make([]Warning, len(found))
	for i, w := range found {
		views[i] = Warning{About: string(w.About), At: w.At, Message: string(w.Status), To: w.To, Channel: string(w.Channel),
			Done: moment(w.Done), Reason: i18n.From(ctx).Say(w.Problem), Said: w.Said}
	}
	return reply(list(views, ""), err)
}
