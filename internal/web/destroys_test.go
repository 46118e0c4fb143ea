package web_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// asks are the destructive acts that ask before; each says what is lost.
var asks = []string{"cluster-remove-confirm", "dataset-withdraw-confirm", "delete-confirm", "difference-confirm",
	"embed-revoke-confirm", "key-revoke-confirm", "quarantine-confirm", "reach-close-confirm", "secret-delete-confirm",
	"snapshot-delete-confirm", "token-revoke-confirm", "volume-delete-confirm", "volumes-delete-confirm",
	"withdraw-confirm"}

// asksNot are the destructive acts that ask nothing, and why they need not.
var asksNot = map[string]string{
	"bulk-delete":    "the page that it leads to asks",
	"address-remove": "the address can be entered again", "delegation-end": "a delegate can be named again",
	"disable": "the toast takes it back", "price-end": "a price can be added again",
	"reject": "it can be undone for ten seconds", "bulk-reject": "each can be undone for ten seconds",
	"entitlement-remove": "the purchase can be entered again", "remove": "the toast takes it back",
	"remove-send": "its card says what ends", "session-end": "whoever it is signs in again",
	"sessions-end": "they sign in again",
}

// TestWhatIsLostIsSaidBefore: every dialog and page that asks before something is destroyed lists what goes. A button
// of that color that asks nothing stands in a list with its reason.
func TestWhatIsLostIsSaidBefore(t *testing.T) {
	leftToMakeTest(t)
	t.Parallel()
	found, direct := map[string]bool{}, map[string]bool{}
	for _, s := range webtest.Scenes() {
		doc, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		doc.Find("form button.pf-m-danger:not([commandfor]), form button.gp-menu__link--danger:not([commandfor])").Each(
			func(_ int, b *goquery.Selection) {
				name := b.AttrOr("data-test", b.Closest("form").AttrOr("data-test", strings.TrimSpace(b.Text())))
				box := b.Closest("dialog, [data-test=ask]")
				if box.Length() == 0 {
					direct[name] = true
					return
				}
				found[name] = true
				if box.Find(".gp-dialog__list--loses li").Length() == 0 {
					t.Errorf("%s, %s: %q does not say what is lost", s.Area, s.Name, name)
				}
			})
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, asks) {
		t.Errorf("want those that ask to be %q, got %q", asks, got)
	}
	if got, want := slices.Sorted(maps.Keys(direct)), slices.Sorted(maps.Keys(asksNot)); !slices.Equal(got, want) {
		t.Errorf("want those that ask nothing to be %q, got %q", want, got)
	}
}
