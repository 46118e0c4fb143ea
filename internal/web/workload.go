package web

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// seen is one workload with what every tab of its page needs.
type seen struct {
	workload.Workload
	change   bool             // whether the reader may change it
	warnings []notify.Warning // of its end, once that was announced
}

func (w *Web) seen(k call) (seen, error) {
	item, err := w.Workloads.Get(k.ctx, k.actor, workload.ID(k.get("id")))
	s := seen{Workload: item, change: identity.Can(k.actor, identity.ChangeWorkload, item.Resource())}
	if err == nil && item.Ending() {
		s.warnings, err = w.Notify.Warnings(k.ctx, k.actor, item.ID)
	}
	return s, err
}

// workloadView puts a tab under the head that all tabs share.
func (w *Web) workloadView(k call, s seen, tab workloadview.Tab, m workloadview.PageModel) view {
	m.Head, m.Tabs, m.Tab = w.workloadHead(k, s), workloadTabs(k.words, s.Workload, tab), tab
	m.Dialogs = w.workloadDialogs(k, s)
	v := view{title: s.Name, nav: "/", wide: true, body: workloadview.Page(m), asOf: s.Observed.At, parts: []part{
		{id: "workload-head", draw: func(words) templ.Component { return workloadview.Head(m.Head) }}}}
	for _, d := range m.Dialogs {
		if d.Now != nil {
			v.parts = append(v.parts, part{id: d.Now.ID, ticks: true, draw: func(say words) templ.Component {
				return workloadview.Now(workloadview.NowModel{ID: d.Now.ID, Words: kernelsNow(say, s.Workload)})
			}})
		}
	}
	return v
}

// workloadOverview answers: is it running, where, how hard does it work, when does it end, how do I get in.
func (w *Web) workloadOverview(k call) (view, error) {
	s, err := w.seen(k)
	if err != nil {
		return view{}, err
	}
	costs, err := w.Workloads.Meters(k.ctx, s.Workload)
	if err != nil {
		return view{}, err
	}
	advice, err := w.workloadAdvice(k, s)
	if err != nil {
		return view{}, err
	}
	idle, err := w.workloadIdle(k, s)
	if err != nil {
		return view{}, err
	}
	longer, err := w.Requests.PendingExtension(k.ctx, k.actor, s.Workload)
	if err != nil {
		return view{}, err
	}
	o := workloadview.OverviewModel{Idle: idle, Advice: advice, Start: startSteps(k.words, s.Workload),
		GPU: w.gpuModel(k, s.Workload), Lease: w.leaseCard(k.words, s.Workload, costs(k.words.now)[s.ID], longer),
		Access: w.accessModel(k, s),
		Facts:  facts(k.words, s.Workload), Activity: activity(k.words, s.Workload)}
	if !o.Start.Hidden {
		o.Start.Forecast = w.outlook(k, s.Workload)
	}
	v := w.workloadView(k, s, workloadview.Overview, workloadview.PageModel{Overview: o})
	v.parts = append(v.parts,
		part{id: o.Start.ID, draw: func(words) templ.Component { return workloadview.Start(o.Start) }},
		part{id: o.GPU.ID, ticks: true, draw: func(say words) templ.Component {
			k.words = say
			return workloadview.GPU(w.gpuModel(k, s.Workload))
		}},
		part{id: o.Idle.ID, draw: func(words) templ.Component { return workloadview.Idle(o.Idle) }},
		part{id: o.Advice.ID, draw: func(words) templ.Component { return workloadview.Advice(o.Advice) }},
		part{id: o.Lease.ID, ticks: true, draw: func(say words) templ.Component {
			return workloadview.LeaseCard(w.leaseCard(say, s.Workload, costs(say.now)[s.ID], longer))
		}},
		part{id: o.Access.ID, draw: func(words) templ.Component { return workloadview.Access(o.Access) }},
		part{id: o.Facts.ID, draw: func(words) templ.Component { return workloadview.Facts(o.Facts) }},
		part{id: "workload-activity", draw: func(words) templ.Component { return workloadview.Activity(o.Activity) }},
	)
	return v, nil
}

