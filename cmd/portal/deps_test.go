package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestNoTestSupport: stories, example data and what serves tests stay out of the program, and so does package testing,
// whose flags they would bring along.
func TestNoTestSupport(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/gpu-portal/gpu-portal/"
	support := regexp.MustCompile(`(test|/story|/stories|/example)$|/e2e(/|$)`)
	seen := 0
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, ours) {
			seen++
		}
		if path == "testing" || strings.HasPrefix(path, ours) && support.MatchString(path) {
			t.Errorf("the portal is compiled with %s", path)
		}
	}
	if seen < 50 {
		t.Errorf("want the packages of the portal, got %d", seen)
	}
}
