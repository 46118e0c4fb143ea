package app

import (
	"net/http"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/serve/edge"
)

// TestAnotherRoleAnotherCookie: a cookie that somebody planted or got hold of does not become an owner's when its
// person does (T-SESS-2).
func TestAnotherRoleAnotherCookie(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	if in := b.signIn(developer); in.status != http.StatusSeeOther {
		t.Fatalf("%d %s", in.status, in.body)
	}
	first := b.session()
	if b.get("/storage"); b.session() != first {
		t.Error("the roles are the same, the cookie is another one")
	}
	stale := w.browser()
	stale.cookies[edge.Session] = &http.Cookie{Name: edge.Session, Value: first}

	if err := w.tenants.AddMember(t.Context(), w.actorOf(admin), "speech", w.person(developer).ID,
		identity.Owner); err != nil {
		t.Fatal(err)
	}
	if got := b.get("/team/speech").status; got != http.StatusOK || b.session() == first || b.session() == "" {
		t.Fatalf("want the page and another cookie, got %d", got)
	}
	second := b.session()
	if got := stale.get("/storage").status; got != http.StatusOK || stale.session() != first {
		t.Errorf("a call that was under way is answered, and gets no cookie: %d", got)
	}
	w.clock.pass(2 * time.Minute)
	if got := stale.get("/storage").status; got != http.StatusSeeOther {
		t.Errorf("the old cookie must be dead, got %d", got)
	}
	if got := b.get("/storage").status; got != http.StatusOK || b.session() != second {
		t.Errorf("the new one lives on: %d", got)
	}
	if err := w.tenants.RemoveMember(t.Context(), w.actorOf(admin), "speech", w.person(developer).ID,
		identity.Owner); err != nil {
		t.Fatal(err)
	}
	if b.get("/storage"); b.session() == second {
		t.Error("fewer roles are another cookie too")
	}
}