// workloadObjects shows the objects as the portal applies them.
func (w *Web) workloadObjects(k call) (view, error) {
	s, err := w.seen(k)
	if err != nil {
		return view{}, err
	}
	manifest, err := w.Requests.Manifest(s.Workload)
	if err != nil {
		return view{}, err
	}
	return w.workloadView(k, s, workloadview.Objects, workloadview.PageModel{Objects: workloadview.ObjectsModel{
		Lead:  k.words.S("workload.objects_lead", "Namespace", s.Namespace, "Cluster", s.Cluster),
		Edits: additionsNotice(k.words, s.Workload),
		Code: ui.CodeModel{ID: "objects-yaml", Title: k.words.S("workload.objects_title"), Language: "YAML", Text: manifest,
			Tall: true}}}), nil
}

// workloadHistory shows who did what.
func (w *Web) workloadHistory(k call) (view, error) {
	s, err := w.seen(k)
	if err != nil {
		return view{}, err
	}
	events, err := w.Workloads.History(k.ctx, k.actor, s.ID)
	if err != nil {
		return view{}, err
	}
	m := workloadview.HistoryModel{ID: "workload-history"}
	for _, e := range events {
		m.Events = append(m.Events, workloadview.EventModel{Time: k.words.at(e.At), Who: whoDid(k.words, e),
			What: k.words.S("audit." + string(e.Kind)), Detail: k.words.say(e.Detail)})
	}
	v := w.workloadView(k, s, workloadview.History, workloadview.PageModel{History: m})
	v.parts = append(v.parts, part{id: m.ID, draw: func(words) templ.Component { return workloadview.HistoryTab(m) }})
	return v, nil
}

func workloadTabs(say words, item workload.Workload, current workloadview.Tab) ui.TabsModel {
	path := workloadPath(item.ID)
	tab := func(t workloadview.Tab, href string) ui.TabModel {
		return ui.TabModel{Label: say.S("workload.tab_" + string(t)), Href: href, Current: t == current,
			Test: "tab-" + string(t)}
	}
	return ui.TabsModel{Label: say.S("workload.tabs"), Items: []ui.TabModel{
		tab(workloadview.Overview, path), tab(workloadview.Metrics, path+"/metrics"),
		tab(workloadview.Objects, path+"/objects"), tab(workloadview.History, path+"/history")}}
}

// workloadHead is name, state, reason and what one can do.
func (w *Web) workloadHead(k call, s seen) workloadview.HeadModel {
	say := k.words
	state := stateModel(say, s.Workload)
	m := workloadview.HeadModel{ID: "workload-head", Header: ui.HeaderModel{Title: s.Name, State: &state,
		Crumbs: []ui.CrumbModel{{Label: say.S("home.title"), Href: "/"}, {Label: s.Name}},
		Lead: strings.Join([]string{say.Say(i18n.T("kind." + string(s.Kind))), s.Image.Title, s.Size.Title, s.OwnerName},
			" · ")}}
	m.Reason, state.Detail = state.Detail, ""
	m.Notice, m.Concern = w.endingNotice(k, s.Workload), w.concernNotice(k, s.Workload)
	m.Edits = editsNotice(say, s.Workload)
	if m.Notice != nil {
		m.Notice.Items = warningItems(say, s, notify.Lease)
	}
	waits := w.waitingNotice(k, s.Workload)
	if waits != nil {
		m.Notice = waits
	}
	m.Header.Actions = w.headActions(k, s, waits != nil)
	return m
}

// waitingNotice says that a stopped workload stands in the line for a license seat. A line that cannot be read is no
// reason to show nothing of the workload.
func (w *Web) waitingNotice(k call, item workload.Workload) *ui.NoticeModel {
	id, place, err := w.Seats.ResumeOf(k.ctx, item)
	if err != nil || id == "" {
		return nil
	}
	return &ui.NoticeModel{Kind: ui.Waiting, Title: k.words.S("workload.waits_seat", "Place", place),
		Body: k.words.S("workload.waits_seat_body"), Test: "waits-seat",
		Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: k.words.S("workload.waits_seat_link"),
			Href: requestPath(id), Small: true, Test: "to-request"}}}}
}

