// Package chromium finds the browser that tests and pictures use.
package chromium

import (
	"errors"
	"os/exec"
)

// programs are what may be there, the better first: Debian's chromium-headless-shell renders the same, without the
// windows, tabs and profiles of a desktop, which take more processor time than the pages do.
var programs = []string{"chromium-headless-shell", "chromium"}

// Find is the path of the first that is installed.
func Find() (string, error) {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither chromium-headless-shell nor chromium is installed: .ci/needs installs one")
}
