package workloads

import (
	"math"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/embed"
	"github.com/gpu-portal/gpu-portal/internal/explain"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// details is a workload with what every tab of its page shows.
type details struct {
	workload.Workload
	reader    identity.Actor
	mayChange bool             // whether the reader may stop, extend or delete it
	warnings  []notify.Warning // of its end, once that was announced
	stoppedAt time.Time        // zero where it is not stopped, or where that is not recorded
}

func (w *Pages) details(k page.Call) (details, error) {
	item, err := w.Workloads.Get(k.Ctx, k.Actor, workload.ID(k.Get("id")))
	s := details{Workload: item, reader: k.Actor,
		mayChange: identity.Can(k.Actor, identity.ChangeWorkload, item.Resource())}
	if err == nil && item.Ending() {
		s.warnings, err = w.Notify.Warnings(k.Ctx, k.Actor, item.ID)
	}
	if err == nil && item.State == workload.Stopped {
		s.stoppedAt, err = w.stoppedAt(k, item)
	}
	return s, err
}

// stoppedAt is when a workload was last stopped.
func (w *Pages) stoppedAt(k page.Call, item workload.Workload) (time.Time, error) {
	events, err := w.Workloads.History(k.Ctx, k.Actor, item.ID)
	for _, e := range events {
		switch e.Kind {
		case audit.WorkloadStopped, audit.WorkloadIdleStopped, audit.ScheduleStopped, audit.WorkloadExited:
			return e.At, nil
		}
	}
	return time.Time{}, err
}

// workloadView puts a tab under the head that all tabs share.
func (w *Pages) workloadView(k page.Call, s details, tab workloadview.Tab, m workloadview.PageModel) page.View {
	m.Head, m.Tabs, m.Tab = w.workloadHead(k, s), w.workloadTabs(k, s.Workload, tab), tab
	m.Head.Forecast = m.Overview.Forecast
	if m.Overview.Cause != "" {
		m.Head.Reason = m.Overview.Cause
		if s.State == workload.Failed {
			m.Head.Reason, m.Head.Particulars = blocks.FirstSentence(m.Overview.Cause)
		}
	}
	if tab == workloadview.Try && m.Head.Actions.Try { // the page that the button leads to
		m.Head.Actions.Open = ""
	}
	if m.Overview.Lease.Extend != "" {
		m.Head.Actions.Extend = ""
	}
	if tab != workloadview.Overview { // Connect says it with all that belongs to it
		m.Head.Base = ""
	}
	if s.State == workload.Failed && tab != workloadview.Logs &&
		identity.Can(k.Actor, identity.ReadLogs, s.ResourceAt(k.Words.Now)) {
		m.Head.Logs = page.WorkloadPath(s.ID) + "/logs"
	}
	m.Dialogs = w.workloadDialogs(k, s)
	v := page.View{Title: s.Name, Nav: "/", Wide: true, Tour: page.TourWorkload, Body: workloadview.Page(m),
		AsOf: s.Observed.At,
		Parts: []page.Part{
			{ID: "workload-head", Draw: func(page.Words) templ.Component { return workloadview.Head(m.Head) }}}}
	if m.Dialogs != nil && m.Dialogs.Stop != nil {
		v.Parts = append(v.Parts, page.Part{ID: workloadview.StopNowID, Ticks: true,
			Draw: func(say page.Words) templ.Component { return workloadview.StopNow(kernelsNow(say, s.Workload)) }})
	}
	return v
}

// workloadOverview answers: is it running, where, how hard does it work, when does it end, how do I get in.
func (w *Pages) workloadOverview(k page.Call) (page.View, error) { return w.overview(k, nil) }

// overview shows the key that was just made, this once.
func (w *Pages) overview(k page.Call, fresh *workloadview.FreshKeyModel) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	keys, err := w.keysModel(k, s)
	if err != nil {
		return page.View{}, err
	}
	if keys != nil {
		keys.Fresh = fresh
	}
	costs, err := w.Workloads.Meters(k.Ctx, s.Workload)
	if err != nil {
		return page.View{}, err
	}
	advice, err := w.workloadAdvice(k, s)
	if err != nil {
		return page.View{}, err
	}
	idle, err := w.workloadIdle(k, s)
	if err != nil {
		return page.View{}, err
	}
	longer, err := w.Requests.PendingExtension(k.Ctx, k.Actor, s.Workload)
	if err != nil {
		return page.View{}, err
	}
	extensions, err := w.extensions(k, s, longer)
	if err != nil {
		return page.View{}, err
	}
	reach, err := w.reachModel(k, s)
	if err != nil {
		return page.View{}, err
	}
	leaseCard := func(say page.Words) workloadview.LeaseCardModel {
		m := w.leaseCard(say, s.Workload, costs(say.Now)[s.ID], longer)
		if !s.CanStart() || s.Lease.Over(say.Now) { // what can start as it is needs no more time first
			m.Extensions = extensions
		}
		if len(m.Extensions) > 0 || m.Stopped {
			m.Extend = w.extendPath(k, s)
		}
		return m
	}
	hours := func(say page.Words) workloadview.ScheduleModel {
		return w.scheduleModel(say, s, s.Owner == k.Actor.Person.ID)
	}
	o := workloadview.OverviewModel{Idle: idle, Advice: advice, Start: startSteps(k.Words, s.Workload),
		GPU: w.gpuModel(k, s.Workload), Lease: leaseCard(k.Words),
		Keys: keys, Replicas: replicasModel(k.Words, s), Versions: w.versionsModel(k, s), Schedule: hours(k.Words),
		Reach: reach,
		Facts: w.facts(k, s.Answering()), Activity: activity(k.Words, s.Workload)}
	w.tellStart(k, s, &o)
	v := w.workloadView(k, s, workloadview.Overview, workloadview.PageModel{Overview: o})
	v.Parts = append(v.Parts, w.overviewParts(k, s, o, leaseCard, hours)...)
	return v, nil
}