func (w *Web) headActions(k call, s seen, waits bool) []ui.ActionModel {
	say, path := k.words, workloadPath(s.ID)
	var actions []ui.ActionModel
	if open := w.openButton(k, s.Workload); open != nil {
		open.Kind, open.Small, open.NewTab, open.Icon = ui.Primary, false, true, ""
		actions = append(actions, ui.ActionModel{Link: open})
	}
	if !s.change {
		return actions
	}
	if s.CanStart() && !s.Lease.Over(say.now) && !waits {
		actions = append(actions, ui.ActionModel{Post: &ui.PostButtonModel{Action: path + "/start",
			Button: ui.ButtonModel{Label: say.S("workload.resume"), Icon: "play", Kind: ui.Primary, Test: "resume"}}})
	}
	if s.CanStop() {
		actions = append(actions, stopAction(say, s.Workload))
	}
	if s.CanExtend() {
		actions = append(actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("workload.extend"), Icon: "extend",
			Href: path + "/extend", OpensDialog: "extend", Test: "extend"}})
	}
	if s.CanDelete() {
		actions = append(actions, ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("workload.delete"), Icon: "trash",
			Kind: ui.DangerSecondary, Href: path + "/delete", OpensDialog: "delete", Test: "delete"}})
	}
	return actions
}

// stopNow is the region of the stop dialog that says what the workload does at the moment.
const stopNow = "stop-now"

// stopAction asks first where a stop would end work that cannot be brought back.
func stopAction(say words, item workload.Workload) ui.ActionModel {
	path := workloadPath(item.ID) + "/stop"
	if item.StopLoses(say.now) {
		return ui.ActionModel{Link: &ui.LinkButtonModel{Label: say.S("workload.stop"), Icon: "stop", Href: path,
			OpensDialog: "stop", Test: "stop"}}
	}
	return ui.ActionModel{Post: &ui.PostButtonModel{Action: path,
		Button: ui.ButtonModel{Label: say.S("workload.stop"), Icon: "stop", Test: "stop"}}}
}

// workloadDialogs are the same questions as the pages ask that the buttons lead to without scripts.
func (w *Web) workloadDialogs(k call, s seen) []workloadview.DialogModel {
	if !s.change {
		return nil
	}
	var dialogs []workloadview.DialogModel
	asks := []workloadview.AskModel{w.extendAsk(k, s, "", "", nil), w.deleteAsk(k, s)}
	if s.CanStop() {
		asks = append(asks, w.stopAsk(k, s))
	}
	for _, ask := range asks {
		id := strings.TrimPrefix(ask.Form.ID, "ask-")
		fields := make([]ui.FieldModel, len(ask.Fields))
		copy(fields, ask.Fields)
		d := workloadview.DialogModel{Fields: fields,
			Dialog: ui.DialogModel{ID: id, Title: ask.Header.Title, Body: ask.Lead, Loses: ask.Loses, Keeps: ask.Keeps,
				Action: ask.Form.Action, Hidden: ask.Form.Hidden, Confirm: ask.Button, Kind: dialogKind(id)}}
		if id == "stop" { // what it does now changes while the page is open
			d.Now, d.Dialog.Body = &workloadview.NowModel{ID: stopNow, Words: ask.Lead}, ""
		}
		dialogs = append(dialogs, d)
	}
	return dialogs
}

func dialogKind(id string) ui.Kind {
	if id == "delete" {
		return ui.Danger
	}
	return ""
}

// startSteps is how far the start has come; once it runs they are no news and are left out.
func startSteps(say words, item workload.Workload) workloadview.StartModel {
	m := workloadview.StartModel{ID: "workload-start", Title: say.S("workload.start_title"), Detail: item.Observed.Detail}
	starting := item.Desired == workload.WantRunning &&
		(item.State == workload.Queued || item.State == workload.Starting || item.State == workload.Failed)
	if !starting {
		m.Hidden = true
		return m
	}
	m.Steps = ui.StepsModel{Label: m.Title, Test: "steps"}
	reached := map[workload.StepName]time.Time{}
	for _, step := range item.Observed.Steps {
		reached[step.Name] = step.At
	}
	current, before := true, time.Time{}
	for _, name := range []workload.StepName{workload.StepDecided, workload.StepCreated, workload.StepPlaced,
		workload.StepImage, workload.StepReady} {
		step := ui.StepModel{Title: say.S("step." + string(name)), State: ui.StepWaiting}
		at := reached[name]
		switch {
		case !at.IsZero():
			done := say.at(at)
			step.State, step.Time = ui.StepDone, &done
			if !before.IsZero() {
				step.TookWords = say.duration(at.Sub(before))
			}
			before = at
		case current:
			current = false
			step.State, step.Explanation = currentStep(item, before, say.now), say.say(item.Reason)
			if !before.IsZero() {
				since := say.since(before)
				step.Took = &since
			}
		}
		m.Steps.Items = append(m.Steps.Items, step)
	}
	return m
}

