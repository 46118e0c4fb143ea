package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// TestADayAtTheTerminal runs what a developer and an approver type, and compares what they see with testdata/day.txt.
func TestADayAtTheTerminal(t *testing.T) {
	p := newPortal(t)
	dora, ada := p.signedIn("dora"), p.signedIn("ada")
	dora.typed = "y\n"
	var all strings.Builder
	for _, line := range []struct {
		who     *terminal
		command string
	}{
		{dora, "whoami"},
		{dora, "whoami -o name"},
		{dora, "sizes --team vision"},
		{dora, "images --kind notebook"},
		{dora, "list"},
		{dora, "start --size cpu --image jupyterlab --lease 4h --name first --reason trying --dry-run"},
		{dora, "start --size cpu --image jupyterlab --lease 4h --name first --reason trying"},
		{dora, "start --size h100 --image jupyterlab --name big --reason training -o name"},
		{dora, "list"},
		{dora, "list -o name"},
		{dora, "get first"},
		{dora, "open first"},
		{dora, "extend first 1h --reason more"},
		{dora, "requests"},
		{ada, "requests --inbox"},
		{ada, "requests r-0007"},
		{ada, "approve r-0007 --note fine"},
		{ada, "approve r-0007"},
		{dora, "list --all"},
		{dora, "stop first"},
		{dora, "resume first"},
		{dora, "delete first"},
		{dora, "list --ended"},
		{dora, "start --size no-such-size --image jupyterlab --reason none"},
		{dora, "start --size cpu"},
		{dora, "get nobodys"},
		{dora, "logs big"},
		{dora, "events big"},
	} {
		all.WriteString(line.who.transcript(line.command))
	}
	golden(t, "day.txt", all.String())
}

// transcript is a command with what it wrote, for people and for others, and how it ended.
func (term *terminal) transcript(command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "$ gpuctl %s\n", command)
	s := term.run(strings.Fields(command)...)
	b.WriteString(s.out)
	for text := range strings.Lines(s.err) {
		b.WriteString("! " + text)
	}
	if s.code != done {
		fmt.Fprintf(&b, "exit %d\n", s.code)
	}
	return b.String() + "\n"
}

func TestSigningIn(t *testing.T) {
	p := newPortal(t)
	term := newTerminal(t)
	term.fails(signIn, "gpuctl login URL", "list")
	term.pasted = p.tokens["dora"] + "\n"
	if s := term.run("login", p.url); s.code != done || !strings.Contains(s.err, "as Dora.") || strings.Contains(s.err,
		"gpup_") {
		t.Fatalf("want it to say who signed in and not with what, got %d %s", s.code, s.err)
	}
	file := filepath.Join(term.dir, "config.yaml")
	for path, want := range map[string]os.FileMode{file: 0o600, term.dir: 0o700} {
		info, err := os.Stat(path)
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: want %o, got %o", path, want, got)
		}
	}
	if out := term.ok("whoami"); !strings.Contains(out, "Dora") {
		t.Errorf("want the person, got %s", out)
	}

	given := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(given, []byte(p.tokens["otto"]+"\n"), 0o600))
	term.ok("login", p.url, "--context", "second", "--token-file", given)
	if out := term.ok("whoami"); !strings.Contains(out, "Otto") {
		t.Errorf("want the new context to be the current one, got %s", out)
	}
	first := strings.TrimPrefix(p.url, "http://")
	if out := term.ok("whoami", "--context", first); !strings.Contains(out, "Dora") {
		t.Errorf("want the context that is named, got %s", out)
	}
	if out := term.ok("contexts"); !strings.Contains(out, "*  second") || strings.Contains(out, "gpup_") {
		t.Errorf("want the contexts, the current one marked, no token, got %s", out)
	}
	if out := term.ok("__complete", "use", ""); !strings.Contains(out, "second\n") {
		t.Errorf("want the contexts offered to the shell, got %s", out)
	}
	term.ok("use", first)
	term.ok("logout")
	term.fails(signIn, "Not signed in", "list")
	term.fails(signIn, "Unknown context", "list", "--context", first)
	term.fails(denied, "Unknown context", "use", first)
	if out := term.ok("whoami", "--context", "second"); !strings.Contains(out, "Otto") {
		t.Errorf("want the other context left alone, got %s", out)
	}
}