// tellStart has the card of the start say what counts now: the steps, why it failed, what a job writes or came to, or
// how what is stopped goes on.
func (w *Pages) tellStart(k page.Call, s details, o *workloadview.OverviewModel) {
	if s.State == workload.Stopped && s.CanStart() {
		o.Start.Hidden, o.Start.Stopped = false, stopped(k.Words, s)
	} else if !o.Start.Hidden {
		o.Start.Log, o.Cause = w.logTail(k, s)
		o.Forecast = w.Outlook(k, s.Workload)
	}
	if output := w.output(k, s, o.Start.ID); output != nil && o.Start.Hidden {
		o.Start = *output
	}
	if s.Result != nil {
		o.Start = result(k.Words, s.Workload, o.Lease)
		o.Start.Log, o.Cause = w.logTail(k, s)
	}
	if o.Start.Failed && o.Cause != "" {
		o.Start.Cause, o.Start.Remedy = blocks.FirstSentence(o.Cause)
	}
}

// overviewParts are what follows events; lease and hours are drawn anew as time passes.
func (w *Pages) overviewParts(k page.Call, s details, o workloadview.OverviewModel,
	lease func(page.Words) workloadview.LeaseCardModel, hours func(page.Words) workloadview.ScheduleModel) []page.Part {
	return []page.Part{
		w.outputPart(k, s, o.Start),
		{ID: o.GPU.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
			k.Words = say
			return workloadview.GPU(w.gpuModel(k, s.Workload))
		}},
		{ID: o.Idle.ID, Draw: func(page.Words) templ.Component { return workloadview.Idle(o.Idle) }},
		{ID: o.Advice.ID, Draw: func(page.Words) templ.Component { return workloadview.Advice(o.Advice) }},
		{ID: o.Lease.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
			return workloadview.LeaseCard(lease(say))
		}},
		{ID: o.Versions.NoticeID, Draw: func(page.Words) templ.Component {
			return workloadview.VersionNotice(o.Versions)
		}},
		{ID: o.Versions.ID, Draw: func(page.Words) templ.Component { return workloadview.Versions(o.Versions) }},
		{ID: o.Replicas.ID, Draw: func(page.Words) templ.Component { return workloadview.Replicas(o.Replicas) }},
		{ID: o.Schedule.ID, Ticks: true, Draw: func(say page.Words) templ.Component {
			return workloadview.Schedule(hours(say))
		}},
		{ID: o.Reach.ID, Draw: func(page.Words) templ.Component { return workloadview.Reach(o.Reach) }},
		{ID: o.Facts.ID, Draw: func(page.Words) templ.Component { return workloadview.Facts(o.Facts) }},
		{ID: "workload-activity", Draw: func(page.Words) templ.Component {
			return workloadview.Activity(o.Activity)
		}},
	}
}

