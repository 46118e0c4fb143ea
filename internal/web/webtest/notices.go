package webtest

import (
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/notify"
)

var noticeWords = sync.OnceValue(func() *notify.Words { return have(notify.LoadWords(messages())) })

// newNotices is a site with the mail server of the world, usually none.
func newNotices(w *World, now func() time.Time) *notify.Service {
	same := func(_, text string) (string, error) { return text, nil }
	return notify.New(notify.Options{Store: w.Store, Actor: w.Site.Directory.Actor, Words: noticeWords(),
		URL: "http://localhost:8080", Language: "en", Now: now, NewID: w.newID, Seal: same, Open: same, Mail: w.Mail})
}

// Mailing is a world with a mail server.
func Mailing(s Scope) *World {
	w := Busy(s)
	w.Mail = &notify.MailServer{}
	w.pages() // anew
	return w
}

// noticed is a world where somebody chose, a team hears too, and a message did not get through.
func noticed(s Scope) *World {
	w := Busy(s)
	check(w.SavePreferences(bg, Anna.ID, notify.Preferences{Language: "ko",
		Channels: map[notify.Kind][]notify.Channel{notify.Ready: {notify.Mail, notify.Webhook}}}))
	entered := audit.By(w.Actor(Dora), audit.AddressEntered, Now)
	check(w.SaveAddress(bg, notify.Address{ID: "na-1", Channel: notify.Webhook, Person: Dora.ID,
		Host: "hooks.example.org", CreatedAt: Now}, entered))
	check(w.SaveAddress(bg, notify.Address{ID: "na-2", Channel: notify.Chat, Person: Anna.ID, Tenant: "vision",
		Host: "mattermost: chat.example.org", Kinds: []notify.Kind{notify.Waiting, notify.Failed}, CreatedAt: Now}, entered))
	for _, d := range []notify.Delivery{{ID: "n-1", Kind: notify.Decided, Name: Anna.Name, Channel: notify.Mail,
		State: notify.Sent, Attempts: 1, CreatedAt: Now.Add(-time.Hour)},
		{ID: "n-2", Kind: notify.Lease, Name: Anna.Name, Channel: notify.Webhook, State: notify.Due, Attempts: 2,
			Problem: i18n.T("notify.failed.status_ill", "Code", 503), CreatedAt: Now.Add(-2 * time.Minute)},
		{ID: "n-3", Kind: notify.Waiting, Name: Dora.Name, Channel: notify.Mail, State: notify.GaveUp, Attempts: 8,
			Problem: i18n.T("notify.failed.mailbox"), Error: "550 5.1.1 no such user here",
			CreatedAt: Now.Add(-time.Minute)}} {
		w.PutDelivery(d)
	}
	return w
}
