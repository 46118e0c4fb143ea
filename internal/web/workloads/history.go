package workloads

import (
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// What of the activity of a workload one can look at alone.
const (
	stateEvents  = "state"
	accessEvents = "access"
)

// accessNouns are the nouns of kinds of events that tell who got to a workload, not how it fares.
var accessNouns = []string{"terminal", "tunnel", "file", "key", "secret", "embed", "reach"}

// ofAccess reports whether an event tells who got to a workload.
func ofAccess(e audit.Event) bool {
	noun, _, _ := strings.Cut(string(e.Kind), ".")
	return e.Kind == audit.WorkloadShared || slices.Contains(accessNouns, noun)
}

// historySwitch chooses what is shown; nil where there is one kind only.
func historySwitch(say page.Words, path, chosen string, events []audit.Event) *ui.TabsModel {
	if !slices.ContainsFunc(events, ofAccess) || !slices.ContainsFunc(events, func(e audit.Event) bool {
		return !ofAccess(e)
	}) {
		return nil
	}
	m := &ui.TabsModel{Label: say.S("workload.history_show")}
	for _, one := range []struct{ value, key string }{{"", "workload.history_all"},
		{stateEvents, "workload.history_state"}, {accessEvents, "workload.history_access"}} {
		href := path
		if one.value != "" {
			href += "?show=" + one.value
		}
		m.Items = append(m.Items, ui.TabModel{Label: say.S(one.key), Href: href, Current: one.value == chosen,
			Test: "history-" + page.OrElse(one.value, "all")})
	}
	return m
}

// historyModel says a day where it begins; chosen is what is shown alone, "" for all.
func historyModel(say page.Words, path, chosen string, events []audit.Event) workloadview.HistoryModel {
	if chosen != stateEvents && chosen != accessEvents {
		chosen = ""
	}
	m := workloadview.HistoryModel{ID: "workload-history", Switch: historySwitch(say, path, chosen, events)}
	if chosen != "" {
		events = slices.DeleteFunc(slices.Clone(events), func(e audit.Event) bool {
			return ofAccess(e) != (chosen == accessEvents)
		})
	}
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
