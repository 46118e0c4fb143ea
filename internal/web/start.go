package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// start answers: what can I get, when, for how much.
func (w *Web) start(k call) (view, error) {
	if len(w.startable(k)) == 0 {
		m := start.PageModel{Header: startHeader(k.words), None: &ui.EmptyStateModel{Icon: "lock",
			Title: k.words.S("start.none"), Test: "start-none",
			Lines: []string{k.words.S("start.none_why")}}}
		return view{title: m.Header.Title, nav: "/start", body: start.Page(m), startOff: true}, nil
	}
	form, err := w.startDefaults(k)
	if err != nil {
		return view{}, err
	}
	return w.startView(k, form, nil)
}

func startHeader(say words) ui.HeaderModel {
	return ui.HeaderModel{Title: say.S("start.title"), Lead: say.S("start.lead")}
}

// startView draws the page around what was typed; problems stand beside their fields.
func (w *Web) startView(k call, form StartForm, problems []fault.Field) (view, error) {
	m, err := w.startModel(k, form, problems)
	if err != nil {
		return view{}, err
	}
	v := view{title: m.Header.Title, nav: "/start", body: start.Page(m), startOff: true, wide: true}
	for _, row := range m.Form.Sizes.Rows {
		v.parts = append(v.parts, part{id: row.Free.ID, draw: func(words) templ.Component { return start.Free(row.Free) }})
	}
	return v, nil
}

func (w *Web) startModel(k call, form StartForm, problems []fault.Field) (start.PageModel, error) {
	offers, err := w.Offers.List(k.ctx, k.actor, form.Tenant)
	if err != nil {
		return start.PageModel{}, err
	}
	fields, err := w.startFields(k, form, offers, problems)
	if err != nil {
		return start.PageModel{}, err
	}
	summary, err := w.summary(k, form, offers)
	return start.PageModel{Header: startHeader(k.words), Form: fields, Summary: summary}, err
}

// startDefaults fills the form: what the address asks for, else what was used last, else the smallest that is free.
func (w *Web) startDefaults(k call) (StartForm, error) {
	form := readStartForm(k.query)
	teams := w.startable(k)
	if !offered(teams, form.Tenant) {
		form.Tenant = chooseTeam(k, teams)
	}
	form.Key = w.Requests.NewKey()
	offers, err := w.Offers.List(k.ctx, k.actor, form.Tenant)
	if err != nil {
		return form, err
	}
	last, err := w.lastUsed(k, form.Tenant)
	if err != nil {
		return form, err
	}
	form = w.teamDefaultsIn(form, offers)
	if form.Kind == "" {
		form.Kind = orElse(string(last.Kind), string(catalog.Notebook))
	}
	if form.Size == "" {
		form.Size = defaultSize(offers, last.Size.Name)
	}
	if form.Image == "" && string(last.Kind) == form.Kind {
		form.Image = last.Image.Name
	}
	return w.settle(form, offers), nil
}

func orElse(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}

func offered(teams []tenant.Tenant, name string) bool {
	for _, t := range teams {
		if t.Name == name {
			return true
		}
	}
	return false
}

func (w *Web) lastUsed(k call, team string) (request.Spec, error) {
	items, _, err := w.Requests.List(k.ctx, k.actor, request.ScopeMine, request.Filter{Tenants: []string{team}, Limit: 1})
	if err != nil || len(items) == 0 {
		return request.Spec{}, err
	}
	return items[0].Spec, nil
}

func defaultSize(offers []request.Offer, last string) string {
	for _, o := range offers {
		if o.Size.Name == last && o.Problem.IsZero() {
			return last
		}
	}
	if best, ok := smallest(offers); ok {
		return best.Size.Name
	}
	for _, o := range offers {
		if o.Problem.IsZero() {
			return o.Size.Name
		}
	}
	return ""
}

