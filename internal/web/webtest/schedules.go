package webtest

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/schedule"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Scheduled is a team with office hours and holidays, of which one workload is kept on, one could not be started, one
// has hours in a zone that is gone, and one a schedule of its own.
func Scheduled(s Scope) *World {
	w := Busy(s)
	office := schedule.Office("Europe/Berlin")
	found(w.Tenants.SaveSchedule(bg, w.Actor(Ben), "vision", &office, []schedule.Holiday{
		{Date: "2026-11-24", Name: "Company day"}, {Date: "2026-12-25", Name: "Christmas Day"}}))
	w.follow("w-train-resnet", func(*workload.Schedule) {})
	found(w.WorkloadService.KeepOn(bg, w.Actor(Anna), "w-train-resnet", true))
	w.follow("w-old-notes", func(x *workload.Schedule) {
		x.Followed = workload.Followed{Tries: 3, RetryAt: Now.Add(7 * time.Minute),
			Problem: i18n.T("request.quota_full", "Size", "MIG slice, 10 GB", "Used", 4, "Limit", 4)}
	})
	lost := schedule.Office("Europe/Atlantis")
	w.follow("w-llm-chat", func(x *workload.Schedule) { x.Mode, x.Hours = workload.OwnHours, &lost })
	nights := schedule.Hours{Zone: "Asia/Seoul", StopOnly: true, Windows: []schedule.Window{
		{Days: schedule.Week(), From: 7 * 60, Until: 22 * 60}, {Days: []schedule.Day{"sun"}, From: 60, Until: 120}}}
	w.follow("w-sweep-lr", func(x *workload.Schedule) { x.Mode, x.Hours = workload.OwnHours, &nights })
	return w
}

// follow changes the schedule of a workload, whose lease is long then.
func (w *World) follow(id workload.ID, change func(*workload.Schedule)) {
	item := w.Work(id)
	item.Lease.Until = Now.Add(30 * 24 * time.Hour)
	change(&item.Schedule)
	w.PutWork(item)
}
