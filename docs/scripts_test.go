package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// machine is a PATH with what a test puts there and nothing else.
type machine struct {
	t   *testing.T
	dir string
}

func newMachine(t *testing.T, programs ...string) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir()}
	for _, name := range programs {
		m.program(name, "exit 0")
	}
	return m
}

// program puts a shell script there.
func (m *machine) program(name, body string) {
	m.t.Helper()
	must(m.t, os.WriteFile(filepath.Join(m.dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
}

// apt is a package manager that notes what it is asked for, and brings the programs of some packages.
func (m *machine) apt(brings map[string]string) {
	m.t.Helper()
	body := fmt.Sprintf("echo \"$@\" >> %s/apt.log\nfor p in \"$@\"; do case $p in\n", m.dir)
	for pkg, program := range brings {
		body += fmt.Sprintf("%s) echo '#!/bin/sh' > %s/%s; /bin/chmod +x %s/%s;;\n", pkg, m.dir, program, m.dir, program)
	}
	m.program("apt-get", body+"esac; done")
}

// user is who runs the script: 0 is root.
func (m *machine) user(id int) { m.program("id", fmt.Sprintf("echo %d", id)) }

// needs runs .ci/needs there; PostgreSQL and sshd are where the test says.
func (m *machine) needs() (said string, err error) {
	m.t.Helper()
	script, err := filepath.Abs("../.ci/needs")
	must(m.t, err)
	cmd := exec.Command("/bin/sh", script)
	cmd.Env = []string{"PATH=" + m.dir, "POSTGRESQL=" + filepath.Join(m.dir, "postgresql"),
		"SSHD=" + filepath.Join(m.dir, "sshd")}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m *machine) asked() string {
	log, _ := os.ReadFile(filepath.Join(m.dir, "apt.log"))
	return string(log)
}

// everything that .ci/needs looks for, and the packages that bring it.
var everything = map[string]string{"gcc": "cc", "chromium-headless-shell": "chromium-headless-shell", "curl": "curl",
	"jq":               "jq",
	"jupyter-notebook": "jupyter-notebook", "openssh-client": "ssh", "openssh-server": "sshd", "postgresql": "postgres"}

func TestNeedsInstallsWhatIsMissingOnDebian(t *testing.T) {
	m := newMachine(t, "chromium-headless-shell")
	m.user(0)
	m.apt(everything)
	said, err := m.needs()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	asked := m.asked()
	for pkg := range everything {
		if got := strings.Contains(asked, " "+pkg); got == (pkg == "chromium-headless-shell") {
			t.Errorf("%s: want it asked for unless it is there, got %q", pkg, asked)
		}
	}
	if !strings.HasPrefix(asked, "update") || !strings.Contains(asked, "install -y") {
		t.Errorf("want an update and an installation without questions, got %q", asked)
	}
	if _, err := m.needs(); err != nil || m.asked() != asked {
		t.Errorf("where nothing is missing nothing is asked for: %v, %q", err, m.asked())
	}
}

// TestNeedsTakesTheChromiumThatIsThere: whoever has a desktop's needs no second one.
func TestNeedsTakesTheChromiumThatIsThere(t *testing.T) {
	m := newMachine(t, "chromium")
	m.user(0)
	m.apt(everything)
	if said, err := m.needs(); err != nil || m.asked() == "" || strings.Contains(m.asked(), "chromium") {
		t.Errorf("want the others alone asked for, got %v %q %q", err, said, m.asked())
	}
}

func TestNeedsUsesSudo(t *testing.T) {
	m := newMachine(t)
	m.user(1000)
	m.apt(everything)
	said, err := m.needs()
	if err == nil || strings.Count(said, "\n") != 1 || !strings.Contains(said, "Run as root: apt-get install") ||
		m.asked() != "" {
		t.Errorf("without sudo: want one line that says what to run, got %v %q", err, said)
	}
	m.program("sudo", "exec \"$@\"")
	if said, err := m.needs(); err != nil || m.asked() == "" {
		t.Errorf("with sudo: %v %q", err, said)
	}
}

func TestNeedsSaysInOneLineWhatToInstallElsewhere(t *testing.T) {
	m := newMachine(t, "cc", "curl", "jq", "jupyter-notebook", "ssh", "sshd")
	must(t, os.MkdirAll(filepath.Join(m.dir, "postgresql", "17", "bin"), 0o755))
	must(t, os.WriteFile(filepath.Join(m.dir, "postgresql", "17", "bin", "postgres"), nil, 0o755))
	said, err := m.needs()
	if want := "Missing: chromium-headless-shell. Install what has them, on Debian: apt-get install " +
		"chromium-headless-shell\n"; err == nil ||
		said != want {
		t.Errorf("want %q, got %v %q", want, err, said)
	}
}

func TestNeedsTellsWhenInstallingDidNotHelp(t *testing.T) {
	m := newMachine(t)
	m.user(0)
	m.apt(map[string]string{"gcc": "cc"})
	if said, err := m.needs(); err == nil || !strings.Contains(said, "Still missing after installing") ||
		!strings.Contains(said, "chromium-headless-shell") {
		t.Errorf("want it told, got %v %q", err, said)
	}
}

// steps runs .ci/steps on a list of steps, and gives what people see and the log.
func steps(t *testing.T, list ...string) (seen, log string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "logs", "build.log")
	cmd := exec.Command("../.ci/steps", file)
	cmd.Stdin = strings.NewReader(strings.Join(list, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	text, readErr := os.ReadFile(file)
	must(t, readErr)
	return strings.ReplaceAll(string(out), file, "LOG"), string(text), err
}

// TestStepsSayHowFarTheyAre: one line for a step that takes long, with the time that is expected of all, and none of
// what the steps write.
func TestStepsSayHowFarTheyAre(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	must(t, os.WriteFile(there, nil, 0o600))
	seen, log, err := steps(t, "100|"+there+"|what is there|echo quick", "200|/nowhere/a|a long one|echo said; sleep 4",
		"60|/nowhere/b|the last|echo done")
	if err != nil {
		t.Fatalf("%v: %s", err, seen)
	}
	status := regexp.MustCompile(`^(?:step \d of 3: [a-z ]+, \d+:\d\d of about 4:20|built in \d+:\d\d)$`)
	for line := range strings.SplitSeq(strings.TrimSpace(seen), "\n") { // on a slow machine the others take long too
		if !status.MatchString(line) {
			t.Errorf("want nothing but how far it is, got %q", line)
		}
	}
	if strings.Count(seen, "step 2 of 3: a long one") != 1 || strings.Count(seen, "built in") != 1 {
		t.Errorf("want one line for the long step and one at the end, got %q", seen)
	}
	if want := []string{"quick", "said", "done"}; !slices.Equal(want, output(log)) {
		t.Errorf("want all output in the log, got %q", log)
	}
}

// output is a log without the headings of the steps.
func output(log string) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSpace(log), "\n") {
		if !strings.HasPrefix(line, "== ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestStepsShowTheEndOfTheLogOnFailure(t *testing.T) {
	seen, log, err := steps(t, "1|/nowhere/a|the first|seq 1 100", "1|/nowhere/b|the second|echo broken; exit 3",
		"1|/nowhere/c|the third|echo never")
	failed, is := err.(*exec.ExitError)
	if !is || failed.ExitCode() != 3 {
		t.Errorf("want the status of the step, got %v", err)
	}
	for _, want := range []string{"failed in step 2 of 3: the second", "LOG", "broken"} {
		if !strings.Contains(seen, want) {
			t.Errorf("want %q, got %q", want, seen)
		}
	}
	if n := strings.Count(seen, "\n"); n > 25 || strings.Contains(log, "never") {
		t.Errorf("want the end of the log and nothing after the failure, got %d lines, %q", n, log)
	}
}

// TestStepsThatAreDoneTakeNoTime: where everything is there no time is expected.
func TestStepsThatAreDoneTakeNoTime(t *testing.T) {
	if seen, _, err := steps(t, "300|/|one|sleep 3"); err != nil || strings.Contains(seen, "about") ||
		!strings.Contains(seen, "step 1 of 1: one, 0:") {
		t.Errorf("want the time that passes alone, got %v %q", err, seen)
	}
}