// workloadObjects shows the objects as the portal applies them.
func (w *Pages) workloadObjects(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	applied := s.Workload
	if applied.Desired == workload.Finished { // as it was while it ran
		applied.Desired = workload.WantRunning
	}
	manifest, err := w.Requests.Manifest(applied)
	if err != nil {
		return page.View{}, err
	}
	return w.workloadView(k, s, workloadview.Objects, workloadview.PageModel{Objects: workloadview.ObjectsModel{
		Lead:      k.Words.S("workload.objects_lead", "Namespace", s.Namespace, "Cluster", s.Cluster),
		Additions: additions(k.Words, s.Workload), Text: manifest}}), nil
}

// workloadHistory shows who did what.
func (w *Pages) workloadHistory(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	events, err := w.Workloads.History(k.Ctx, k.Actor, s.ID)
	if err != nil {
		return page.View{}, err
	}
	m := historyModel(k.Words, page.WorkloadPath(s.ID)+"/history", k.Get("show"), events)
	v := w.workloadView(k, s, workloadview.History, workloadview.PageModel{History: m})
	v.Parts = append(v.Parts, page.Part{ID: m.ID,
		Draw: func(page.Words) templ.Component { return workloadview.HistoryTab(m) }})
	return v, nil
}

func (w *Pages) workloadTabs(k page.Call, item workload.Workload, current workloadview.Tab) ui.TabsModel {
	say, path := k.Words, page.WorkloadPath(item.ID)
	tab := func(t workloadview.Tab, href string) ui.TabModel {
		return ui.TabModel{Label: say.S("workload.tab_" + string(t)), Href: href, Current: t == current,
			Test: "tab-" + string(t)}
	}
	items := []ui.TabModel{tab(workloadview.Overview, path)}
	alive := item.Result == nil // a job that has ended has no pod to connect to
	if alive || current == workloadview.Connect {
		items = append(items, tab(workloadview.Connect, connectPath(path)))
	}
	if item.Kind == catalog.Endpoint {
		items = append(items, tab(workloadview.Try, page.TryPath(item.ID)), tab(workloadview.Calls, path+"/traffic"))
	}
	items = append(items, tab(workloadview.Metrics, path+"/metrics"))
	if identity.Can(k.Actor, identity.ReadLogs, item.ResourceAt(say.Now)) {
		items = append(items, tab(workloadview.Logs, path+"/logs"))
	}
	items = append(items, tab(workloadview.Events, path+"/events"))
	if (alive || current == workloadview.Terminal) && w.Terminals.Rules().Permit(k.Actor, item, say.Now) == nil {
		items = append(items, tab(workloadview.Terminal, terminalPath(item.ID)))
	}
	if (alive || current == workloadview.Files) && w.Terminals.Rules().PermitFiles(k.Actor, item, say.Now) == nil {
		items = append(items, tab(workloadview.Files, filesPath(item.ID, "", "")))
	}
	return ui.TabsModel{Label: say.S("workload.tabs"), Items: append(items, tab(workloadview.Objects, path+"/objects"),
		tab(workloadview.History, path+"/history"))}
}

