package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

// sceneWorld is the world of a scene.
func sceneWorld(t *testing.T, area, name string) *webtest.World {
	t.Helper()
	for _, s := range webtest.Scenes() {
		if s.Area == area && s.Name == name {
			return s.World(t)
		}
	}
	t.Fatalf("no scene %q in %s", name, area)
	return nil
}

// told does what a form asks for, and gives the page that follows with its cookie.
func told(t *testing.T, w *webtest.World, who identity.Person, path string, form url.Values) *goquery.Document {
	t.Helper()
	answer := w.Post(who, path, form)
	to := wantRedirect(t, answer)
	r := httptest.NewRequest(http.MethodGet, to, nil)
	for _, c := range answer.Result().Cookies() {
		r.AddCookie(c)
	}
	return read(t, w.Do(who, "en", r), http.StatusOK)
}

// TestWhatWasDoneIsUndone: what can be taken back as a whole offers so beside the words that it was done; the button
// leads to what was before, without scripts.
func TestWhatWasDoneIsUndone(t *testing.T) {
	t.Parallel()
	undoAddress := "https://example.org/"
	for name, c := range map[string]struct {
		area, scene string
		who         identity.Person
		path        string
		form        url.Values
		done, back  string
	}{
		"shared": {"workload", "running", webtest.Anna, "/workloads/w-train-resnet/share", url.Values{"shared": {"yes"}},
			"Your team can open it now", "Only you can open it now"},
		"unshared": {"workload", "running", webtest.Anna, "/workloads/w-llm-chat/share", url.Values{},
			"Only you can open it now", "Your team can open it now"},
		"scaled": {"workload", "endpoint, replicas", webtest.Anna, "/workloads/w-ranker/replicas",
			url.Values{"wanted": {"1"}}, "Replicas changed", "Replicas changed"},
		"advice dismissed": {"advice", "sizes that do not suit", webtest.Anna, "/usage/advice/w-digits/dismiss",
			url.Values{"back": {undoAddress}}, "", ""},
		"advice restored": {"advice", "one was put away", webtest.Anna, "/usage/advice/w-digits/restore", url.Values{}, "",
			""},
		"an image is retired": {"team", "images, an owner's look", webtest.Ben, "/team/vision/images/train/retire", nil,
			"Retired.", "Saved."},
		"a volume goes later": {"team", "shared storage, an owner's look", webtest.Ben,
			"/team/vision/volumes/scratch/delete", url.Values{"confirm": {"scratch"}}, "It will be deleted", "Restored"},
		"a member is added": {"team", "images, none", webtest.Ben, "/team/vision/members",
			url.Values{"person": {string(webtest.Olaf.ID)}, "role": {"developer"}}, "Added.", "Removed."},
		"an account is disabled": {"account", "a person, for administrators", webtest.Dora,
			"/admin/people/" + string(webtest.Anna.ID) + "/disable", url.Values{"note": {"left"}},
			"Account disabled", "Account enabled"},
		"given to another approver": {"home", "busy", webtest.Carla, "/approvals/r-anna1/reassign",
			url.Values{"person": {string(webtest.Dora.ID)}, "reason": {"You know it."}, "seen": {"1"}}, "", ""},
		"a delegate is named": {"home", "busy", webtest.Carla, "/approvals/delegations", url.Values{
			"person": {string(webtest.Dora.ID)}, "from": {"2026-11-21"}, "until": {"2026-11-22"}}, "Delegate added.", "Ended."},
		"a card is quarantined": {"fleet", "quarantine a card", webtest.Dora, "/fleet/health/quarantine",
			url.Values{"cluster": {"local"}, "kind": {"card"}, "name": {"GPU-2"}, "note": {"It is hot."}}, "Quarantined.",
			"Quarantine ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := sceneWorld(t, c.area, c.scene)
			doc := told(t, w, c.who, c.path, c.form)
			flash, button := part(doc, "flash"), part(doc, "flash-undo")
			if !strings.Contains(textOf(flash), c.done) || button.Length() != 1 {
				t.Fatalf("want %q and a way back, got %q", c.done, textOf(flash))
			}
			if flash.AttrOr("role", "") != "status" || doc.Find("main [data-toast]").Length() != 0 {
				t.Error("want it as a status, outside of what live messages replace")
			}
			doc = undone(t, w, c.who, doc)
			if got := textOf(part(doc, "flash")); got == "" || !strings.Contains(got, c.back) {
				t.Errorf("want %q, got %q", c.back, got)
			}
			if part(doc, "flash-undo").Length() == 0 {
				return
			}
			if got := textOf(part(undone(t, w, c.who, doc), "flash")); !strings.Contains(got, c.done) {
				t.Errorf("undone twice: want %q, got %q", c.done, got)
			}
		})
	}
}

// undone presses the button of a toast.
func undone(t *testing.T, w *webtest.World, who identity.Person, doc *goquery.Document) *goquery.Document {
	t.Helper()
	form, values := part(doc, "flash-undo").Closest("form"), url.Values{}
	form.Find("input").Each(func(_ int, i *goquery.Selection) {
		values.Add(i.AttrOr("name", ""), i.AttrOr("value", ""))
	})
	return told(t, w, who, form.AttrOr("action", ""), values)
}

// TestAFlashThatWasMadeUp: a cookie that is not what the portal wrote says nothing, or offers nothing.
func TestAFlashThatWasMadeUp(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	for value, says := range map[string]bool{"shared": true, "shared:": true, "shared:a:b": true, "shared:%zz": true,
		"stopped:w-train-resnet": true, "nothing:w-train-resnet": false} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: edge.Flash, Value: value})
		doc := read(t, w.Do(webtest.Anna, "en", r), http.StatusOK)
		wantAbsent(t, doc, "flash-undo")
		if got := part(doc, "flash").Length() == 1; got != says {
			t.Errorf("%q: want a toast %t, got %t", value, says, got)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(&http.Cookie{Name: edge.Flash, Value: "shared:..%2F..%2Fapprovals%2Fr-anna1"})
	form := part(read(t, w.Do(webtest.Anna, "en", r), http.StatusOK), "flash-undo").Closest("form")
	if action := form.AttrOr("action", ""); action != "/workloads/..%2F..%2Fapprovals%2Fr-anna1/share" {
		t.Errorf("want one segment of a path, got %s", action)
	}
}
