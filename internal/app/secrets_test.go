package app

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// keep makes a secret of kind ngc.
func (w *world) keep(subject string, o secret.Owner, name, token string) secret.Secret {
	w.t.Helper()
	w.signedIn(subject) // who never signed in has no row, and is nobody's owner
	if o == (secret.Owner{}) {
		o.Person = w.actorOf(subject).Person.ID
	}
	s, err := w.secretService.Create(w.t.Context(), w.actorOf(subject), o, secret.Draft{Name: name, Kind: secret.NGC,
		Values: map[string]string{"token": token}})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// begin starts something of team vision with secrets.
func (w *world) begin(subject string, secrets ...string) (workload.Workload, error) {
	w.t.Helper()
	r, err := w.requests.Requests.Submit(w.t.Context(), w.actorOf(subject), request.Draft{Kind: "notebook",
		Tenant: "vision", Size: "cpu", Image: "jupyterlab", Lease: "1h", Reason: "a test", Secrets: secrets})
	if err != nil {
		return workload.Workload{}, err
	}
	return w.store.Workload(w.t.Context(), r.Workload)
}

// values are what a workload has of its secrets now, one after another.
func (w *world) values(id workload.ID) []string {
	w.t.Helper()
	item, err := w.store.Workload(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := w.secretService.Values(w.t.Context(), item)
	if err != nil {
		w.t.Fatal(err)
	}
	var values []string
	for _, value := range data {
		if !slices.Contains(values, string(value)) {
			values = append(values, string(value))
		}
	}
	slices.Sort(values)
	return values
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s: want %q, got %q", what, want, got)
	}
}

// TestASecretIsItsOwners goes the whole way of secrets: whose is used where, replaced, taken back and deleted.
func TestASecretIsItsOwners(t *testing.T) {
	w := newWorld(t)
	vision := secret.Owner{Tenant: "vision"}
	own, ofTeam := w.keep(developer, secret.Owner{}, "hub", "own-value"), w.keep(owner, vision, "hub", "team-value")
	w.keep(owner, secret.Owner{}, "olgas", "olgas-value")

	both := func(names ...string) workload.Workload {
		t.Helper()
		item, err := w.begin(developer, names...)
		if err != nil {
			t.Fatal(err)
		}
		return item
	}
	first, second := both("hub"), both("team:hub")
	same(t, "one's own comes first", []string{"own-value"}, w.values(first.ID))
	same(t, "the team's by its prefix", []string{"team-value"}, w.values(second.ID))
	for name, secrets := range map[string][]string{"somebody else's": {"olgas"}, "none": {"nothing"},
		"two of one name": {"hub", "team:hub"}} {
		if _, err := w.begin(developer, secrets...); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: want a refusal, got %v", name, err)
		}
	}
	if _, err := w.secretService.Create(t.Context(), w.actorOf(developer), vision, secret.Draft{Name: "x",
		Kind:   secret.NGC,
		Values: map[string]string{"token": "x"}}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a member added a secret of the team: %v", err)
	}

	list, err := w.secretService.List(t.Context(), w.actorOf(developer), secret.Owner{Person: own.Person})
	if err != nil || len(list) != 1 || list[0].UsedAt.IsZero() || len(list[0].Users) != 1 ||
		list[0].Users[0].ID != first.ID {
		t.Errorf("%+v %v", list, err)
	}
	if err := w.secretService.Replace(t.Context(), w.actorOf(developer), own.ID,
		map[string]string{"token": "new-value"}); err != nil {
		t.Fatal(err)
	}
	same(t, "after it was replaced", []string{"new-value"}, w.values(first.ID))

	handed := first
	handed.Owner = w.actorOf(owner).Person.ID
	if data, err := w.secretService.Values(t.Context(), handed); err != nil || len(data) > 0 {
		t.Errorf("a workload that was handed over kept the secrets of before: %v %v", data, err)
	}
	if err := w.store.Disable(t.Context(), own.Person, "left", audit.Event{At: w.clock.now(),
		Kind: audit.PersonDisabled}); err != nil {
		t.Fatal(err)
	}
	same(t, "of somebody who is shut out", nil, w.values(first.ID))
	same(t, "the team's goes on", []string{"team-value"}, w.values(second.ID))
	if err := w.store.Enable(t.Context(), own.Person, audit.Event{At: w.clock.now(),
		Kind: audit.PersonEnabled}); err != nil {
		t.Fatal(err)
	}
	if err := w.secretService.Delete(t.Context(), w.actorOf(owner), ofTeam.ID); err != nil {
		t.Fatal(err)
	}
	same(t, "after it was deleted", nil, w.values(second.ID))
	if n := len(w.events(audit.SecretCreated, audit.SecretReplaced, audit.SecretDeleted)); n != 5 {
		t.Errorf("want one record for each change, got %d", n)
	}
}

// TestASecretThatIsGoneStartsNothing: it was there when it was asked for, and not when somebody approved.
func TestASecretThatIsGoneStartsNothing(t *testing.T) {
	w := newWorld(t)
	s := w.keep(developer, secret.Owner{}, "hub", "own-value")
	r, err := w.requests.Requests.Submit(t.Context(), w.actorOf(developer), request.Draft{Kind: "notebook",
		Tenant: "vision", Size: "h100", Image: "jupyterlab", Reason: "a test", Secrets: []string{"hub"}})
	if err != nil || r.State != request.Pending {
		t.Fatal(r.State, err)
	}
	if err := w.secretService.Delete(t.Context(), w.actorOf(developer), s.ID); err != nil {
		t.Fatal(err)
	}
	a := w.call(w.token(approver), http.MethodPost, "/api/v1/requests/"+string(r.ID)+"/approve",
		map[string]any{"seen": r.Version})
	if a.status != http.StatusConflict || !strings.Contains(a.body, "hub") {
		t.Errorf("want a conflict that names the secret, got %d %s", a.status, a.body)
	}
}