// TestTokensAreKeptFromOthers: a file that the group may read holds nobody's secret (T-CLI).
func TestTokensAreKeptFromOthers(t *testing.T) {
	p := newPortal(t)
	term := newTerminal(t)
	term.env["GPUCTL_TOKEN"] = p.tokens["dora"]
	term.ok("login", p.url)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		must(t, os.Chmod(filepath.Join(term.dir, "config.yaml"), mode))
		term.fails(failed, "chmod 600", "list")
	}
	given := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(given, []byte(p.tokens["otto"]), 0o600))
	must(t, os.Chmod(given, 0o644))
	newTerminal(t).fails(failed, "chmod 600", "login", p.url, "--token-file", given)
}

// TestSigningInRefuses addresses that would take the token elsewhere, and what is no token (T-CLI).
func TestSigningInRefuses(t *testing.T) {
	p := newPortal(t)
	elsewhere := httptest.NewServer(http.RedirectHandler("https://other.example.org/", http.StatusFound))
	t.Cleanup(elsewhere.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html>Welcome</html>")
	}))
	t.Cleanup(other.Close)
	for name, is := range map[string]struct {
		code          int
		words, url    string
		token, pasted string
	}{
		"a token that is none":         {signIn, "gpuctl login", p.url, "gpup_none_none", ""},
		"a network that sees it":       {wrong, "use https", "http://gpu.example.org", "gpup_x", ""},
		"no address":                   {wrong, "no address of a portal", "gpu.example.org", "gpup_x", ""},
		"more than the address":        {wrong, "scheme and host alone", "https://gpu.example.org/workloads", "gpup_x", ""},
		"two lines":                    {wrong, "This is not a token", p.url, "gpup_x\nX-Other: y", ""},
		"nothing pasted":               {wrong, "This is not a token", p.url, "", "\n"},
		"an address that leads away":   {failed, "leads elsewhere", elsewhere.URL, "gpup_x", ""},
		"an address of something else": {failed, "is the address right", other.URL, "gpup_x", ""},
		"nobody there":                 {failed, "connection refused", "http://127.0.0.1:1", "gpup_x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			term := newTerminal(t)
			term.env["GPUCTL_TOKEN"], term.pasted = is.token, is.pasted
			term.fails(is.code, is.words, "login", is.url)
			if _, err := os.Stat(term.dir); err == nil {
				t.Error("want nothing kept")
			}
		})
	}
	term := newTerminal(t)
	term.person = false
	term.fails(wrong, "--token-file or GPUCTL_TOKEN", "login", p.url)
}

// TestMachineFormats: json and yaml are the answer of the API, and nothing is added to it.
func TestMachineFormats(t *testing.T) {
	p := newPortal(t)
	dora := p.signedIn("dora")
	name := strings.TrimSpace(dora.ok("start", "--size", "cpu", "--image", "jupyterlab", "--name", "first", "--reason",
		"a < b", "-o", "name"))
	r, err := http.NewRequest(http.MethodGet, p.url+"/api/v1/workloads", nil)
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+dora.env["GPUCTL_TOKEN"])
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer resp.Body.Close()
	var want, fromJSON, fromYAML struct{ Items []map[string]any }
	must(t, json.NewDecoder(resp.Body).Decode(&want))
	must(t, json.Unmarshal([]byte(dora.ok("list", "-o", "json")), &fromJSON))
	must(t, yaml.Unmarshal([]byte(dora.ok("list", "-o", "yaml")), &fromYAML))
	for format, got := range map[string][]map[string]any{"json": fromJSON.Items, "yaml": fromYAML.Items} {
		if fmt.Sprint(want.Items) != fmt.Sprint(got) || len(got) != 1 || got[0]["name"] != name {
			t.Errorf("%s: want %v, got %v", format, want.Items, got)
		}
	}
	if out := dora.ok("requests", "-o", "json"); !strings.Contains(out, `"reason": "a < b"`) {
		t.Errorf("want text as it is, got %s", out)
	}
	dora.fails(wrong, "choose one of", "list", "-o", "xml")
}

// TestWhatOthersWroteIsHarmless: the words of a colleague or of a cluster must not drive the terminal of who reads them
// (T-CLI). The portal refuses such text where people type; what the cluster says it passes on.
func TestWhatOthersWroteIsHarmless(t *testing.T) {
	const bad = "please\x1b]0;owned\x07\u009b2J\u202eexe\nState: fine"
	term := stub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/workloads/w-2" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(map[string]any{"status": http.StatusConflict, "title": "Conflict", "detail": bad,
				"fields": []map[string]string{{"name": bad, "reason": bad}}})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"id": "w-1", "name": bad, "detail": bad, "reason": bad})
	})
	for _, format := range formats {
		for _, id := range []string{"w-1", "w-2"} {
			s := term.run("get", id, "-o", format)
			for _, control := range []string{"\x1b", "\x07", "\u009b"} {
				if strings.Contains(s.out+s.err, control) {
					t.Errorf("%s %s: want no %q, got %q", id, format, control, s.out+s.err)
				}
			}
			if !strings.Contains(s.out+s.err, "please") {
				t.Errorf("%s %s: want the rest of it, got %q", id, format, s.out+s.err)
			}
		}
	}
	if out := term.ok("get", "w-1"); strings.Contains(out, "\u202e") || strings.Contains(out, "\nState: fine") {
		t.Errorf("want nothing that turns text round or looks like a line of its own, got %q", out)
	}
}

