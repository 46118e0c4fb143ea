package workloads

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/audit"
)

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