// currentStep hangs when it has taken longer than a start usually does.
func currentStep(item workload.Workload, since, now time.Time) ui.StepState {
	switch {
	case item.State == workload.Failed:
		return ui.StepFailed
	case !since.IsZero() && now.Sub(since) > 2*time.Minute:
		return ui.StepStuck
	}
	return ui.StepCurrent
}

// gpuModel is what the devices do now, each value with its unit. What is not known is called unknown.
func (w *Web) gpuModel(k call, item workload.Workload) workloadview.GPUModel {
	say := k.words
	m := workloadview.GPUModel{ID: "workload-gpu", None: item.Size.Devices() == 0}
	if m.None {
		return m
	}
	if item.Observed.Pod == "" || item.Observed.Node == "" {
		m.Words = say.S("workload.gpu_later")
		return m
	}
	now := w.readings(item)
	if len(now.Devices) == 0 {
		m.Words = say.S("workload.gpu_unknown")
		if !now.At.IsZero() {
			m.Words = say.S("workload.gpu_no_series")
		}
	}
	for _, d := range now.Devices {
		m.Devices = append(m.Devices, deviceModel(say, d))
	}
	points := w.Metrics.History(k.ctx, item.Cluster, item.Namespace, item.Observed.Pod)
	if anyKnown(points) {
		m.History = hourChart(say, points, engine(now))
	}
	if !now.At.IsZero() {
		age := say.age("DCGM", sampleTime(now), readingEvery)
		m.Age = &age
	}
	return m
}

// seatPrice is what the license seats of a workload cost beside its size; "" where they cost nothing.
func (w *Web) seatPrice(say words, item workload.Workload) string {
	hour := usage.Span{From: say.now, Until: say.now.Add(time.Hour)}
	seats := w.Prices.List().ExtraCosts(item.Tenant, 0, item.Seats(), hour, item.Size.PricePerHour.Currency).Seats
	if seats.Minor == 0 {
		return ""
	}
	return say.S("workload.seat_price", "Price", say.moneyPerHour(seats))
}

// leaseCard is what is left of the lease, with the extension that somebody asked for and nobody has decided.
func (w *Web) leaseCard(say words, item workload.Workload, cost usage.Money,
	longer request.Request) workloadview.LeaseCardModel {
	m := workloadview.LeaseCardModel{ID: "workload-lease", Lease: leaseModel(say, item)}
	if longer.ID != "" {
		m.Pending = &ui.NoticeModel{Kind: ui.Info, Title: say.S("workload.extension_waits", "Leases", leaseChange(say,
			longer),
			"Price", say.money(longer.Estimate), "By", longer.Waits()), Test: "extension-waits",
			Actions: []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: say.S("workload.extension_open"),
				Href: requestPath(longer.ID), Kind: ui.LinkLike, Small: true, Test: "extension-open"}}}}
	}
	if m.Lease.Ends != nil {
		m.Items = append(m.Items, ui.DefModel{Term: say.S("workload.ends"), Component: ui.Time(*m.Lease.Ends),
			Test: "lease-ends"})
	}
	m.Items = append(m.Items,
		ui.DefModel{Term: say.S("workload.cost"), Value: say.money(cost), Test: "cost"},
		ui.DefModel{Term: say.S("workload.price"), Value: say.moneyPerHour(item.Size.PricePerHour),
			About: w.seatPrice(say, item), Test: "price"})
	if item.Size.MaxLease > 0 {
		m.Items = append(m.Items, ui.DefModel{Term: say.S("workload.longest"), Value: say.duration(item.Size.MaxLease.Std())})
	}
	return m
}

// accessModel is how to get in, and who may.
func (w *Web) accessModel(k call, s seen) workloadview.AccessModel {
	say := k.words
	m := workloadview.AccessModel{ID: "workload-access", Who: []string{say.S("workload.who_owner", "Name", s.OwnerName)}}
	t, _ := w.Site().Directory.ByName(s.Tenant)
	if s.Shared {
		m.Who = append(m.Who, say.S("workload.who_team", "Team", orElse(t.Display(), s.Tenant)))
	}
	if address := w.appURL(s.Name); address != "" && identity.Can(k.actor, identity.OpenWorkload, s.Resource()) {
		m.Address = openAddress(address, s.Image.OpenPath)
		if s.Kind == catalog.Endpoint {
			m.Example = "curl -H \"Authorization: Bearer $GPU_PORTAL_TOKEN\" " + shellQuote(openAddress(address, "/v1/models"))
			m.Note = say.S("workload.endpoint_note")
		}
	}
	if s.change && s.State != workload.Ended && s.Desired != workload.WantDeleted {
		label, value := say.S("workload.share"), "on"
		if s.Shared {
			label, value = say.S("workload.unshare"), ""
		}
		m.Share = &ui.PostButtonModel{Action: workloadPath(s.ID) + "/share",
			Hidden: []ui.HiddenModel{{Name: "shared", Value: value}},
			Button: ui.ButtonModel{Label: label, Icon: "share", Small: true, Test: "share"}}
	}
	return m
}

