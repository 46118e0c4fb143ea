package docs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/policy"
)

// The commands of the pages are run here, all those of a page in one shell, in order. portal is the real program:
// `portal serve` is the process that every curl talks to, the others run on a database of their own. A cluster, a
// registry and a PostgreSQL are not there (package charts installs by install.md on a real control plane), so
//
//	helm             renders the chart with the values of the page and reads the settings that come out
//	kubectl          is checked word by word (standins_test.go), reads what is piped into it, and `exec … -- portal` runs
//	pg_dump, pg_restore  are checked against the real programs' --help
//	make             is run with -n
//	withstack        is checked to name a package that is there
//	gpuctl           is the real program, whose portal is the one that is served here
//	sleep            returns at once

// workplace is a folder with the files that the pages show, and stand-ins for what is not there.
type workplace struct {
	dir, url     string
	user, admin  string // tokens
	environments []string
}

// programs is the folder of what built has made, "" before.
var programs string

// built is the real program, once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gpu-portal-docs-")
	if err != nil {
		return "", err
	}
	programs = dir
	out, err := exec.Command("go", "build", "-o", dir, "../cmd/portal", "../cmd/gpuctl").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return filepath.Join(dir, "portal"), nil
})

// realProgram is where the portal is. To build it takes longer than short tests do.
func realProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the programs: make test runs it")
	}
	path, err := built()
	must(t, err)
	return path
}

func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is missing: apt-get install %s", tool, tool)
		}
	}
	program := realProgram(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	w := &workplace{dir: t.TempDir()}
	bin := filepath.Join(w.dir, ".cache", "bin")
	must(t, os.MkdirAll(bin, 0o755))
	must(t, os.Symlink(filepath.Join(root, "charts"), filepath.Join(w.dir, "charts")))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name := range standIns {
		must(t, os.Symlink(self, filepath.Join(bin, name)))
	}
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if name := b.name(); name != "" {
				must(t, os.WriteFile(filepath.Join(w.dir, name), []byte(b.text), 0o600))
			}
		}
	}
	must(t, os.WriteFile(filepath.Join(w.dir, "kubeconfig"), []byte(nowhere), 0o600))
	w.environments = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"DOCS_ROOT="+root, "DOCS_STATE="+w.dir, "DOCS_PORTAL="+program,
		"DOCS_GPUCTL="+filepath.Join(filepath.Dir(program), "gpuctl"), "XDG_CONFIG_HOME="+w.dir)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// nowhere is a cluster where nothing listens.
const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: none}}]
current-context: c
`

// provider is where nothing listens either: tokens do not ask it.
const provider = "http://127.0.0.1:1"

// serve starts the portal that install.md configures, with tokens of a developer and of an administrator.
func (w *workplace) serve(t *testing.T) {
	t.Helper()
	program, _ := built()
	args := []string{"--config", "portal.yaml", "--database", "sqlite:server.db"}
	w.user = w.token(t, "sqlite:server.db", "dora", "vision-devs")
	w.admin = w.token(t, "sqlite:server.db", "adam", "gpu-admins")
	cmd := exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0", "--oidc-issuer", provider},
		args...)...)
	cmd.Dir = w.dir
	out, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	w.url = "http://" + listening(t, out)
}

// token makes an API token as an operator does; it is the first event on record of a new database.
func (w *workplace) token(t *testing.T, database, subject, group string) string {
	t.Helper()
	program, _ := built()
	cmd := exec.Command(program, "token", "create", "--config", "portal.yaml", "--database", database, "--issuer",
		provider,
		"--subject", subject, "--name", subject, "--groups", group)
	cmd.Dir = w.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("make a token: %v %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

var listen = regexp.MustCompile(`\blisten=(\S+)`)

// listening reads the log up to where it says at which address the portal answers.
func listening(t *testing.T, log io.Reader) string {
	t.Helper()
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if m := listen.FindStringSubmatch(lines.Text()); m != nil && len(found) == 0 {
				found <- m[1]
			}
		}
	}()
	select {
	case address := <-found:
		return address
	case <-time.After(2 * time.Minute):
		t.Fatal("the portal does not say where it listens")
		return ""
	}
}

// run runs the shell blocks of a page in one shell, and gives what they write.
func (w *workplace) run(t *testing.T, page string, environment ...string) string {
	t.Helper()
	var script strings.Builder
	for _, b := range blocks(t, page) {
		if b.language != "sh" {
			continue
		}
		if strings.Contains(b.text, "gpup_…") { // the reader's own address and token: the test has set them
			continue
		}
		fmt.Fprintf(&script, "at='%s, line %d'\n%s", filepath.Base(page), b.line, b.text)
	}
	cmd := exec.Command("bash", "-c", "set -euo pipefail\ntrap 'echo \"failed: $at\" >&2' ERR\n"+script.String())
	cmd.Dir, cmd.Env = w.dir, append(w.environments, environment...)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", page, err, wrong.String(), tail(out.String(), 3000))
	}
	return out.String()
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

func TestTheCallsOfTheAPIPageWork(t *testing.T) {
	w := newWorkplace(t)
	w.serve(t)
	out := w.run(t, "api.md", "PORTAL_URL="+w.url, "PORTAL_TOKEN="+w.user, "ADMIN_TOKEN="+w.admin)
	for _, want := range []string{`"name": "dora"`, `"name": "cpu"`, `"startsNow"`, `"state": "approved"`, `"stopped"`,
		`"deleted"`,
		`"status": 422`, `"instance": "urn:gpu-portal:request:`, `"level": "debug"`, `"configured": "info"`, `"until"`} {
		if !strings.Contains(out, want) {
			t.Errorf("want %s in what the calls answer", want)
		}
	}
	if german := regexp.MustCompile(`(?m)^.*(?:Anfrage|Antrag).*$`); !german.MatchString(out) {
		t.Error("want an error in German")
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestTheCommandsOfTheOtherPagesWork(t *testing.T) {
	w := newWorkplace(t)
	w.serve(t)
	w.token(t, "sqlite:cli.db", "dora", "vision-devs")
	for page, want := range map[string][]string{
		"install.md": {"kind: ConsoleQuickStart", "kind: RoleBinding", "namespace/gpu-vision", "every link holds",
			`"open": 0`,
			"[+]database ok"},
		"admins.md":  {"No problems: "},
		"develop.md": nil, "../README.md": nil,
	} {
		out := w.run(t, page, "PORTAL_URL="+w.url, "PORTAL_TOKEN="+w.admin, "PORTAL_DATABASE=sqlite:cli.db")
		for _, s := range want {
			if !strings.Contains(out, s) {
				t.Errorf("%s: want %q in what its commands write, got\n%s", page, s, tail(out, 2000))
			}
		}
	}
}

func TestTheCommandsOfTheUsersPageWork(t *testing.T) {
	w := newWorkplace(t)
	w.serve(t)
	out := w.run(t, "users.md", "PORTAL_URL="+w.url, "GPUCTL_TOKEN="+w.user)
	for _, want := range []string{"vision (developer)", "GPU MEMORY", "jupyterlab", "Decision:", "approved", "UNTIL",
		"http://first", "extend", "It is being deleted", "queued\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %s in what the commands write, got\n%s", want, out)
		}
	}
}