// stub is a terminal whose portal is a function.
func stub(t *testing.T, answer http.HandlerFunc) *terminal {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	term := newTerminal(t)
	term.env["GPUCTL_URL"], term.env["GPUCTL_TOKEN"] = server.URL, "gpup_x"
	return term
}

func TestStartFillsInWhatLeavesNoChoice(t *testing.T) {
	p := newPortal(t)
	dora := p.signedIn("dora")
	dora.fails(wrong, "--size is missing", "start", "--image", "jupyterlab")
	dora.fails(wrong, "Choose for a notebook: jupyterlab, pytorch", "start", "--size", "cpu")
	dora.fails(wrong, "put the command of a job after --", "start", "cpu")
	dora.fails(wrong, "NAME=VALUE", "start", "--size", "cpu", "--env", "EPOCHS")
	dora.fails(wrong, "unknown flag", "start", "--sise", "cpu")
	dora.fails(wrong, "unknown command", "strat")
	file := filepath.Join(t.TempDir(), "job.yaml")
	must(t, os.WriteFile(file, []byte("kind: job\nsize: cpu\nimage: pytorch-job\ncommand: [sleep]\nargs: ['1']\n"+
		"env: {A: '1', B: '2'}\n"), 0o600))
	var got struct {
		Tenant, Name string
		Job          struct {
			Command, Args, Variables []string
		}
	}
	out := dora.ok("start", "-f", file, "--name", "train", "--env", "B=x,y=z", "--reason", "train", "-o", "json", "--",
		"python", "train.py", "--epochs", "3")
	must(t, json.Unmarshal([]byte(out), &got))
	if want := "{vision train {[python train.py --epochs 3] [] [A B]}}"; fmt.Sprint(got) != want {
		t.Errorf("want %s, got %s", want, fmt.Sprint(got))
	}
	must(t, os.WriteFile(file, []byte("sise: cpu"), 0o600))
	dora.fails(wrong, "sise", "start", "-f", file)
	once := []string{"start", "--size", "cpu", "--image", "jupyterlab", "--reason", "r", "--key", "nightly", "-o", "json"}
	if first, second := dora.ok(once...), dora.ok(once...); first != second {
		t.Errorf("want one request for one key, got %s and %s", first, second)
	}
}

func TestWaiting(t *testing.T) {
	p := newPortal(t)
	dora, ada := p.signedIn("dora"), p.signedIn("ada")
	becomes := func(name, state string) func(string) {
		moved := false
		return func(all string) {
			if !moved && strings.Contains(all, name+": queued") {
				moved = true
				p.becomes(name, state)
			}
		}
	}
	start := []string{"start", "--size", "cpu", "--image", "jupyterlab", "--reason", "r", "--wait", "--name"}
	if s := dora.watch(becomes("good", "running"), append(start, "good")...); s.code != done ||
		!strings.Contains(s.out, "running") || !strings.Contains(s.err, "good: running") {
		t.Errorf("want it to wait until it runs, got %d %s %s", s.code, s.out, s.err)
	}
	if s := dora.watch(becomes("bad", "failed"), append(start, "bad")...); s.code != unmet ||
		!strings.Contains(s.err, "bad is failed") {
		t.Errorf("want a failure told, got %d %s", s.code, s.err)
	}
	if s := dora.run(append(start, "late", "--wait-timeout", "50ms")...); s.code != unmet ||
		!strings.Contains(s.err, "Not within 50ms") {
		t.Errorf("want an end of patience, got %d %s", s.code, s.err)
	}
	job := []string{"start", "--kind", "job", "--size", "cpu", "--image", "pytorch-job", "--reason", "r", "--wait",
		"--name", "train", "--", "true"}
	if s := dora.watch(becomes("train", "succeeded"), job...); s.code != done ||
		!strings.Contains(s.out, "succeeded") {
		t.Errorf("want it to wait until a job has ended, got %d %s %s", s.code, s.out, s.err)
	}
	said := false
	s := dora.watch(func(all string) {
		if !said && strings.Contains(all, "waits for approver") {
			said = true
			id := strings.TrimSpace(ada.ok("requests", "--inbox", "-o", "name"))
			ada.ok("reject", id, "--note", "not this week")
		}
	}, "start", "--size", "h100", "--image", "jupyterlab", "--reason", "r", "--wait")
	if s.code != unmet || !strings.Contains(s.err, "is rejected. not this week") {
		t.Errorf("want a rejection told, got %d %s", s.code, s.err)
	}
}