// shellQuote keeps an address one word in a shell, whatever a site put into it.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// facts is what it is and where it runs; the cluster's raw words are in a fold.
func facts(say words, item workload.Workload) workloadview.FactsModel {
	m := workloadview.FactsModel{ID: "workload-facts"}
	add := func(term, value, test string) {
		if value != "" {
			m.Items = append(m.Items, ui.DefModel{Term: say.S(term), Value: value, Test: test})
		}
	}
	m.Items = append(m.Items, ui.DefModel{Term: say.S("requests.col_size"),
		Component: workloadview.Size(sizeModel(say, item.Size))})
	m.Items = append(m.Items, ui.DefModel{Term: say.S("workload.isolation"),
		Value: upperFirst(say.Say(catalog.IsolationWord(item.Size.Isolation))),
		About: say.Say(catalog.IsolationText(item.Size.Isolation))})
	add("workload.node", item.Observed.Node, "node")
	add("workload.pod", item.Observed.Pod, "pod")
	add("workload.cluster", item.Cluster, "cluster")
	add("workload.namespace", item.Namespace, "namespace")
	add("start.image", item.Image.Title, "image")
	m.Items = append(m.Items, ui.DefModel{Term: say.S("workload.reference"),
		Component: ui.Copy(ui.CopyModel{Value: item.Image.Reference, Shown: shortReference(item.Image.Reference),
			Label: say.S("workload.reference")})})
	if len(item.Mounts) > 0 {
		add("start.mounts", mountWords(item.Mounts), "mounts")
	}
	if item.Volume != "" {
		add("workload.storage", item.Volume+" · "+say.gib(float64(item.StorageGiB)), "volume")
	}
	if item.Observed.Restarts > 0 {
		add("workload.restarts", say.number(float64(item.Observed.Restarts)), "restarts")
	}
	m.Items = append(m.Items, ui.DefModel{Term: say.S("workload.id"),
		Component: ui.Copy(ui.CopyModel{Value: string(item.ID), Label: say.S("workload.id"), Test: "workload-id"})})
	if !item.Observed.At.IsZero() {
		m.Items = append(m.Items, ui.DefModel{Term: say.S("workload.confirmed"),
			Component: ui.Age(ui.AgeModel{Time: say.ago(item.Observed.At)})})
	}
	if item.State == workload.Running || item.State == workload.Stopping {
		m.Detail = item.Observed.Detail
	}
	return m
}

// shortReference leaves the digest out, and the registry: the copy button has it all.
func shortReference(reference string) string {
	name, _, _ := strings.Cut(reference, "@")
	return name[strings.LastIndexByte(name, '/')+1:]
}

var kernelKinds = map[string]ui.Kind{"busy": ui.OK, "idle": ui.Off, "starting": ui.Progress}

// activity is what the notebook server says; nil where it says nothing.
func activity(say words, item workload.Workload) *workloadview.ActivityModel {
	a := item.Observed.Activity
	if a == nil {
		return nil
	}
	m := &workloadview.ActivityModel{ID: "workload-activity", Lead: say.S("workload.no_kernels")}
	if len(a.Kernels) > 0 {
		m.Lead = say.S("workload.kernels", "Count", len(a.Kernels))
	}
	for _, kernel := range a.Kernels {
		kind, known := kernelKinds[kernel.State]
		word := kernel.State
		if known {
			word = say.S("kernel." + kernel.State)
		} else {
			kind = ui.Unknown
		}
		m.Kernels = append(m.Kernels, workloadview.KernelModel{Name: kernel.Name, State: ui.StateModel{Kind: kind, Word: word,
			Test: "kernel-state"}, Last: say.ago(kernel.LastActivity), Uses: say.number(float64(kernel.Connections))})
	}
	return m
}