// TestEveryNamedCommandOfGpuctlIsOne: what a text names in a line has its command and its flags.
func TestEveryNamedCommandOfGpuctlIsOne(t *testing.T) {
	program := realProgram(t)
	found := 0
	for _, page := range pages(t) {
		for _, m := range inCode.FindAllStringSubmatch(prose(t, page), -1) {
			words := strings.Fields(m[1])
			if words[0] != "gpuctl" {
				continue
			}
			found++
			out, err := exec.Command(filepath.Join(filepath.Dir(program), "gpuctl"), append(words[1:],
				"--help")...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: `%s`: %s", page, m[1], out)
			}
		}
	}
	if found < 8 {
		t.Errorf("want the commands read, got %d", found)
	}
}

// TestTheFilesOfThePagesAreRight: each file that a page shows is one that a command of it reads, or rules that compile.
func TestTheFilesOfThePagesAreRight(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		var commands strings.Builder
		all := blocks(t, page)
		for _, b := range all {
			if b.language == "sh" {
				commands.WriteString(b.text)
			}
		}
		for _, b := range all {
			if b.language != "yaml" {
				continue
			}
			found++
			switch name := b.name(); {
			case name == "":
				t.Errorf("%s:%d: a file without its name in the first line", page, b.line)
			case name == "rules.yaml":
				rulesCompile(t, b)
			case !strings.Contains(commands.String(), " "+name):
				t.Errorf("%s:%d: no command reads %s", page, b.line, name)
			}
		}
	}
	if found < 6 {
		t.Errorf("want the files read, got %d", found)
	}
}

func rulesCompile(t *testing.T, b block) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	must(t, os.WriteFile(file, []byte(b.text), 0o600))
	c, _ := config.Load(file, func(string) string { return "" }, nil)
	if _, problems := policy.Compile(c.Rules); len(problems) > 0 || len(c.Rules) == 0 {
		t.Errorf("%s:%d: %d rules, %v", b.page, b.line, len(c.Rules), problems)
	}
}

func decode(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	must(t, json.Unmarshal(text, into))
}

// TestTheStandInsAreStrict: a slip in a command is found, or running them would show nothing.
func TestTheStandInsAreStrict(t *testing.T) {
	w := newWorkplace(t)
	for command, right := range map[string]bool{
		"helm template gpu-portal charts/gpu-portal -n gpu-portal -f site.yaml":                        true,
		"helm template gpu-portal charts/gpu-portal -n gpu-portal":                                     false, // no issuer
		"helm template gpu-portal charts/gpu-portal -n gpu-portal -f site.yaml --set rbac.bindings=me": false,
		"helm template gpu-portal charts/gpu-portal -n gpu-portal -f site.yaml --wiat":                 false,
		"helm template gpu-portal charts/gpuportal -f site.yaml":                                       false,
		"kubectl -n gpu-portal rollout status deploy/gpu-portal":                                       true,
		"kubectl -n gpu-portal rollout status deploy/gpuportal":                                        false,
		"kubectl -n gpu-portal rolout status deploy/gpu-portal":                                        false,
		"echo 'no: object' | kubectl apply -f -":                                                       false,
		"portal serve --config portal.yaml":                                                            true,
		"portal serve --confg portal.yaml":                                                             false,
		"make check":                                                                                   true,
		"make chekc":                                                                                   false,
		"withstack -- go test ./internal/reconcile":                                                    true,
		"withstack -- go test ./internal/nothing":                                                      false,
	} {
		cmd := exec.Command("bash", "-c", "set -euo pipefail; helm template gpu-portal charts/gpu-portal -n gpu-portal "+
			"-f site.yaml > /dev/null; "+command)
		cmd.Dir, cmd.Env = w.dir, w.environments
		if out, err := cmd.CombinedOutput(); (err == nil) != right {
			t.Errorf("%s: want right %t, got %v %s", command, right, err, tail(string(out), 400))
		}
	}
	if !slices.Contains(settings(t), "oidc.issuer") {
		t.Error("the reference of the settings cannot be read")
	}
}
