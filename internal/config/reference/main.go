// Command reference prints docs/configuration.md: every setting of config.Config with type, default and meaning. Names,
// types and defaults come from the values (reflect, config.Load), meanings from the comments of the fields, so that the
// page cannot say something else than the program does. Run it from the root of the repository; `make generate` does.
package main

import (
	"fmt"
	"os"
)

func main() {
	page, err := Page(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
	fmt.Print(page)
}