// workloadHead is name, state, reason and what one can do.
func (w *Pages) workloadHead(k page.Call, s details) workloadview.HeadModel {
	say := k.Words
	state := blocks.StateModel(say, s.Workload)
	m := workloadview.HeadModel{ID: "workload-head", Header: ui.HeaderModel{Title: s.Name,
		Crumbs: []ui.CrumbModel{{Label: say.S("home.title"), Href: "/"}, {Label: s.Name}},
		Lead:   headLead(say, s.Answering())}}
	m.Reason, state.Detail = state.Detail, ""
	if m.Reason == "" {
		if m.Reason, m.Particulars = notAllReady(say, s); m.Reason != "" {
			m.Events = page.WorkloadPath(s.ID) + "/events"
			state.Word = say.S("replicas.badge", "State", state.Word, "Ready", s.Observed.ReadyReplicas(), "Wanted",
				s.Replicas.Want()+s.Replicas.Surge)
		}
	}
	m.State = state
	if !s.stoppedAt.IsZero() {
		at := say.At(s.stoppedAt)
		m.Since = &at
		if _, more := blocks.FirstSentence(m.Reason); more == "" { // one sentence with the time
			m.Reason = strings.TrimRight(m.Reason, ".。") + ","
		}
	}
	m.Ending, m.Concern = w.EndingModel(k, s.Workload), w.concernModel(k, s.Workload)
	m.Edits, m.Waits = editsModel(say, s.Workload), w.waitsModel(k, s.Workload)
	if m.Ending != nil {
		m.Ending.Items = warningItems(say, s, notify.Lease)
	}
	m.Actions, m.Base = w.headActions(k, s, m.Waits != nil), w.baseURL(k, s)
	if s.Size.Devices() > 0 {
		m.Actions.Embed = page.EmbedPath(embed.Workload, string(s.ID))
	}
	return m
}

// baseURL is where programs call a running endpoint that speaks the OpenAI API.
func (w *Pages) baseURL(k page.Call, s details) string {
	address := w.AppURL(s.Name)
	if s.Kind != catalog.Endpoint || s.State != workload.Running || address == "" || !s.Image.SpeaksOpenAI() ||
		!s.HasAddress() ||
		!identity.Can(k.Actor, identity.OpenWorkload, s.ResourceAt(k.Words.Now)) {
		return ""
	}
	return callsAddress(s.Workload, address)
}

// headLead is what it is, on what, and whose.
func headLead(say page.Words, w workload.Workload) string {
	parts := []string{say.Say(i18n.T("kind." + string(w.Kind))), say.ImageTitle(w.Image)}
	if w.Model != nil {
		parts = append(parts, w.Model.ServedName())
	}
	return strings.Join(append(parts, say.SizeTitle(w.Size), w.OwnerName), " · ")
}

// waitsModel says that a stopped workload stands in the line for a license seat. A line that cannot be read is no
// reason to show nothing of the workload.
func (w *Pages) waitsModel(k page.Call, item workload.Workload) *workloadview.WaitsModel {
	id, place, err := w.Seats.ResumeOf(k.Ctx, item)
	if err != nil || id == "" {
		return nil
	}
	return &workloadview.WaitsModel{Place: place, Request: page.RequestPath(id)}
}

func (w *Pages) headActions(k page.Call, s details, waits bool) workloadview.ActionsModel {
	path := page.WorkloadPath(s.ID)
	m := workloadview.ActionsModel{Open: w.OpenPath(k, s.Workload), Try: s.Image.SpeaksOpenAI()}
	if s.State == workload.Running && !s.IsJob() && !s.HasAddress() &&
		w.Tunnels.Offers(k.Actor, s.Workload, k.Words.Now) == nil {
		m.Connect = connectPath(path)
	}
	if !s.mayChange {
		return m
	}
	m.RunAgain, m.RunAsJob = w.jobActions(k, s)
	if m.StartAgain = w.StartAgain(k, s.Workload); m.StartAgain != "" {
		m.RunAsJob = ""
	}
	if s.CanStart() && !s.Lease.Over(k.Words.Now) && !waits {
		m.Resume = path + "/start"
	}
	if s.CanStop() {
		m.Stop, m.StopAsks = path+"/stop", s.StopLoses(k.Words.Now)
	}
	m.Extend = w.extendPath(k, s)
	if s.CanDelete() {
		m.Delete = path + "/delete"
	}
	if w.withoutSchedule(s) {
		m.Schedule = path + "/schedule"
	}
	if r := replicasModel(k.Words, s); r.Change != "" {
		m.Scaling = path + "/scaling"
	}
	return m
}

