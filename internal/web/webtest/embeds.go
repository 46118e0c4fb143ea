package webtest

import (
	"net/url"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// embedKey signs the addresses of embedded panels.
var embedKey = []byte("a key of 32 bytes for the tests.")

// Grafana is a site whose pages may show panels.
const Grafana = "https://grafana.example.org"

func embedOf(id string, panel embed.Panel, subject, title string, theme embed.Theme) embed.Embed {
	return embed.Embed{ID: id, Panel: panel, Subject: subject, Title: title, Theme: theme, Person: Anna.ID,
		CreatedAt: Now.Add(-2 * time.Hour), ExpiresAt: Now.Add(30 * 24 * time.Hour)}
}

// embeds are Anna's; the first has ended.
var embeds = []embed.Embed{
	{ID: "e-ended", Panel: embed.Fleet, Person: Anna.ID, CreatedAt: Now.Add(-9 * 24 * time.Hour),
		ExpiresAt: Now.Add(-2 * 24 * time.Hour)},
	embedOf("e-workload", embed.Workload, "w-train-resnet", "train-resnet", ""),
	embedOf("e-dark", embed.Workload, "w-train-resnet", "train-resnet", embed.Dark),
	embedOf("e-team", embed.Team, "vision", "Vision", ""), embedOf("e-fleet", embed.Fleet, "", "", embed.Dark),
	embedOf("e-licenses", embed.Licenses, "", "", ""),
}

// EmbedPath is where the panel of an embed is looked at.
func EmbedPath(e embed.Embed) string {
	token, err := embed.Signer{Key: embedKey}.Sign(embed.Address{ID: e.ID, Panel: e.Panel, Subject: e.Subject,
		Theme: e.Theme, Maker: e.Person, Until: e.ExpiresAt.Unix()})
	check(err)
	return embed.Path + "?token=" + url.QueryEscape(token)
}

func (w *World) newEmbeds() *embed.Service {
	return embed.New(embed.Options{Store: w.Store, Workloads: w.WorkloadService, Origins: w.Origins,
		Team: func(name string) (string, bool) {
			t, ok := w.Site.Directory.ByName(name)
			return t.Display(), ok
		},
		Actor: w.Site.Directory.Actor, MaxLife: 90 * 24 * time.Hour, URL: "http://localhost:8080", Key: embedKey,
		Limits: identity.TokenLimits{Lifetime: 90 * 24 * time.Hour, StandingAge: 24 * time.Hour}, Now: w.now,
		NewID: w.newID})
}

// unembedded is a site that allows no other to show its panels.
func unembedded(s Scope) *World {
	w := Busy(s)
	w.Origins = nil
	w.pages()
	return w
}

var embedScenes = []Scene{
	{"embed", "a workload", Anna, Busy, "/embeds/new?panel=workload&subject=w-train-resnet", nil},
	{"embed", "a team", Ben, Busy, "/embeds/new?panel=team", nil},
	{"embed", "the fleet", Dora, Busy, "/embeds/new?panel=fleet", nil},
	{"embed", "licenses, the address is made", Anna, Busy, "/embeds", url.Values{"panel": {"licenses"},
		"theme": {"dark"}, "lasts": {"30d"}}},
	{"embed", "too long", Anna, Busy, "/embeds", url.Values{"panel": {"fleet"}, "lasts": {"999d"}}},
	{"embed", "disabled", Anna, unembedded, "/embeds/new?panel=fleet", nil},
	{"embed", "panel of a workload", Nemo, Busy, EmbedPath(embeds[1]), nil},
	{"embed", "panel of a workload, dark", Nemo, Busy, EmbedPath(embeds[2]), nil},
	{"embed", "panel of a team", Nemo, Busy, EmbedPath(embeds[3]), nil},
	{"embed", "panel of the fleet, dark", Nemo, Busy, EmbedPath(embeds[4]), nil},
	{"embed", "panel of licenses", Nemo, Busy, EmbedPath(embeds[5]), nil},
	{"embed", "panel that has ended", Nemo, Busy, EmbedPath(embeds[0]), nil},
	{"embed", "panel that is shared no longer", Nemo, fresh, EmbedPath(embeds[1]), nil},
}
