// Package jobs runs what the leader does on a clock, and knows which loops of the process are alive.
//
// Job is one line of the list (internal/app/jobs.go has it): name, period, deadline, whether it needs a trusted clock,
// and what it does. Runner runs each in a goroutine of its own, with jitter, and keeps the last Run of each in the
// Store, for the page and the API, and in metrics.
//
// Watchdog holds the loops: those of the jobs and those of the controller (internal/reconcile). Each says with Beat by
// when it will be back. A loop that is late makes /healthz fail with its name, and while one is late no loop renews the
// leader's lease (store.Renew), so that another process takes the lead. Clocks says whether the time can be trusted.
package jobs