// settle gives the fields that hang on others a value that fits: an image of the kind, the size's usual lease.
func (w *Web) settle(form StartForm, offers []request.Offer) StartForm {
	form = w.settleImage(form)
	for _, o := range offers {
		if o.Size.Name == form.Size && form.Lease == "" && o.Size.DefaultLease > 0 {
			form.Lease = o.Size.DefaultLease.String()
		}
	}
	if form.Storage == "" && form.Volume == "" {
		form.Storage = "10Gi"
	}
	return form
}

// images are those that the team may use for this kind.
func (w *Web) images(form StartForm) []catalog.Image {
	var fitting []catalog.Image
	for _, i := range w.Site().ImagesFor(form.Tenant) {
		if string(i.Kind) == form.Kind && i.OfferedTo(form.Tenant) {
			fitting = append(fitting, i)
		}
	}
	return fitting
}

// startSummary answers with the summary of what was typed; without scripts with the whole page.
func (w *Web) startSummary(c echo.Context) error {
	k, form, err := w.startTyped(c)
	if err != nil {
		return err
	}
	if !isFragment(c) {
		return w.startPageFor(c, k, form)
	}
	offers, err := w.Offers.List(k.ctx, k.actor, form.Tenant)
	if err != nil {
		return err
	}
	m, err := w.summary(k, form, offers)
	if err != nil {
		return err
	}
	return w.write(c, http.StatusOK, start.Summary(m))
}

// startForm answers with choices and summary, for a change that alters what there is to choose.
func (w *Web) startForm(c echo.Context) error {
	k, form, err := w.startTyped(c)
	if err != nil {
		return err
	}
	if !isFragment(c) {
		return w.startPageFor(c, k, form)
	}
	m, err := w.startModel(k, form, nil)
	if err != nil {
		return err
	}
	return w.write(c, http.StatusOK, start.Body(m))
}

func (w *Web) startPageFor(c echo.Context, k call, form StartForm) error {
	v, err := w.startView(k, form, nil)
	if err != nil {
		return err
	}
	return w.reply(c, k, page{name: startPage.name}, v, http.StatusOK)
}

// startTyped reads the form and gives what hangs on other fields a value that fits.
func (w *Web) startTyped(c echo.Context) (call, StartForm, error) {
	k := w.callOf(c)
	values, err := c.FormParams()
	if err != nil {
		return k, StartForm{}, fault.Wrap(fault.Invalid, err, i18n.T("web.unreadable_form"))
	}
	form := readStartForm(values)
	if !offered(w.startable(k), form.Tenant) {
		form.Tenant = chooseTeam(k, w.startable(k))
	}
	return k, w.settleImage(form), nil
}

// settleImage replaces an image of the other kind, after the kind was changed.
func (w *Web) settleImage(form StartForm) StartForm {
	images := w.images(form)
	for _, i := range images {
		if i.Name == form.Image {
			return form
		}
	}
	if len(images) > 0 {
		form.Image = images[0].Name
	}
	return form
}

// startSubmit sends the spec. What cannot be granted comes back with what was typed and the reason beside its field.
func (w *Web) startSubmit(c echo.Context) error {
	k := w.callOf(c)
	values, err := c.FormParams()
	if err != nil {
		return fault.Wrap(fault.Invalid, err, i18n.T("web.unreadable_form"))
	}
	form := readStartForm(values)
	r, err := w.Requests.Submit(k.ctx, k.actor, form.Draft())
	switch {
	case err == nil && r.State == request.Approved && r.Workload != "":
		return w.done(c, "", workloadPath(r.Workload))
	case err == nil:
		return w.done(c, "submitted", requestPath(r.ID))
	case !correctable(err):
		return err
	}
	return w.startAgain(c, k, form, err)
}

// correctable reports whether a person can change something on the form about it.
func correctable(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Invalid || kind == fault.Conflict || kind == fault.Forbidden
}

// statusOf is the status of a form that comes back; serve maps everything else.
func statusOf(err error) int {
	switch fault.KindOf(err) {
	case fault.Conflict:
		return http.StatusConflict
	case fault.Forbidden:
		return http.StatusForbidden
	}
	return http.StatusUnprocessableEntity
}

