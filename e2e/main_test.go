// Package e2e holds the stories: the real portal as a process, beside a real API server, scheduler, Prometheus, sign-in
// provider and browser. They run under `make e2e`, which starts a devstack and says in DEVSTACK_READY where it is.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/notify/notifytest"
)

var (
	world  stack.Ready
	root   string
	portal *stack.Portal
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	file := os.Getenv(stack.ReadyVariable)
	if file == "" {
		fmt.Println("SKIP e2e: no devstack runs here (make e2e starts one and sets DEVSTACK_READY)")
		return 0
	}
	var err error
	if root, err = stack.Root(); err == nil {
		world, err = stack.ReadReady(file)
	}
	if err != nil {
		fmt.Println("e2e:", err)
		return 1
	}
	dir, err := os.MkdirTemp("", "portal-e2e-")
	if err != nil {
		fmt.Println("e2e:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	log, err := os.Create(dir + "/portal.log")
	if err != nil {
		fmt.Println("e2e:", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if post, err = notifytest.NewPost(); err == nil {
		defer post.Close()
		portal, err = stack.NewPortal(ctx, stack.PortalOptions{Root: root, Dir: dir, Ready: world, Instance: "e2e" + runID,
			Spaces: spaces("e2e"), MinLease: "1s", Out: log, Change: outside})
	}
	if err == nil {
		accounts = append(accounts, portal.Account)
		err = portal.Start(ctx)
	}
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		fmt.Printf("e2e: %v\n%s\n", err, text)
		return 1
	}
	defer portal.Stop()
	defer closeBrowser()
	code := m.Run()
	code = max(code, onlyOwnRights())
	if code != 0 {
		text, _ := os.ReadFile(log.Name())
		fmt.Printf("--- the portal's log, its end ---\n%s\n", text[max(0, len(text)-20_000):])
	}
	return code
}