// extendPath leads to more time; "" for who may not, for what has not begun, and where the notice of a lease that ends
// soon offers it.
func (w *Pages) extendPath(k page.Call, s details) string {
	if !s.mayChange || !s.CanExtend() || s.State == workload.Failed || s.State == workload.Queued {
		return ""
	}
	if ending := w.EndingModel(k, s.Workload); ending != nil && ending.More != "" {
		return ""
	}
	return page.WorkloadPath(s.ID) + "/extend"
}

// workloadDialogs are the same questions as the pages ask that the buttons lead to without scripts.
func (w *Pages) workloadDialogs(k page.Call, s details) *workloadview.DialogsModel {
	if !s.mayChange {
		return nil
	}
	m := &workloadview.DialogsModel{Extend: w.extendModel(k, s, "", "", nil), Delete: deleteModel(k.Words, s)}
	if s.CanStop() {
		stop := stopModel(k.Words, s)
		m.Stop = &stop
	}
	return m
}

// startSteps is how far the start has come; once it runs they are no news and are left out.
func startSteps(say page.Words, item workload.Workload) workloadview.StartModel {
	m := workloadview.StartModel{ID: "workload-start", Detail: item.Observed.Detail,
		Failed: item.State == workload.Failed}
	starting := item.Desired == workload.WantRunning &&
		(item.State == workload.Queued || item.State == workload.Starting || item.State == workload.Failed)
	if !starting {
		m.Hidden = true
		return m
	}
	if m.Failed {
		m.Cause, m.Remedy = blocks.FirstSentence(say.Text(item.Reason))
	}
	reached := map[workload.StepName]time.Time{}
	for _, step := range item.Observed.Steps {
		reached[step.Name] = step.At
	}
	current, before := true, time.Time{}
	for _, name := range []workload.StepName{workload.StepDecided, workload.StepCreated, workload.StepPlaced,
		workload.StepImage, workload.StepReady} {
		step := ui.StepModel{Title: say.S("step.todo." + string(name)), State: ui.StepWaiting}
		at := reached[name]
		switch {
		case !at.IsZero():
			done := say.At(at)
			step.Title, step.State, step.Time = say.S("step."+string(name)), ui.StepDone, &done
			if !before.IsZero() {
				step.TookWords = say.Duration(at.Sub(before))
			}
			before = at
		case current:
			current = false
			step.State = currentStep(item, before, say.Now)
			if item.State == workload.Starting { // else the head says it, or the cause above
				step.Explanation = say.Text(item.Reason)
			}
			if !before.IsZero() {
				since := say.Since(before)
				step.Took = &since
			}
		}
		m.Steps = append(m.Steps, step)
	}
	return m
}

// stopped is what a stop left.
func stopped(say page.Words, s details) *workloadview.StoppedModel {
	return &workloadview.StoppedModel{GPU: s.Size.Devices() > 0, Volume: volumeWords(say, s.Workload),
		Resume: s.mayChange && !s.Lease.Over(say.Now)}
}

// currentStep hangs when it has taken longer than a start usually does.
func currentStep(item workload.Workload, since, now time.Time) ui.StepState {
	switch {
	case item.State == workload.Failed:
		return ui.StepFailed
	case item.State == workload.Queued && explain.InLine(item.Reason): // however long it takes
		return ui.StepQueued
	case !since.IsZero() && now.Sub(since) > 2*time.Minute:
		return ui.StepStuck
	}
	return ui.StepCurrent
}

