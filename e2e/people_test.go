package e2e

import (
	"net/http"
	"testing"
)

// TestALeaverIsShutOut: an administrator disables somebody who is signed in. Their open page leads to the sign-in page,
// which lets them in no more, and their token is refused; enabled again, they are back. In between the administrator
// sees what they hold.
func TestALeaverIsShutOut(t *testing.T) {
	pat, nora := signIn(t, "pat", look{}), signIn(t, "nora", look{})
	nora.expecting("401")
	nora.open("/account")
	nora.reads("[data-test=session]:has([data-test=current])", "this session")
	nora.accessible()
	nora.open("/")

	pat.open("/")
	pat.click("[data-test=side-platform]")
	pat.click("[data-test=nav-people]")
	pat.fill("[data-test=search]", "nora")
	pat.do(pat.at("[data-test=search]").First().Press("Enter"))
	pat.click("[data-test=person] a:has-text('Nora')")
	pat.sees("[data-test=holdings]")
	pat.sees("[data-test=session]")
	pat.accessible()
	pat.shot("person")
	id := str(as(t, "nora").ok(http.StatusOK, http.MethodGet, "/me", nil)["id"])
	t.Cleanup(func() { as(t, "pat").ok(http.StatusOK, http.MethodPost, "/people/"+id+"/enable", nil) })
	pat.fill("[data-test=note]", "has left")
	pat.click("[data-test=disable]")
	pat.reads("[data-test=disabled]", "has left")
	pat.accessible()
	pat.shot("disabled")

	nora.sees("[data-test=sign-in]")
	if got := as(t, "nora").call(http.MethodGet, "/me", nil).Status; got != http.StatusUnauthorized {
		t.Errorf("a token of somebody who is disabled: want 401, got %d", got)
	}
	pat.click("[data-test=enable]")
	pat.sees("[data-test=disable-form]")
	back := signIn(t, "nora", look{})
	back.open("/account")
	back.sees("[data-test=session]")
}