// TestAKeyOfBeforeIsReplaced: the portal's key was exchanged, and the settings name the one before.
func TestAKeyOfBeforeIsReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old")
	old := []byte("an-old-key-of-the-portal-32-byte")
	if err := os.WriteFile(file, []byte(hex.EncodeToString(old)), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorldWith(t, nil, func(c *config.Config) { c.WorkloadSecrets.PreviousKeyFiles = []string{file} })
	before := secret.New(secret.Options{Store: w.store, Keys: secret.Keyring{keyOf(old)}, Team: w.teamKnown, Now: w.now,
		NewID: w.newID})
	w.signedIn(developer)
	a := w.actorOf(developer)
	made, err := before.Create(t.Context(), a, secret.Owner{Person: a.Person.ID}, secret.Draft{Name: "hub",
		Kind: secret.NGC, Values: map[string]string{"token": "value-of-before"}})
	if err != nil {
		t.Fatal(err)
	}
	item, err := w.begin(developer, "hub")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "by the key of before", []string{"value-of-before"}, w.values(item.ID))
	if err := w.secretService.Reseal(t.Context()); err != nil {
		t.Fatal(err)
	}
	now, err := w.store.Secret(t.Context(), made.ID)
	if err != nil || now.Sealed == made.Sealed {
		t.Fatalf("it was not sealed anew: %v", err)
	}
	same(t, "by the present key", []string{"value-of-before"}, w.values(item.ID))
	if _, err := before.Values(t.Context(), item); err == nil {
		t.Error("the key of before still opens it")
	}
}

// keepsCanaries sends secrets by every way in, right and wrong, and reads every page that tells of them.
func (w *world) keepsCanaries(b *browser, token string, keep func(answer) answer) map[string]string {
	w.t.Helper()
	canaries := map[string]string{}
	kinds := map[secret.Kind]url.Values{
		secret.Variables:   {"lines": {"A=canary-of-a-variable\nB=x"}},
		secret.File:        {"file": {"key.json"}, "content": {"{\n  \"key\": \"canary-of-a-file\"\n}"}},
		secret.S3:          {"accessKey": {"AKIAcanary-of-an-id"}, "secretKey": {"canary-of-a-key"}},
		secret.Git:         {"host": {"github.com"}, "user": {"ada"}, "token": {"canary-of-git"}},
		secret.HuggingFace: {"token": {"hf_canary-of-the-hub"}},
		secret.NGC:         {"token": {"canary-of-ngc"}},
		secret.Registry: {"host": {"registry.example.org"}, "user": {"ada"},
			"password": {"canary-of-a-registry"}}, // of teams alone: one's own is refused, and told to nobody either
	}
	for _, kind := range secret.Kinds() {
		form := kinds[kind]
		form.Set("kind", string(kind))
		form.Set("name", "c-"+string(kind))
		for name, values := range form {
			if i := strings.Index(values[0], "canary-"); i >= 0 {
				canaries["secret "+string(kind)+" "+name] = strings.FieldsFunc(values[0][i:], func(r rune) bool {
					return r == '"' || r == '\n'
				})[0]
			}
		}
		want := http.StatusSeeOther
		if kind == secret.Registry {
			want = http.StatusUnprocessableEntity
		}
		if a := keep(b.post("/account/secrets", form)); a.status != want {
			w.t.Fatalf("%s: %d %s", kind, a.status, a.body)
		}
		keep(b.post("/account/secrets", form)) // the name is taken
		keep(b.post("/account/secrets?validate=1", form))
		form.Set("name", "No Name")
		keep(b.post("/account/secrets", form))
		keep(b.get("/account/secrets?kind=" + string(kind)))
	}
	list, err := w.secretService.List(w.t.Context(), w.actorOf(developer),
		secret.Owner{Person: identity.PersonID(w.personID(developer))})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range list {
		keep(b.get("/account/secrets?replace=" + s.ID))
		form := url.Values{}
		for name, values := range kinds[s.Kind] {
			form[name] = values
		}
		keep(b.post("/account/secrets/"+s.ID, form))
		keep(w.call(token, http.MethodPut, "/api/v1/secrets/"+s.ID, map[string]any{"values": map[string]any{
			"token": []string{"canary-of-ngc"}, "other": "canary-of-ngc"}}))
	}
	start := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "secrets": {"c-huggingface", "c-s3", "c-file", "c-variables", "c-git"},
		"manifest": {"1"}}
	if a := keep(b.post("/start/summary", start)); !strings.Contains(a.body, "HF_TOKEN") {
		w.t.Error("the manifest of the summary shows no variable of a secret")
	}
	keep(b.get("/start?" + start.Encode()))
	item, err := w.begin(developer, start["secrets"]...)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, side := range []string{"", "/connect", "/yaml", "/activity", "/logs", "/events"} {
		keep(b.get("/workloads/" + string(item.ID) + side))
	}
	for _, path := range []string{"/api/v1/secrets", "/api/v1/workloads/" + string(item.ID), "/api/v1/requests/" +
		item.Request} {
		keep(w.call(token, http.MethodGet, path, nil))
	}
	keep(w.call(token, http.MethodPost, "/api/v1/secrets", map[string]any{"name": "x", "kind": "ngc",
		"values": map[string]any{"token": 1, "hf_canary-of-the-hub": "y"}}))
	if !strings.Contains(strings.Join(w.values(item.ID), "\n"), canaries["secret huggingface token"]) {
		w.t.Error("the workload has nothing of its secrets: what was looked for was never there")
	}
	keep(b.post("/account/secrets/"+list[0].ID+"/delete", url.Values{}))
	return canaries
}