// Panel is the GPU use of a workload, for pages of other sites.
func (w *Pages) Panel(k page.Call, id string) (page.Panel, error) {
	item, err := w.Workloads.Get(k.Ctx, k.Actor, workload.ID(id))
	if err != nil {
		return page.Panel{}, err
	}
	m, state := w.gpuModel(k, item), blocks.StateModel(k.Words, item)
	for i := range m.Devices {
		m.Devices[i].UUID = "" // to be copied, which takes a script
	}
	if m.None {
		m.None, m.Words = false, k.Words.S("web.no_gpu")
	}
	state.Detail, m.Hidden = "", false
	return page.Panel{Title: item.Name, State: &state, Body: workloadview.GPU(m)}, nil
}

// gpuModel is what the devices do now, each value with its unit. What is not known is called unknown.
func (w *Pages) gpuModel(k page.Call, item workload.Workload) workloadview.GPUModel {
	say := k.Words
	m := workloadview.GPUModel{ID: "workload-gpu", None: item.Size.Devices() == 0}
	if m.None {
		return m
	}
	if item.Over() {
		m.Words, m.Hidden = say.S("workload.gpu_given_back"), item.Result != nil // the result is above
		return m
	}
	if item.Observed.Pod == "" || item.Observed.Node == "" {
		m.Words = say.S("workload.gpu_later")
		m.Hidden = item.Desired == workload.WantRunning || item.State == workload.Stopped // it is told what is next
		return m
	}
	now := w.Readings(item)
	if len(now.Devices) == 0 {
		m.Words = say.S("workload.gpu_unknown")
		if !now.At.IsZero() {
			m.Words = say.S("workload.gpu_no_series")
		}
		m.Hidden = item.State == workload.Failed || item.State == workload.Starting
	}
	for _, d := range now.Devices {
		m.Devices = append(m.Devices, blocks.DeviceModel(say, d))
	}
	m.Replicas = w.ReplicaRows(say, item)
	points := w.Metrics.History(k.Ctx, item.Cluster, item.Namespace, item.Observed.Pod)
	if blocks.AnyKnown(points) {
		m.History = hourChart(say, points, blocks.MeanEngine(now))
		if len(m.Devices) == 1 {
			m.History.Value = "" // the device says it, with how it was measured
			mean, _, known := meanAndPeak(points)
			if engine := &m.Devices[0].Tiles[0]; engine.Detail == "" && known {
				engine.Detail = say.S("workload.mean_hour", "Percent", say.Percent(math.Round(mean.Value)))
			}
		}
		if len(m.Replicas) > 0 {
			m.History.Label = say.S("workload.use_of_replica", "Pod", item.Observed.Pod)
		}
	}
	sampled := blocks.SampleTime(now)
	told := len(m.Devices) == 1 && m.Devices[0].Rests != nil && now.Devices[0].OwnEngine.At.Equal(sampled)
	if len(m.Replicas) > 0 {
		m.Devices, told = nil, false // the table has them
	}
	if !now.At.IsZero() && !told { // else its device says it
		age := say.Age("DCGM", sampled, page.ReadingEvery)
		m.Age = &age
	}
	return m
}

// seatPrice is what the license seats of a workload cost beside its size; "" where they cost nothing.
func (w *Pages) seatPrice(say page.Words, item workload.Workload) string {
	hour := usage.Span{From: say.Now, Until: say.Now.Add(time.Hour)}
	seats := w.Prices.List().ExtraCosts(item.Tenant, 0, item.Seats(), hour, item.Size.PricePerHour.Currency).Seats
	if seats.Minor == 0 {
		return ""
	}
	return say.S("workload.seat_price", "Price", say.MoneyPerHour(seats))
}

// priceStopped is what is charged while a workload is stopped.
func (w *Pages) priceStopped(say page.Words, item workload.Workload) string {
	hour := usage.Span{From: say.Now, Until: say.Now.Add(time.Hour)}
	if item.Volume != "" && w.Prices.List().ExtraCosts(item.Tenant, int64(item.StorageGiB), usage.Seats{}, hour,
		item.Size.PricePerHour.Currency).Storage.Minor > 0 {
		return say.S("workload.price_stopped_storage")
	}
	return say.S("workload.price_stopped")
}