func (w *Web) startAgain(c echo.Context, k call, form StartForm, cause error) error {
	problems := problemsOf(cause)
	form.Key = w.nextKey(form.Key, cause)
	if teams := w.startable(k); !offered(teams, form.Tenant) {
		if len(teams) == 0 {
			return cause
		}
		form.Tenant = chooseTeam(k, teams)
	}
	v, err := w.startView(k, form, problems)
	if err != nil {
		return err
	}
	return w.reply(c, k, page{name: startPage.name}, v, statusOf(cause))
}

// problemsOf are the field problems of a fault; one without fields concerns the whole form.
func problemsOf(err error) []fault.Field {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	if len(f.Fields) > 0 {
		return f.Fields
	}
	return []fault.Field{{Reason: f.Sentence, See: f.See}}
}

// formErrors sums the problems up, each leading to its field.
func formErrors(say words, problems []fault.Field) ui.FormErrorsModel {
	m := ui.FormErrorsModel{}
	for _, p := range problems {
		m.Items = append(m.Items, ui.FormErrorModel{FieldID: p.Name, Words: say.say(p.Reason)})
		if p.See != "" {
			m.See = &ui.LinkButtonModel{Label: say.S("web.see_earlier"), Href: "/" + p.See, Kind: ui.Secondary, Small: true,
				Test: "see-earlier"}
		}
	}
	m.Title = say.S("web.form_errors", "Count", len(m.Items))
	return m
}

// askErrors are those of a form that makes a request. One that was sent before with other contents can be sent as
// another request: the form that comes back has another key.
func askErrors(say words, problems []fault.Field, form string) ui.FormErrorsModel {
	m := formErrors(say, problems)
	if m.See != nil {
		m.Title = say.S("web.sent_already")
		m.Again = &ui.ButtonModel{Label: say.S("web.send_another"), Kind: ui.Secondary, Small: true, Form: form,
			Test: "send-another"}
	}
	return m
}

// nextKey is the key of a form that comes back: another one where a request was made with it.
func (w *Web) nextKey(key string, cause error) string {
	if fault.As(cause).See != "" {
		return w.Requests.NewKey()
	}
	return key
}

// startFields are the choices.
func (w *Web) startFields(k call, form StartForm, offers []request.Offer,
	problems []fault.Field) (start.FormModel, error) {
	say := k.words
	wrong := func(name string) string {
		for _, p := range problems {
			if p.Name == name {
				return say.say(p.Reason)
			}
		}
		return ""
	}
	again := formAgain(k)
	m := start.FormModel{
		Hidden: []ui.HiddenModel{{Name: "key", Value: form.Key}},
		Attrs:  asking(k, "/start/summary", "#start-summary", "change, input delay:600ms"),
		Errors: askErrors(say, problems, "start-form"),
		Kind: ui.FieldModel{Name: "kind", Kind: ui.RadiosField, Label: say.S("start.kind"), Value: form.Kind,
			Error: wrong("kind"), Attrs: again, Test: "kind", Options: []ui.OptionModel{
				{Value: "notebook", Label: say.Say(i18n.T("kind.notebook")), Hint: say.S("start.notebook_hint"),
					Test: "kind-notebook"},
				{Value: "endpoint", Label: say.Say(i18n.T("kind.endpoint")), Hint: say.S("start.endpoint_hint"),
					Test: "kind-endpoint"}}},
		Sizes: w.sizes(k, form, offers, wrong("size")),
		Image: ui.FieldModel{Name: "image", Kind: ui.SelectField, Label: say.S("start.image"), Value: form.Image,
			Error: wrong("image"), Test: "image"},
		Lease: ui.FieldModel{Name: "lease", Label: say.S("start.lease"), Value: form.Lease, Error: wrong("lease"),
			Hint: w.leaseHint(say, form), Short: true, MaxLength: 32, Autocomplete: "off", Test: "lease"},
		Storage: ui.FieldModel{Name: "storage", Label: say.S("start.storage"), Value: form.Storage, Error: wrong("storage"),
			Hint: say.S("start.storage_hint"), Short: true, MaxLength: 16, Autocomplete: "off", Test: "storage"},
		Reason: ui.FieldModel{Name: "reason", Kind: ui.TextareaField, Rows: 2, Label: say.S("start.reason"),
			Value: form.Reason, Error: wrong("reason"), Hint: say.S("start.reason_hint"), MaxLength: 500, Test: "reason"},
		Name: ui.FieldModel{Name: "name", Label: say.S("start.name"), Value: form.Name, Error: wrong("name"),
			Hint: say.S("start.name_hint"), MaxLength: 63, Autocomplete: "off", Test: "name"},
	}
	for _, i := range w.images(form) {
		m.Image.Options = append(m.Image.Options, ui.OptionModel{Value: i.Name, Label: imageTitle(k.words, i)})
	}
	m.Team = w.teamField(k, form, wrong("tenant"), again)
	if form.Replaces != "" {
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "replaces", Value: form.Replaces})
		m.Replaces = w.startReplaces(k, form)
	}
	if m.Team == nil {
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "tenant", Value: form.Tenant})
	}
	m.Presets = presets(k, form, offers)
	var err error
	if m.Volume, err = w.volumeField(k, form, wrong("volume")); err != nil {
		return m, err
	}
	m.Mounts, err = w.mountsField(k, form, wrong("mounts"))
	return m, err
}

