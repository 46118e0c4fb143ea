package workloads

import (
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Routes are the addresses of the area.
func (w *Pages) Routes() []page.Route {
	return []page.Route{
		w.Shows("/workloads/:id", identity.ReadWorkload, w.workloadPage()),
		w.Shows("/workloads/:id/connect", identity.ReadWorkload, w.connectPage()),
		w.Shows("/workloads/:id/try", identity.ReadWorkload, w.tryPage()),
		page.Post("/workloads/:id/try", identity.OpenWorkload, w.workloadTry),
		w.Shows("/workloads/:id/traffic", identity.ReadWorkload, w.trafficPage()),
		w.Shows("/workloads/:id/objects", identity.ReadWorkload, w.objectsPage()),
		w.Shows("/workloads/:id/logs", identity.ReadLogs, w.logsPage()),
		page.Get("/workloads/:id/logs/follow", identity.ReadLogs, w.logFollow),
		page.Get("/workloads/:id/logs/download", identity.ReadLogs, w.logDownload),
		w.Shows("/workloads/:id/terminal", identity.OpenWorkload, w.terminalPage()),
		page.Get("/workloads/:id/terminal/socket", identity.OpenWorkload, w.terminalSocket),
		w.Shows("/workloads/:id/files", identity.OpenWorkload, w.filesPage()),
		page.Upload("/workloads/:id/files", identity.OpenWorkload, w.fileUpload),
		page.Get("/workloads/:id/files/download", identity.OpenWorkload, w.fileDownload),
		page.Get("/workloads/:id/files/archive", identity.OpenWorkload, w.fileArchive),
		w.Shows("/workloads/:id/events", identity.ReadWorkload, w.eventsPage()),
		w.Shows("/workloads/:id/metrics", identity.ReadWorkload, w.chartsPage()),
		w.Shows("/workloads/:id/history", identity.ReadWorkload, w.historyPage()),
		w.Shows("/workloads/:id/stop", identity.ChangeWorkload, w.stopPage()),
		page.Post("/workloads/:id/stop", identity.ChangeWorkload, w.workloadStop),
		page.Post("/workloads/:id/keep-alive", identity.ChangeWorkload, w.workloadKeepAlive),
		page.Post("/workloads/:id/start", identity.ChangeWorkload, w.workloadStart),
		page.Post("/workloads/:id/share", identity.ChangeWorkload, w.workloadShare),
		w.Shows("/workloads/:id/share", identity.ChangeWorkload, w.sharePage()),
		page.Post("/workloads/:id/grants", identity.ChangeWorkload, w.grantCreate),
		page.Post("/workloads/:id/grants/:grant/revoke", identity.ChangeWorkload, w.grantRevoke),
		w.Shows("/workloads/:id/join", identity.ReadWorkload, w.joinPage()),
		page.Post("/workloads/:id/join", identity.ReadWorkload, w.workloadJoin),
		w.Shows("/workloads/:id/keys", identity.ChangeWorkload, w.newKeyPage()),
		page.Post("/workloads/:id/keys", identity.ChangeWorkload, w.keyCreate),
		page.Post("/workloads/:id/keys/:key/rotate", identity.ChangeWorkload, w.keyRotate),
		page.Post("/workloads/:id/keys/:key/revoke", identity.ChangeWorkload, w.keyRevoke),
		w.Shows("/workloads/:id/reach", identity.ChangeWorkload, w.reachPage()),
		page.Post("/workloads/:id/reach", identity.ChangeWorkload, w.workloadReach),
		page.Post("/workloads/:id/reach/close", identity.CloseReach, w.workloadCloseReach),
		w.Shows("/workloads/:id/resume", identity.ChangeWorkload, w.resumePage()),
		page.Post("/workloads/:id/resume", identity.ChangeWorkload, w.workloadResume),
		w.Shows("/workloads/:id/extend", identity.ChangeWorkload, w.extendPage()),
		page.Post("/workloads/:id/extend", identity.ChangeWorkload, w.workloadExtend),
		w.Shows("/workloads/:id/replicas", identity.ChangeWorkload, w.scalePage()),
		page.Post("/workloads/:id/replicas", identity.ChangeWorkload, w.workloadScale),
		w.Shows("/workloads/:id/scaling", identity.ChangeWorkload, w.scalingPage()),
		page.Post("/workloads/:id/scaling", identity.ChangeWorkload, w.workloadScaling),
		w.Shows("/workloads/:id/versions", identity.ChangeWorkload, w.newVersionPage()),
		page.Post("/workloads/:id/versions", identity.ChangeWorkload, w.versionCreate),
		page.Post("/workloads/:id/promote", identity.ChangeWorkload, w.workloadPromote),
		page.Post("/workloads/:id/rollback", identity.ChangeWorkload, w.workloadRollBack),
		w.Shows("/workloads/:id/schedule", identity.ChangeWorkload, w.schedulePage()),
		page.Post("/workloads/:id/schedule", identity.ChangeWorkload, w.workloadSchedule),
		page.Post("/workloads/:id/schedule/skip", identity.ChangeWorkload, w.scheduleSkip),
		page.Post("/workloads/:id/schedule/restore", identity.ChangeWorkload, w.scheduleRestore),
		page.Get(calendarPath, identity.ReadWorkload, w.calendar),
		w.Shows("/workloads/:id/delete", identity.ChangeWorkload, w.deletePage()),
		page.Post("/workloads/:id/delete", identity.ChangeWorkload, w.workloadDelete),
		w.Shows(page.AdvicePath, identity.ReadUsage, w.advicePage()),
		page.Post(page.AdvicePath+"/:id/dismiss", identity.ChangeWorkload, w.adviceDismiss),
		page.Post(page.AdvicePath+"/:id/restore", identity.ChangeWorkload, w.adviceRestore),
	}
}

func (w *Pages) workloadPage() page.Page {
	return page.Page{Name: "workload", Build: w.workloadOverview, Topics: page.Topics{live.TopicQuarantine,
		live.TopicWorkload, live.TopicRequest, live.TopicVolume}}
}

func (w *Pages) connectPage() page.Page {
	return page.Page{Name: "connect", Build: w.workloadConnect, Topics: page.Topics{live.TopicWorkload}}
}

func (w *Pages) sharePage() page.Page { return page.Page{Name: "share", Build: w.shareAsk} }

func (w *Pages) joinPage() page.Page { return page.Page{Name: "join", Build: w.joinAsk} }

func (w *Pages) tryPage() page.Page {
	return page.Page{Name: "try", Build: w.workloadTryIt, Topics: page.Topics{live.TopicWorkload}}
}

func (w *Pages) trafficPage() page.Page {
	return page.Page{Name: "traffic", Build: w.workloadTraffic, Topics: page.Topics{live.TopicWorkload}}
}

func (w *Pages) objectsPage() page.Page {
	return page.Page{Name: "objects", Build: w.workloadObjects, Topics: page.Topics{live.TopicWorkload}}
}

func (w *Pages) chartsPage() page.Page {
	return page.Page{Name: "workload-metrics", Build: w.workloadMetrics, Topics: page.Topics{live.TopicWorkload}}
}

func (w *Pages) logsPage() page.Page {
	return page.Page{Name: "logs", Build: w.workloadLogs}
}

func (w *Pages) terminalPage() page.Page {
	return page.Page{Name: "terminal", Build: w.workloadTerminal, Topics: page.Topics{live.TopicWorkload}}
}

func (w *Pages) filesPage() page.Page {
	return page.Page{Name: "files", Build: w.workloadFiles}
}

func (w *Pages) eventsPage() page.Page {
	return page.Page{Name: "events", Build: w.workloadEvents}
}

func (w *Pages) historyPage() page.Page {
	return page.Page{Name: "history", Build: w.workloadHistory,
		Topics: page.Topics{live.TopicWorkload, live.TopicRequest}}
}

func (w *Pages) reachPage() page.Page { return page.Page{Name: "reach", Build: w.workloadReachAsk} }

func (w *Pages) resumePage() page.Page {
	return page.Page{Name: "resume", Build: w.workloadResumeAsk}
}

func (w *Pages) newKeyPage() page.Page {
	return page.Page{Name: "new-key", Build: w.newKeyAsk}
}

func (w *Pages) extendPage() page.Page {
	return page.Page{Name: "extend", Build: w.workloadExtendAsk}
}

func (w *Pages) deletePage() page.Page {
	return page.Page{Name: "delete", Build: w.workloadDeleteAsk}
}

func (w *Pages) schedulePage() page.Page {
	return page.Page{Name: "schedule", Build: w.scheduleAsk}
}

func (w *Pages) stopPage() page.Page {
	return page.Page{Name: "stop", Build: w.workloadStopAsk}
}

func (w *Pages) advicePage() page.Page {
	return page.Page{Name: "advice", Build: w.adviceList}
}
