package workloads

import (
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// historyModel says a day where it begins.
func historyModel(say page.Words, events []audit.Event) workloadview.HistoryModel {
	m := workloadview.HistoryModel{ID: "workload-history"}
	for i, e := range events {
		day, at := say.At(e.At), say.At(e.At)
		day.Words, day.Mode = say.Text(i18n.Date(e.At.UTC())), ui.TimeDay
		at.Words, at.Mode = ui.Clock(e.At, time.UTC), ui.TimeOfDay
		m.Events = append(m.Events, workloadview.EventModel{Icon: eventIcon(e.Kind), Day: day, Time: at,
			NewDay: i == 0 || day.Words != m.Events[i-1].Day.Words,
			Who:    blocks.WhoDid(say, e), What: say.S("audit." + string(e.Kind)), Detail: eventDetail(say, e)})
	}
	return m
}

// eventDetail leaves out what only names this workload, and an address by its id.
func eventDetail(say page.Words, e audit.Event) string {
	if strings.HasPrefix(string(e.Kind), "embed.") {
		return ""
	}
	return say.Text(e.Detail)
}

// eventIcons are the icons of kinds of events, and of all kinds of a noun, the part before the dot.
var eventIcons = map[string]string{
	string(audit.RequestApproved): "ok", string(audit.RequestAutoApproved): "ok", string(audit.RequestRejected): "danger",
	string(audit.WorkloadCreated): "plus", string(audit.WorkloadStarted): "play", string(audit.WorkloadWoken): "play",
	string(audit.ScheduleStarted): "play", string(audit.WorkloadStopped): "stop", string(audit.WorkloadSlept): "pause",
	string(audit.ScheduleStopped): "stop", string(audit.WorkloadIdleStopped): "stop", string(audit.LeaseEnded): "stop",
	string(audit.WorkloadExtended): "extend", string(audit.WorkloadShared): "share",
	string(audit.WorkloadDeleted): "trash", string(audit.FileUploaded): "upload", string(audit.FileDownloaded): "download",
	string(audit.RevisionFailed): "danger",

	"request": "requests", "workload": "pulse", "lease": "clock", "schedule": "calendar", "file": "storage",
	"volume": "storage", "snapshot": "storage", "dataset": "storage", "terminal": "keyboard", "tunnel": "link",
	"embed": "external", "key": "key", "secret": "lock", "reach": "globe", "revision": "image", "object": "edit",
	"difference": "edit", "advice": "info", "budget": "budget", "license": "licenses",
}

// eventIcon is the icon of an event in the activity of a workload.
func eventIcon(kind audit.Kind) string {
	noun, _, _ := strings.Cut(string(kind), ".")
	for _, name := range []string{string(kind), noun} {
		if icon, ok := eventIcons[name]; ok {
			return icon
		}
	}
	return "audit"
}