// formAgain asks for the whole form: what was changed alters what there is to choose.
func formAgain(k call) templ.Attributes { return asking(k, "/start/form", "#start", "change consume") }

// asking sends what was chosen and takes the answer into the page; trigger is when, "" for a button's click. Who sees
// the portal as somebody else may send nothing by POST, not even a question.
func asking(k call, path, target, trigger string) templ.Attributes {
	attrs := templ.Attributes{"hx-target": target, "hx-swap": "outerMorph"}
	if trigger != "" {
		attrs["hx-trigger"] = trigger
	}
	if k.actor.Impersonator != nil {
		attrs["hx-get"], attrs["hx-include"] = path, "closest form"
		return attrs
	}
	attrs["hx-post"] = path
	return attrs
}

func (w *Web) teamField(k call, form StartForm, problem string, again templ.Attributes) *ui.FieldModel {
	teams := w.startable(k)
	if len(teams) == 1 && problem == "" {
		return nil
	}
	return &ui.FieldModel{Name: "tenant", Kind: ui.SelectField, Label: k.words.S("start.team"),
		Hint: k.words.S("start.team_hint"), Error: problem, Value: form.Tenant, Options: teamOptions(teams), Attrs: again,
		Test: "team", Short: true}
}

func teamOptions(teams []tenant.Tenant) []ui.OptionModel {
	var options []ui.OptionModel
	for _, t := range teams {
		options = append(options, ui.OptionModel{Value: t.Name, Label: t.Display()})
	}
	return options
}

// volumeField offers kept storage that nobody uses; nil where there is none.
func (w *Web) volumeField(k call, form StartForm, problem string) (*ui.FieldModel, error) {
	volumes, err := w.Workloads.Volumes(k.ctx, k.actor, true)
	if err != nil {
		return nil, err
	}
	m := &ui.FieldModel{Name: "volume", Kind: ui.SelectField, Label: k.words.S("start.volume"), Value: form.Volume,
		Error: problem, Test: "volume",
		Options: []ui.OptionModel{{Value: "", Label: k.words.S("start.volume_new"), Selected: form.Volume == ""}}}
	for _, v := range volumes {
		if v.Workload == "" && !v.Deleted && !v.OfTeam() && v.Tenant == form.Tenant {
			m.Options = append(m.Options, ui.OptionModel{Value: v.Name, Label: k.words.S("start.volume_kept", "Name", v.Name,
				"Size", k.words.gib(float64(v.GiB)))})
		}
	}
	if len(m.Options) == 1 && problem == "" {
		return nil, nil
	}
	return m, nil
}