// leaseCard is what is left of the lease, with the extension that somebody asked for and nobody has decided.
func (w *Pages) leaseCard(say page.Words, item workload.Workload, cost usage.Money,
	longer request.Request) workloadview.LeaseCardModel {
	m := workloadview.LeaseCardModel{ID: "workload-lease", Lease: blocks.LeaseModel(say, item), Cost: say.Money(cost),
		Price: say.MoneyPerHour(times(item.Size.PricePerHour, item.Replicas.Want())), SeatPrice: w.seatPrice(say, item)}
	if m.Lease.Left != nil {
		ends := say.At(item.Lease.Until)
		m.Lease.Ends = &ends
	}
	if longer.ID != "" {
		m.Pending = &workloadview.PendingModel{Leases: blocks.LeaseChange(say, longer), Price: say.Money(longer.Estimate),
			By: say.Say(longer.Waits()), Request: page.RequestPath(longer.ID)}
	}
	m.InResult = item.Result != nil
	m.Over, m.Failed, m.Stopped = item.Over(), item.State == workload.Failed, item.State == workload.Stopped
	if m.Stopped {
		m.PriceStopped = w.priceStopped(say, item)
	}
	if item.Size.MaxLease > 0 && !m.Over {
		m.Longest = say.Duration(item.Size.MaxLease.Std())
	}
	return m
}

// extensions are what one click adds to the lease, and what each costs; one that an approver decides leads to the form.
func (w *Pages) extensions(k page.Call, s details, longer request.Request) ([]workloadview.ExtensionModel, error) {
	if !s.mayChange || longer.ID != "" || s.State == workload.Failed || s.PlacedAt.IsZero() {
		return nil, nil
	}
	offers, err := w.Requests.ExtensionOffers(k.Ctx, k.Actor, s.Workload)
	if err != nil {
		return nil, err
	}
	var list []workloadview.ExtensionModel
	for _, o := range offers {
		m := workloadview.ExtensionModel{Action: page.WorkloadPath(s.ID) + "/extend", By: o.By.String(),
			Duration: k.Words.Duration(o.By.Std()), Key: w.Requests.NewKey(), NeedsApproval: o.NeedsApproval}
		if o.Price.Minor > 0 {
			m.Price = k.Words.Money(o.Price)
		}
		list = append(list, m)
	}
	return list, nil
}

// accessModel is how to get in, and who may.
func (w *Pages) accessModel(k page.Call, s details) workloadview.AccessModel {
	m := workloadview.AccessModel{ID: "workload-access", Owner: s.OwnerName}
	if s.Over() {
		m.Closed = true
		return m
	}
	t, _ := w.Site().Directory.ByName(s.Tenant)
	if s.Granted(k.Words.Now) {
		m.Team = page.OrElse(t.Display(), s.Tenant)
	}
	if address := w.AppURL(s.Name); address != "" && s.HasAddress() &&
		identity.Can(k.Actor, identity.OpenWorkload, s.ResourceAt(k.Words.Now)) {
		m.Address = blocks.OpenAddress(address, s.Image.OpenPath)
		if s.Kind == catalog.Endpoint {
			m.Calls = callsOf(callsAddress(s.Workload, address))
			m.Route = routeModel(s.Workload)
		}
	}
	if s.mayChange && s.State != workload.Ended && s.Desired != workload.WantDeleted {
		m.Share = page.WorkloadPath(s.ID) + "/share"
		m.Guests = guests(k.Words, s.Workload)
		if s.Owner == k.Actor.Person.ID && !s.Granted(k.Words.Now) {
			for _, u := range s.OwnSecrets() {
				m.OwnSecrets = append(m.OwnSecrets, u.Name)
			}
		}
	}
	return m
}

