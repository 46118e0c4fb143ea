package kube

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs a program in a directory, apart from what the machine says to git.
func git(t *testing.T, dir, program string, env []string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir = dir
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org"}, env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestTheScriptClonesOnce runs what the container runs.
func TestTheScriptClonesOnce(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("no git on this machine; on Debian: apt-get install git")
	}
	from, home := t.TempDir(), t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"commit", "-q", "--allow-empty", "-m", "one"},
		{"checkout", "-q", "-b", "next"}, {"commit", "-q", "--allow-empty", "-m", "two"}, {"checkout", "-q", "main"}} {
		if out, err := git(t, from, "git", nil, args...); err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
	}
	target := filepath.Join(home, "a b")
	clone := func(ref string) (string, error) {
		return git(t, home, "sh", []string{"REPOSITORY=file://" + from, "REF=" + ref, "TARGET=" + target}, "-c", cloneScript)
	}
	if out, err := clone("none"); err == nil || !strings.Contains(out, "none") {
		t.Errorf("want a failure that names the ref, got %v %s", err, out)
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a clone that failed left its directory: nothing would be tried again")
	}
	if out, err := clone("next"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := git(t, target, "git", nil, "log", "--format=%s", "-1"); err != nil || strings.TrimSpace(out) != "two" {
		t.Errorf("want the branch that was asked for, got %q %v", out, err)
	}
	if err := os.WriteFile(filepath.Join(target, "work"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := clone("main"); err != nil || !strings.Contains(out, "left as it is") {
		t.Errorf("%v %s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(target, "work")); err != nil || string(text) != "mine" {
		t.Errorf("somebody's work is gone: %v", err)
	}
}

// TestGitReadsTheSecret asks git as it asks before it calls a host.
func TestGitReadsTheSecret(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("no git on this machine; on Debian: apt-get install git")
	}
	file := filepath.Join(t.TempDir(), "git-credentials")
	if err := os.WriteFile(file, []byte("https://ada:p%40ss@github.com\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	helper := strings.Replace(gitHelper, "%s", file, 1)
	for host, want := range map[string]string{"github.com": "password=p@ss", "example.org": ""} {
		out, _ := git(t, ".", "sh", []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=credential.helper",
			"GIT_CONFIG_VALUE_0=" + helper, "GIT_TERMINAL_PROMPT=0"}, "-c",
			"printf 'protocol=https\\nhost="+host+"\\n\\n' | git credential fill")
		if got := strings.Contains(out, "password="); got != (want != "") || !strings.Contains(out, want) {
			t.Errorf("%s: %s", host, out)
		}
	}
}