func (w *Web) leaseHint(say words, form StartForm) string {
	if size, ok := w.Site().Catalog.Size(form.Size); ok && size.MaxLease > 0 {
		return say.S("start.lease_most", "Most", say.duration(size.MaxLease.Std()))
	}
	return say.S("start.lease_hint")
}

// presets are lengths of time within the size's longest lease.
func presets(k call, form StartForm, offers []request.Offer) []start.PresetModel {
	most := catalog.Duration(0)
	for _, o := range offers {
		if o.Size.Name == form.Size {
			most = o.Size.MaxLease
		}
	}
	var list []start.PresetModel
	for _, text := range []string{"2h", "8h", "1d", "3d", "7d"} {
		d, _ := catalog.ParseDuration(text)
		if most == 0 || d <= most {
			list = append(list, start.PresetModel{Label: k.words.duration(d.Std()), Value: text, Current: form.Lease == text,
				Attrs: asking(k, "/start/form", "#start", "")})
		}
	}
	return list
}

// sizes is the price list, narrowed by the filters; the chosen size always stays in it.
func (w *Web) sizes(k call, form StartForm, offers []request.Offer, problem string) start.SizesModel {
	say := k.words
	m := start.SizesModel{Error: problem, Help: say.S("start.size_help"), Filters: sizeFilters(say, form),
		Attrs: formAgain(k), Wizard: sizingButton(say), Ages: w.snapshotAges(k)}
	var shown []catalog.Size
	for _, o := range offers {
		if o.Size.Name == form.Size || passes(form, o) {
			m.Rows = append(m.Rows, w.sizeRow(k, form, o))
			shown = append(shown, o.Size)
		}
	}
	groupSizes(say, m.Rows, shown)
	if len(m.Rows) < len(offers) {
		m.Shown = say.S("start.shown", "Shown", len(m.Rows), "All", len(offers))
	}
	return m
}

// snapshotAges say how old the free counts are, by cluster.
func (w *Web) snapshotAges(k call) (list []ui.AgeModel) {
	clusters := w.Site().Clusters
	for _, name := range clusters {
		s, ok := w.Snapshots.Snapshot(k.ctx, name)
		if !ok {
			continue
		}
		source := k.words.S("start.counted")
		if len(clusters) > 1 {
			source = k.words.S("start.counted_in", "Cluster", name)
		}
		list = append(list, k.words.age(source, s.TakenAt, snapshotEvery))
	}
	return list
}

func passes(form StartForm, o request.Offer) bool {
	least, _ := strconv.ParseFloat(form.AtLeast, 64)
	switch {
	case o.Size.Accelerator.MemoryGiB < least:
		return false
	case form.Isolation != "" && string(o.Size.Isolation) != form.Isolation:
		return false
	case form.FreeOnly && (!o.Fit.Known || o.Fit.Free == 0):
		return false
	}
	return true
}