// callsAddress is where programs call an endpoint: at a gateway of the site that carries its calls, else at the
// portal's.
func callsAddress(item workload.Workload, own string) string {
	if r := item.Observed.Route; r != nil && r.Accepted {
		return blocks.OpenAddress(r.Address, "/v1")
	}
	return blocks.OpenAddress(own, "/v1")
}

func routeModel(item workload.Workload) *workloadview.RouteModel {
	r := item.Observed.Route
	if r == nil {
		return nil
	}
	return &workloadview.RouteModel{Address: r.Address + "/v1", Carries: r.Accepted, Keys: r.AsksForKeys, Detail: r.Detail}
}

// guests are those besides the team who may come in now.
func guests(say page.Words, item workload.Workload) (list []string) {
	for _, g := range item.Grants {
		if g.To == workload.ToTeam && g.Permission == workload.MayUse || !g.Holds(say.Now) {
			continue
		}
		m := grantModel(say, g, item.Tenant)
		list = append(list, say.S("share.list_person", "Name", m.Name, "May", m.May))
	}
	return list
}

// facts is what it is and where it runs; the cluster's raw words are in a fold.
func (w *Pages) facts(k page.Call, item workload.Workload) workloadview.FactsModel {
	say, mirror := k.Words, w.Site().Mirror
	m := workloadview.FactsModel{ID: "workload-facts", Size: blocks.SizeModel(say, item.Size),
		Isolation:      page.UpperFirst(say.Say(catalog.IsolationWord(item.Size.Isolation))),
		IsolationAbout: say.Say(catalog.IsolationText(item.Size.Isolation)), GPU: item.Size.Devices() > 0,
		Node: item.Observed.Node, Image: say.ImageTitle(item.Image),
		Job: blocks.JobModel(say, item.Job, item.Replicas.Most()), Serves: blocks.ServesModel(say, item.Image, item.Model,
			item.Replicas.Range),
		Mounts: blocks.MountWords(item.Mounts), Secrets: blocks.SecretWords(k, item),
		Git: blocks.GitWords(item.Git), Pod: item.Observed.Pod, Namespace: item.Namespace, Cluster: item.Cluster,
		Reference: item.Image.Reference, Short: blocks.ShortReference(item.Image.Reference), Workload: string(item.ID),
		Scan: w.Site().Scans.Of(item.Image.Reference)}
	if item.Size.Accelerator.MemoryGiB > 0 { // what keeps neighbours apart is a fact of its own
		m.Size.Detail = say.GiB(item.Size.Accelerator.MemoryGiB)
	}
	if item.Result == nil && item.State != workload.Stopped { // the card above has it
		m.Volume = volumeWords(say, item)
	}
	if item.Observed.Restarts > 0 {
		m.Restarts = say.Number(float64(item.Observed.Restarts))
	}
	if !item.Observed.At.IsZero() && item.Result == nil {
		at := say.Ago(item.Observed.At)
		m.Confirmed = &at
	}
	if at := mirror.Of(item.Image.Reference); at != item.Image.Reference {
		m.Mirrored, m.Mirror = at, mirror.Registry
	}
	if item.State == workload.Running || item.State == workload.Stopping {
		m.Detail = item.Observed.Detail
	}
	return m
}

// volumeWords are a workload's own storage with its size; "" for none.
func volumeWords(say page.Words, item workload.Workload) string {
	if item.Volume == "" {
		return ""
	}
	return item.Volume + " · " + say.GiB(float64(item.StorageGiB))
}

// activity is what the notebook server says; nil where it says nothing.
func activity(say page.Words, item workload.Workload) *workloadview.ActivityModel {
	a := item.Observed.Activity
	if a == nil {
		return nil
	}
	m := &workloadview.ActivityModel{ID: "workload-activity"}
	for _, kernel := range a.Kernels {
		m.Kernels = append(m.Kernels, workloadview.KernelModel{Name: kernel.Name, State: kernel.State,
			Last: say.Ago(kernel.LastActivity), Uses: say.Number(float64(kernel.Connections))})
	}
	return m
}