// TestWaitingGoesOnWhileThePortalIsAway: a restart of the portal must not end a pipeline that waits.
func TestWaitingGoesOnWhileThePortalIsAway(t *testing.T) {
	calls := 0
	term := stub(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprint(w, `{"id":"r-1","state":"approved","workload":"w-1"}`)
		case calls == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case calls == 3:
			w.WriteHeader(http.StatusBadGateway)
		default:
			fmt.Fprint(w, `{"id":"w-1","name":"nb","state":"running","kind":"notebook"}`)
		}
	})
	term.ok("start", "--team", "vision", "--size", "cpu", "--image", "jupyterlab", "--wait")
	if calls != 4 {
		t.Errorf("want it to ask again twice, got %d calls", calls)
	}
}

func TestDeletingAsks(t *testing.T) {
	p := newPortal(t)
	dora := p.signedIn("dora")
	dora.ok("start", "--size", "cpu", "--image", "jupyterlab", "--name", "first", "--reason", "r")
	there := func() bool { return strings.Contains(dora.ok("get", "first", "-o", "json"), `"desired": "running"`) }
	for _, answer := range []string{"n\n", "\n", ""} {
		dora.typed = answer
		dora.fails(unmet, "Canceled", "delete", "first")
	}
	dora.person = false
	dora.fails(wrong, "--yes", "delete", "first")
	if !there() {
		t.Fatal("want it to be there still")
	}
	otto := p.signedIn("otto")
	otto.fails(denied, "No workload", "delete", "first", "--yes")
	otto.fails(denied, "No workload", "get", "first")
	dora.ok("delete", "first", "--yes")
	if there() {
		t.Error("want it deleted")
	}
}

// TestLogsAreFollowed: lines come as they are written, without an end to the time that they may take.
func TestLogsAreFollowed(t *testing.T) {
	release := make(chan bool)
	var asked string
	term := stub(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/logs") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"id":"w-1","name":"nb","state":"running"}`)
			return
		}
		asked = r.URL.RawQuery
		fmt.Fprintln(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-release
		fmt.Fprintln(w, "second")
	})
	out := &written{on: func(all string) {
		if all == "first\n" {
			close(release)
		}
	}}
	c := &cli{out: out, err: out, zone: time.UTC, getenv: func(name string) string { return term.env[name] }}
	code := c.run(t.Context(), []string{"logs", "w-1", "-f", "--tail", "5", "--since", "15m"})
	if got := out.text.String(); code != done || got != "first\nsecond\n" || asked != "tail=5&since=15m&follow=true" {
		t.Errorf("want the lines as they come, got %d %q for %q", code, got, asked)
	}
}

func TestCompletion(t *testing.T) {
	p := newPortal(t)
	dora := p.signedIn("dora")
	dora.ok("start", "--size", "cpu", "--image", "jupyterlab", "--name", "first", "--reason", "r")
	for _, want := range []struct{ line, has string }{
		{"get ", "first\n"}, {"start --size ", "h100\t"}, {"start --kind job --image ", "pytorch-job\t"},
		{"list -o ", "yaml\n"},
	} {
		if out := dora.ok(append([]string{"__complete"}, strings.Split(want.line, " ")...)...); !strings.Contains(out,
			want.has) {
			t.Errorf("%q: want %q, got %s", want.line, want.has, out)
		}
	}
	if out := dora.ok("completion", "bash"); !strings.Contains(out, "gpuctl") {
		t.Error("want a script for bash")
	}
}

// TestLanguage: the portal's sentences come in the language of the terminal.
func TestLanguage(t *testing.T) {
	p := newPortal(t)
	dora := p.signedIn("dora")
	dora.env["LANG"] = "de_DE.UTF-8"
	dora.fails(denied, "Es gibt keine Anfrage", "requests", "r-none")
	dora.env["LC_ALL"] = "C"
	dora.fails(denied, "No request with this number", "requests", "r-none")
}

// TestOnTheGeneratedClientOnly: gpuctl knows of the portal what its API says, and nothing of its packages.
func TestOnTheGeneratedClientOnly(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	must(t, err)
	const ours = "github.com/gpu-portal/gpu-portal/"
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, ours) && path != ours+"cmd/gpuctl" && path != ours+"internal/apiclient" {
			t.Errorf("gpuctl is compiled with %s", path)
		}
	}
}