func sizeFilters(say words, form StartForm) []ui.FieldModel {
	memory := ui.FieldModel{Name: "at_least", Kind: ui.SelectField, Label: say.S("start.filter_memory"),
		Value: form.AtLeast, Test: "filter-memory",
		Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, gib := range []string{"10", "20", "40", "80"} {
		memory.Options = append(memory.Options, ui.OptionModel{Value: gib, Label: "≥ " + gib + " GiB"})
	}
	isolation := ui.FieldModel{Name: "isolation", Kind: ui.SelectField, Label: say.S("start.filter_isolation"),
		Value: form.Isolation, Test: "filter-isolation",
		Options: []ui.OptionModel{{Value: "", Label: say.S("start.any")}}}
	for _, level := range []catalog.Isolation{catalog.IsolationHard, catalog.IsolationMemory, catalog.IsolationNone} {
		isolation.Options = append(isolation.Options, ui.OptionModel{Value: string(level),
			Label: say.Say(catalog.IsolationWord(level))})
	}
	return []ui.FieldModel{memory, isolation,
		{Name: "free_only", Kind: ui.CheckboxField, Label: say.S("start.filter_free"), Checked: form.FreeOnly,
			Test: "filter-free"}}
}

func (w *Web) sizeRow(k call, form StartForm, o request.Offer) start.SizeRowModel {
	say, s := k.words, o.Size
	row := start.SizeRowModel{ID: slug(s.Name), Name: s.Name, Size: sizeModel(say, s),
		Level:   upperFirst(say.Say(catalog.IsolationWord(s.Isolation))),
		Meaning: say.S("start.isolation_" + string(s.Isolation)),
		Free:    freeModel(say, o), Price: say.moneyPerHour(s.PricePerHour), Needs: needs(say, o),
		Checked: s.Name == form.Size}
	row.Size.Detail = priceListDetail(say, w.Site().Catalog, s)
	switch {
	case !o.Problem.IsZero():
		row.Why = say.say(o.Problem)
		if o.Quota.Full() {
			row.More = moreQuota(say, form.Tenant, s.Name)
		}
	case o.Verdict.Outcome == policy.Refuse:
		row.Why = say.say(o.Verdict.Sentence)
	}
	if s.Devices() == 0 {
		row.Level, row.Meaning = "–", ""
	}
	return row
}

// priceListDetail is the technology with the memory, and what comes with it.
func priceListDetail(say words, offer catalog.Catalog, s catalog.Size) string {
	parts := []string{}
	if s.Devices() > 0 {
		parts = append(parts, say.Say(offer.TechnologyWord(s.Technology)))
		if s.Accelerator.MemoryGiB > 0 {
			parts = append(parts, say.S("web.gpu_memory", "Memory", say.gib(s.Accelerator.MemoryGiB)))
		}
	}
	return strings.Join(append(parts, say.S("web.cpu_size", "CPU", s.CPU, "Memory", say.quantity(s.Memory))), " · ")
}

func freeModel(say words, o request.Offer) start.FreeModel {
	m := start.FreeModel{ID: "free-" + slug(o.Size.Name), Kind: ui.Unknown, Words: say.S("web.unknown")}
	if !o.Why.IsZero() {
		m.Detail = say.say(o.Why)
	}
	if o.QueueAhead > 0 {
		m.Detail = strings.TrimSpace(m.Detail + " " + say.S("start.ahead", "Count", o.QueueAhead))
	}
	if !o.Fit.Known {
		return m
	}
	m.Kind, m.Words = ui.OK, say.S("start.free_of", "Free", o.Fit.Free, "Total", o.Fit.Total)
	switch {
	case o.Fit.Total == 0:
		m.Kind, m.Words = ui.Off, say.S("start.free_none")
	case o.Fit.Free <= o.QueueAhead:
		m.Kind = ui.Waiting
	}
	return m
}

// needs is what has to happen before it starts: nothing, an approval, a license seat.
func needs(say words, o request.Offer) ui.StateModel {
	switch {
	case o.Verdict.Outcome == policy.Approve:
		return ui.StateModel{Kind: ui.Waiting, Word: say.S("start.needs_approval"), Detail: say.S("start.needs_by", "By",
			o.Verdict.Who())}
	case o.Seats != nil:
		kind := ui.Info
		if !o.Seats.Has(o.MoreSeats) {
			kind = ui.Warning
		}
		return ui.StateModel{Kind: kind, Word: say.S("start.needs_seat"), Detail: seatsFree(say, *o.Seats)}
	}
	return ui.StateModel{Kind: ui.OK, Word: say.S("start.needs_nothing")}
}

func roleWord(r identity.Role) i18n.Text { return i18n.T("role." + string(r)) }

// summary is what would happen if this were sent now.
func (w *Web) summary(k call, form StartForm, offers []request.Offer) (start.SummaryModel, error) {
	p, err := w.Requests.Preview(k.ctx, k.actor, form.Draft())
	if err != nil {
		return start.SummaryModel{}, err
	}
	say := k.words
	m := start.SummaryModel{Verdict: verdict(say, p, form), Manifest: p.Manifest,
		Update: ui.ButtonModel{Label: say.S("start.update"), Kind: ui.LinkLike, FormAction: "/start/summary", Test: "update"},
		Send:   ui.ButtonModel{Label: sendLabel(say, p), Kind: ui.Primary, Icon: "bolt", Block: true, Test: "send"}}
	if instead := p.Alternatives.Offer; instead.Size.Name != "" {
		m.Verdict.Actions = []ui.ActionModel{{Button: &ui.ButtonModel{Label: insteadLabel(say, "start.instead",
			p.Alternatives),
			Small: true, Name: "instead", Value: instead.Size.Name,
			FormAction: "/start/form", Test: "instead", Attrs: asking(k, "/start/form", "#start", "")}}}
	}
	if p.Spec.Size.Name == "" {
		return m, nil
	}
	if p.Quota.Full() {
		m.Verdict.Actions = append(m.Verdict.Actions, ui.ActionModel{Link: moreQuota(say, p.Spec.Tenant, p.Spec.Size.Name)})
	}
	if !badLease(p) || p.Budget.Stops() { // what is too much is said with what it costs
		m.Cost, m.CostNote = w.priceAhead(say, p)
	}
	m.Going = w.going(k, form, offers, p.Spec)
	m.Items, m.Forecast = summaryItems(say, p), w.previewOutlook(k, p)
	if p.Quota.Limit > 0 {
		m.Quota = quotaAfter(say, p.Quota, p.Spec.Size.Title)
	}
	m.Budget = budgetAfter(say, p.Budget)
	return m, nil
}

// insteadLabel names an alternative and what it has less of.
func insteadLabel(say words, id string, a request.Alternative) string {
	label := say.S(id, "Size", a.Offer.Size.Title)
	if len(a.Weaker) == 0 {
		return label
	}
	parts := make([]string, len(a.Weaker))
	for i, w := range a.Weaker {
		parts[i] = say.S("forecast.weaker_" + string(w))
	}
	return label + " (" + strings.Join(parts, ", ") + ")"
}

// priceAhead is what the whole time costs, and how it comes about: the size, and storage and seats where they have a
// price.
func (w *Web) priceAhead(say words, p request.Preview) (total, note string) {
	a, sum := p.Extras, p.Price
	note = say.S("start.total_note", "Duration", say.duration(p.Spec.Lease.Std()), "Price",
		say.moneyPerHour(p.Spec.Size.PricePerHour))
	if a.Seats.Minor == 0 && a.Storage.Minor == 0 {
		return say.money(sum), note
	}
	parts := []string{note, say.S("start.total_size", "Money", say.money(p.Price))}
	if a.Seats.Minor > 0 {
		sum, parts = sum.Add(a.Seats), append(parts, say.S("start.total_seats", "Money", say.money(a.Seats)))
	}
	if a.Storage.Minor > 0 {
		sum, parts = sum.Add(a.Storage), append(parts, say.S("start.total_storage", "Money", say.money(a.Storage)))
	}
	return say.money(sum), strings.Join(parts, ". ")
}

func offerNamed(offers []request.Offer, name string) request.Offer {
	for _, o := range offers {
		if o.Size.Name == name && name != "" {
			return o
		}
	}
	return request.Offer{}
}

func badLease(p request.Preview) bool {
	for _, f := range p.Fields {
		if f.Name == "lease" {
			return true
		}
	}
	return false
}

func sendLabel(say words, p request.Preview) string {
	if p.Verdict.Outcome == policy.Approve {
		return say.S("start.send_ask")
	}
	return say.S("start.send_start")
}

// verdict is the one sentence of the summary.
func verdict(say words, p request.Preview, form StartForm) ui.NoticeModel {
	n := ui.NoticeModel{Test: "verdict"}
	switch {
	case len(p.Fields) > 0 && !p.NeedsReason():
		n.Kind, n.Title = ui.Warning, say.S("start.cannot")
		for _, f := range p.Fields {
			n.Items = append(n.Items, say.say(f.Reason))
		}
	case !p.Refused.IsZero():
		n.Kind, n.Title, n.Body = ui.Danger, say.S("start.refused"), say.say(p.Refused)
	case p.Verdict.Outcome == policy.Approve:
		n.Kind, n.Title = ui.Info, say.S("start.waits_approval", "By", p.Verdict.Who())
		if strings.TrimSpace(form.Reason) == "" {
			n.Body = say.S("start.reason_first")
		}
	case !p.Fit.Known:
		n.Kind, n.Title, n.Body = ui.Info, say.S("start.when_room"), orElse(why(say, p), say.S("start.free_unknown"))
	case p.Fit.Free <= p.QueueAhead:
		n.Kind, n.Title, n.Body = ui.Info, say.S("start.waits"), why(say, p)
	default:
		n.Kind, n.Title = ui.OK, say.S("start.now")
	}
	return n
}

// why is what is in the way on the nodes, and who stands in front.
func why(say words, p request.Preview) string {
	text := ""
	if !p.Why.IsZero() {
		text = say.say(p.Why)
	}
	if p.QueueAhead > 0 {
		text += " " + say.S("start.ahead", "Count", p.QueueAhead)
	}
	return strings.TrimSpace(text)
}

func summaryItems(say words, p request.Preview) []ui.DefModel {
	var items []ui.DefModel
	add := func(term, value, test string) {
		if value != "" {
			items = append(items, ui.DefModel{Term: say.S(term), Value: value, Test: test})
		}
	}
	add("start.sum_size", p.Spec.Size.Title, "sum-size")
	if p.StartsNow() {
		ends := say.at(p.Until)
		items = append(items, ui.DefModel{Term: say.S("start.sum_until"), Component: ui.Time(ends), Test: "sum-until"})
	}
	if p.Verdict.Rule != "" {
		add("start.sum_rule", p.Verdict.Rule, "sum-rule")
	}
	if p.Seats != nil {
		add("start.sum_seat", seatsTaken(say, p.MoreSeats, *p.Seats), "sum-seat")
	}
	if p.Place > 0 {
		add("start.sum_seat_line", say.S("start.seat_line", "Pool", p.Seats.Pool.Title, "Place", p.Place), "sum-seat-line")
	}
	// the last part is drawn when it is sent
	add("start.sum_name", strings.Replace(p.Spec.Name, "-xxxx", "-…", 1), "sum-name")
	add("start.sum_cluster", p.Spec.Cluster, "sum-cluster")
	if p.Spec.StorageGiB > 0 && p.Spec.Volume == "" {
		add("start.sum_storage", say.gib(float64(p.Spec.StorageGiB)), "sum-storage")
	} else {
		add("start.sum_storage", p.Spec.Volume, "sum-storage")
	}
	add("start.mounts", mountWords(p.Spec.Mounts), "sum-mounts")
	return items
}

// quotaAfter is the team's quota with what this would take.
func quotaAfter(say words, q request.Quota, title string) *ui.MeterModel {
	whole := float64(max(q.Limit, q.Used, 1))
	m := &ui.MeterModel{Label: say.S("start.quota_after", "Size", title), Value: say.S("web.used_of", "Used", q.Used,
		"Limit", q.Limit), Test: "quota-after", Legend: true,
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: float64(q.Used) / whole}}}
	if !q.Full() {
		m.Segments = append(m.Segments, ui.SegmentModel{Fill: ui.FillThis, Share: 1 / whole, Words: say.S("start.this_one")})
	}
	return m
}
