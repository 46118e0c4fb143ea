package reconcile_test

import (
	"flag"
	"os"
	"testing"
)

// These tests wait more than they work: more of them run side by side than there are cores.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
