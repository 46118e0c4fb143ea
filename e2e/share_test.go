package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSharedUntilADate: a colleague, a time that ends, a link; another team never, and each way in closes again.
func TestSharedUntilADate(t *testing.T) {
	api := as(t, "dana")
	w := api.running("cpu", map[string]any{"name": "shared-notes"})
	path, address := "/workloads/"+str(w["id"]), str(w["url"])+"/debug/echo"
	devi, nora := signIn(t, "devi", look{}), signIn(t, "nora", look{})
	devi.expecting("403")
	devi.expecting("404")
	nora.expecting("404")
	comesIn := func(want bool) {
		t.Helper()
		eventually(t, "who may come in has changed", time.Minute, func() bool {
			devi.open(address)
			return strings.Contains(devi.text("body"), "X-Forwarded-Host") == want
		})
	}
	comesIn(false)

	dana := signIn(t, "dana", look{})
	dana.expecting("422")
	dana.open(path + "/connect")
	dana.click("[data-test=share-with]")
	dana.fill("[data-test=share-person]", "nora@example.com") // of another team
	dana.click("[data-test=share-send]")
	dana.reads("main", "No team member signs in with this address.")
	colleague, ok := world.User("devi")
	if !ok {
		t.Fatal("want devi among the people")
	}
	dana.fill("[data-test=share-person]", colleague.Email)
	dana.selects("[data-test=share-until]", "1d")
	dana.click("[data-test=share-send]")
	dana.reads("[data-test=grant]", colleague.Name)
	dana.accessible()
	dana.shot("shared")
	comesIn(true)
	eventually(t, "dana sees who is inside", time.Minute, func() bool {
		dana.open(path + "/share")
		return strings.Contains(dana.text("[data-test=visits]"), colleague.Name)
	})
	dana.reads("[data-test=visits]", "open now")
	dana.click("[data-test=grant-revoke]")
	comesIn(false)

	soon := time.Now().Add(15 * time.Second)
	g := api.ok(http.StatusCreated, http.MethodPost, path+"/grants", map[string]any{"to": "person",
		"person": colleague.Email, "until": soon.UTC().Format(time.RFC3339)})
	if g["permission"] != "use" || g["name"] != colleague.Name {
		t.Errorf("%v", g)
	}
	comesIn(true)
	comesIn(false) // by itself
	if time.Now().Before(soon.Truncate(time.Second)) {
		t.Error("it ended before its time")
	}

	link := api.ok(http.StatusCreated, http.MethodPost, path+"/grants", map[string]any{"to": "link", "permission": "use"})
	nora.open(str(link["link"]))
	if strings.Contains(nora.text("body"), "shared-notes") {
		t.Error("a link tells another team nothing")
	}
	devi.open(str(link["link"]))
	devi.reads("h1", "shared-notes is shared with you")
	devi.click("[data-test=join-send]")
	devi.sees("[data-test=workload-head]")
	comesIn(true)
	api.ok(http.StatusOK, http.MethodDelete, path+"/grants/"+str(link["id"]), nil)
	comesIn(false)
	if left := items(api.ok(http.StatusOK, http.MethodGet, path+"/grants", nil)); len(left) != 0 {
		t.Errorf("with a link those who followed it go, got %v", left)
	}
	devi.open(str(link["link"]))
	devi.click("[data-test=join-send]")
	devi.reads("body", "This link no longer works.")
}
