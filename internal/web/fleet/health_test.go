package fleet

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/gpumetrics"
	"github.com/gpu-portal/gpu-portal/internal/health"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// A card of which nobody says anything is no line of its own where nobody asks for it: its node tells how many there
// are. What is quarantined is.
func TestSilentCardsAreCountedAtTheirNode(t *testing.T) {
	for _, c := range []struct {
		name, state string
		level       health.Level
		quarantine  *health.Quarantine
		telling     bool
		want        bool
	}{
		{"a silent card, unasked", "", health.Unknown, nil, false, false},
		{"a silent card, searched for", "", health.Unknown, nil, true, true},
		{"a silent card, among the unknown", "unknown", health.Unknown, nil, false, true},
		{"a broken card, unasked", "", health.Broken, nil, true, true},
		{"a broken card, among the unknown", "unknown", health.Broken, nil, true, false},
		{"a fine card, among all", "all", health.Fine, nil, false, true},
		{"a quarantined card, among the quarantined", "quarantined", health.Quarantined, &health.Quarantine{}, true, true},
		{"a fine node, among the quarantined", "quarantined", health.Fine, nil, true, false},
	} {
		if got := healthChosen(c.state, c.level, c.quarantine, c.telling); got != c.want {
			t.Errorf("%s: want %t, got %t", c.name, c.want, got)
		}
	}
}

// TestMissingFieldsAreNamed: that DCGM says nothing is said only where it does not name a card; where it does, the
// fields that lack are.
func TestMissingFieldsAreNamed(t *testing.T) {
	dcgm := func(c gpumetrics.Card) *gpumetrics.Card { return &c }
	k := page.Call{Words: page.Words{Localizer: i18n.MustLoad().For("en")}}
	const all = "DCGM_FI_DEV_XID_ERRORS, DCGM_FI_DEV_ECC_DBE_VOL_TOTAL, DCGM_FI_DEV_ROW_REMAP_FAILURE, " +
		"DCGM_FI_DEV_CLOCKS_EVENT_REASONS"
	silent := health.CardHealth{UUID: "GPU-1"}
	named := health.CardHealth{UUID: "GPU-2", DCGM: dcgm(gpumetrics.Card{UUID: "GPU-2"})}
	for sentence, c := range map[string]struct{ got, want string }{
		"a card that nobody names": {healthCard(k, "main", &health.NodeHealth{}, &silent).Calm,
			"No error data from DCGM or the node agent."},
		"a card without error fields": {healthCard(k, "main", &health.NodeHealth{}, &named).Calm,
			"DCGM reports it without its error fields. The exporter is missing " + all + "."},
		"a node of which one card is named": {healthNode(k, "main", &health.NodeHealth{Cards: []health.CardHealth{silent,
			named}}).Calm, "No error data from DCGM or the node agent for its 2 cards."},
		"a node whose cards all lack them": {healthNode(k, "main",
			&health.NodeHealth{Cards: []health.CardHealth{named}}).Calm,
			"DCGM reports no error fields for its cards."},
		"the fields that they lack": {healthNode(k, "main",
			&health.NodeHealth{Cards: []health.CardHealth{named}}).Missing,
			"DCGM_FI_DEV_CLOCKS_EVENT_REASONS, DCGM_FI_DEV_ECC_DBE_VOL_TOTAL, DCGM_FI_DEV_ROW_REMAP_FAILURE, " +
				"DCGM_FI_DEV_XID_ERRORS"},
	} {
		if c.got != c.want {
			t.Errorf("%s: want %q, got %q", sentence, c.want, c.got)
		}
	}
}

// TestANodeSaysHowItsCardsAre: how many are healthy, and what the others are.
func TestANodeSaysHowItsCardsAre(t *testing.T) {
	k := page.Call{Words: page.Words{Localizer: i18n.MustLoad().For("en")}}
	broken := health.CardHealth{UUID: "GPU-1", Issues: []gpumetrics.Issue{{Severity: gpumetrics.Danger}}}
	silent := health.CardHealth{UUID: "GPU-2"}
	n := health.NodeHealth{Cards: []health.CardHealth{broken, silent, broken}}
	if got := healthNode(k, "main", &n).Calm; got != "0 of 3 healthy: 2 broken, 1 without data" {
		t.Errorf("got %q", got)
	}
	if got := healthCard(k, "main", &n, &silent).Name.Title; got != "Unnumbered card" {
		t.Errorf("want no UUID for a name, got %q", got)
	}
}

// TestANodeCountsItsCards: the tiles count cards, so their node has no such state of its own.
func TestANodeCountsItsCards(t *testing.T) {
	k := page.Call{Words: page.Words{Localizer: i18n.MustLoad().For("en")}}
	broken := health.CardHealth{Model: "NVIDIA-L40S", Number: 2, Issues: []gpumetrics.Issue{{Severity: gpumetrics.Danger}}}
	for name, c := range map[string]struct {
		node health.NodeHealth
		want bool
	}{
		"a card is broken": {health.NodeHealth{Cards: []health.CardHealth{broken}}, true},
		"quarantined itself": {health.NodeHealth{Quarantine: &health.Quarantine{}, Cards: []health.CardHealth{broken}},
			false},
		"nobody knows of its card": {health.NodeHealth{Cards: []health.CardHealth{{UUID: "GPU-1"}}}, false},
	} {
		if m := healthNode(k, "main", &c.node); (m.State.Word == "1 broken") != c.want {
			t.Errorf("%s: want it to count its cards: %t, got %q", name, c.want, m.State.Word)
		}
	}
	if m := healthCard(k, "main", &health.NodeHealth{}, &broken).Name; m.Title != "Card 2" || m.Detail != "L40S" {
		t.Errorf("want the card named by its number, got %q and %q", m.Title, m.Detail)
	}
}

// TestARemedyOfSeveralCardsIsToldOnce: at their node, with its quarantine; a card says only what is the matter with it.
func TestARemedyOfSeveralCardsIsToldOnce(t *testing.T) {
	k := page.Call{Actor: identity.Actor{Person: identity.Person{ID: "dora"}, Global: []identity.Role{identity.Admin}},
		Words: page.Words{Localizer: i18n.MustLoad().For("en")}}
	restart := gpumetrics.Issue{Severity: gpumetrics.Danger, Todo: i18n.T("gpumetrics.todo.bus")}
	lost := health.CardHealth{UUID: "GPU-1", Issues: []gpumetrics.Issue{restart}}
	for name, c := range map[string]struct {
		cards []health.CardHealth
		once  bool
	}{"two cards": {[]health.CardHealth{lost, lost}, true}, "one card": {[]health.CardHealth{lost}, false}} {
		n := health.NodeHealth{Name: "gpu-01", Cards: c.cards}
		node, card := healthNode(k, "main", &n), healthCard(k, "main", &n, &n.Cards[0])
		if card.Change == nil || card.Change.Place.Kind != string(health.Node) {
			t.Errorf("%s: want the card to offer its node's quarantine, got %+v", name, card.Change)
		}
		withoutTodo(&card, node.Todo)
		if (node.Todo != "") != c.once || (card.Troubles[0].Todo == "") != c.once || (card.Change == nil) != c.once {
			t.Errorf("%s: want it told at the node: %t, got %q there and %q here", name, c.once, node.Todo,
				card.Troubles[0].Todo)
		}
		card.Open = "/fleet/nodes/gpu-01"
		offerOnce(&node, &card)
		if (node.Change != nil) != c.once || (card.Change != nil) == c.once {
			t.Errorf("%s: want the quarantine offered once, at the node: %t", name, c.once)
		}
	}
}
