package part

import (
	"runtime"
	"sync"
)

// Pdeathsig follows the thread that started the child, not the process: when that thread ends, the child is killed.
// So one thread that never ends starts all children.
var (
	parentOnce sync.Once
	parentWork = make(chan func())
)

func onParentThread(f func() error) error {
	parentOnce.Do(func() {
		go func() {
			runtime.LockOSThread()
			for work := range parentWork {
				work()
			}
		}()
	})
	done := make(chan error, 1)
	parentWork <- func() { done <- f() }
	return <-done
}
