// Command devstack builds and runs a whole GPU site on one machine: see the module's doc.go.
package main

import (
	"fmt"
	"os"
)

const usage = `devstack build --out DIR                    compile the programs into DIR (minutes the first time)
devstack up --bin DIR --data DIR [flags]    start everything and stay in the foreground until Ctrl-C
`

func main() {
	commands := map[string]func([]string) error{"build": runBuild, "up": runUp}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "devstack:", err)
		os.Exit(1)
	}
}
