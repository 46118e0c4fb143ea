package start

import (
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// startFields are the choices.
func (w *Pages) startFields(k page.Call, form blocks.StartForm, offers []request.Offer,
	fit *request.ModelFit, problems []fault.Field) (start.FormModel, error) {
	say := k.Words
	problems = besideImage(problems)
	wrong := func(name string) string { return page.WrongIn(say, problems, name) }
	var err error
	m := start.FormModel{
		Hidden: []ui.HiddenModel{{Name: "key", Value: form.Key}, {Name: "last", Value: form.Last}},
		Attrs: asking(k, "/start/summary", "#start-summary",
			"change target:[name], input target:[name]:not([type=radio]):not([type=checkbox]) delay:600ms"),
		Again:     formAgain(k),
		Errors:    page.AskErrors(say, problems, "start-form"),
		Kind:      start.FieldModel{Value: form.Kind, Error: wrong("kind")},
		Sizes:     w.sizes(k, form, offers, wrong("size")),
		Lease:     start.FieldModel{Value: form.Lease, Error: wrong("lease")},
		LeaseMost: w.leaseMost(say, form),
		Image:     start.ChoiceModel{Value: form.Image, Error: wrong("image")},
		Presets:   presets(k, form, offers),
		Storage:   start.FieldModel{Value: form.Storage, Error: wrong("storage")},
		Name:      start.FieldModel{Value: form.Name, Error: wrong("name")},
		Endpoint:  w.endpointFields(k, form, fit, wrong),
		Team:      w.teamField(k, form, wrong("tenant")), Cluster: w.clusterField(form, wrong("cluster")),
	}
	for _, kind := range catalog.WorkloadKinds() {
		m.Kinds = append(m.Kinds, string(kind))
	}
	m.Custom = w.customField(say, form, wrong(blocks.CustomRefField))
	for _, i := range w.Images(form) {
		m.Image.Options = append(m.Image.Options, ui.OptionModel{Value: i.Name, Label: blocks.ImageTitle(k.Words, i)})
	}
	if form.Replaces != "" {
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "replaces", Value: form.Replaces})
		m.Replaces = w.startReplaces(k, form)
	}
	if form.Kind == string(catalog.Job) {
		m.Job = w.jobFields(form, wrong)
	}
	if form.Like != "" {
		if m.Like, err = w.likeModel(k, form); err != nil {
			return m, err
		}
		m.Replaces = nil
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "like", Value: form.Like})
	}
	if m.Team == nil {
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "tenant", Value: form.Tenant})
	}
	m.Hours = w.hoursFields(k, form, wrong)
	if err := w.attached(k, form, wrong, &m); err != nil {
		return m, err
	}
	m.AdvancedOpen = advancedOpen(form, m, wrong)
	return m, nil
}

// attached are the fields of storage, data sets and secrets.
func (w *Pages) attached(k page.Call, form blocks.StartForm, wrong func(string) string,
	m *start.FormModel) (err error) {
	own, err := w.Workloads.OwnVolumes(k.Ctx, k.Actor, true)
	if err != nil {
		return err
	}
	m.Volume = volumeField(k.Words, form, own, wrong("volume"))
	m.Volumes = volumesFields(k.Words, form, own, wrong("volumes"))
	if m.Secrets, m.Git, err = w.secretsFields(k, form, wrong); err != nil {
		return err
	}
	if m.Datasets, err = w.datasetsField(k, form, wrong("datasets")); err != nil {
		return err
	}
	m.Mounts, err = w.mountsField(k, form, wrong("mounts"))
	return err
}

// advancedOpen reports whether the fold shows what was chosen in it, or what is wrong there.
func advancedOpen(form blocks.StartForm, m start.FormModel, wrong func(string) string) bool {
	open := len(form.Mounts)+len(form.Datasets)+len(form.Draft().Volumes)+len(form.Secrets) > 0 ||
		form.Git.URL != "" || form.CustomRef != "" ||
		m.Hours != nil && form.Hours.Mode != "" ||
		m.Endpoint == nil && m.Job == nil && wrong("image") != "" ||
		m.Endpoint != nil && form.Context+form.Quantization+form.Revision+form.Scaling.Metric+form.Scaling.ToZeroAfter+
			form.Reach != "" ||
		m.Endpoint != nil && (m.Endpoint.Min.Value != "1" || m.Endpoint.Max.Value != "1") ||
		m.Job != nil && (form.Env+form.TimeLimit != "" || m.Job.Retries.Value != "0")
	for _, name := range []string{"volume", "storage", "mounts", "volumes", "datasets", "secrets", "git.url",
		blocks.CustomRefField, "git.ref",
		"git.secret", "env", "retries", "timeLimit", "replicas", "name", "cluster", "model.revision",
		"model.contextLength", "model.quantization", "scaling.metric", "scaling.target", "scaling.scaleDownAfter",
		"scaling.toZeroAfter", "reach", "schedule.mode", "schedule.hours", "schedule.days", "schedule.from", "schedule.until",
		"schedule.zone"} {
		open = open || wrong(name) != ""
	}
	return open
}

// besideImage puts what is wrong with what an image is started like beside the field in which that is chosen.
func besideImage(problems []fault.Field) []fault.Field {
	problems = slices.Clone(problems)
	for i, p := range problems {
		if p.Name == "customImage.like" {
			problems[i].Name = "image"
		}
	}
	return problems
}

// customField takes the reference of an image of one's own, or says who could allow that.
func (w *Pages) customField(say page.Words, form blocks.StartForm, problem string) start.CustomModel {
	d := w.Site().Directory
	m := start.CustomModel{Ref: start.FieldModel{Value: form.CustomRef, Error: problem},
		Allowed: strings.Join(d.Allowed(form.Tenant), ", ")}
	if off := d.CustomOff(form.Tenant); !off.IsZero() {
		m.Off = say.S("request.custom_refused", "Why", off)
	}
	m.Shown = m.Off == "" || form.CustomRef != ""
	return m
}

// hoursFields are whose hours a workload follows; nil for a job, which has none.
func (w *Pages) hoursFields(k page.Call, form blocks.StartForm, wrong func(string) string) *ui.HoursModel {
	if form.Kind == string(catalog.Job) {
		return nil
	}
	hours := form.Hours
	if hours.Zone == "" && hours.From == "" {
		hours = blocks.HoursOf(hours.Mode, nil, w.Zone.String())
	}
	m := blocks.HoursFields(k.Words, hours, blocks.HourModes(k.Words, w.Workloads.TeamSchedule(form.Tenant)), wrong,
		"schedule.")
	return &m
}

// clusterField is nil where there is one cluster only.
func (w *Pages) clusterField(form blocks.StartForm, problem string) *start.ChoiceModel {
	clusters := w.Site().Clusters
	if len(clusters) < 2 && problem == "" {
		return nil
	}
	m := &start.ChoiceModel{Value: form.Cluster, Error: problem}
	for _, name := range clusters {
		m.Options = append(m.Options, ui.OptionModel{Value: name, Label: name})
	}
	return m
}

// formAgain asks for the whole form: what was changed alters what there is to choose.
func formAgain(k page.Call) templ.Attributes {
	return asking(k, "/start/form", "#start", "change consume target:[name]")
}

// asking sends what was chosen and takes the answer into the page; trigger is when, "" for a button's click. Who sees
// the portal as somebody else may send nothing by POST, not even a question.
//
// The last answer counts: the whole form breaks off whatever is under way, the summary alone waits for it.
func asking(k page.Call, path, target, trigger string) templ.Attributes {
	attrs := templ.Attributes{"hx-target": target, "hx-swap": "outerMorph", "hx-sync": "closest form:queue last"}
	if target == "#start" {
		attrs["hx-sync"] = "closest form:replace"
	}
	if trigger != "" {
		attrs["hx-trigger"] = trigger
	}
	if k.Actor.Impersonator != nil {
		attrs["hx-get"], attrs["hx-include"] = path, "closest form"
		return attrs
	}
	attrs["hx-post"] = path
	return attrs
}

// teamField is nil where there is one team only.
func (w *Pages) teamField(k page.Call, form blocks.StartForm, problem string) *start.ChoiceModel {
	teams := w.Startable(k)
	if len(teams) == 1 && problem == "" {
		return nil
	}
	return &start.ChoiceModel{Value: form.Tenant, Error: problem, Options: teamOptions(teams)}
}

func teamOptions(teams []tenant.Tenant) []ui.OptionModel {
	var options []ui.OptionModel
	for _, t := range teams {
		options = append(options, ui.OptionModel{Value: t.Name, Label: t.Display()})
	}
	return options
}

// volumeField offers kept storage that nobody uses; nil where there is none.
func volumeField(say page.Words, form blocks.StartForm, volumes []workload.OwnVolume,
	problem string) *start.ChoiceModel {
	m := &start.ChoiceModel{Value: form.Volume, Error: problem}
	for _, v := range volumes {
		if v.Workload == "" && !v.Deleted && !v.OfTeam() && v.Tenant == form.Tenant {
			m.Options = append(m.Options, ui.OptionModel{Value: v.Name, Label: say.S("start.volume_kept", "Name", v.Name, "Size",
				say.GiB(float64(v.GiB)))})
		}
	}
	if len(m.Options) == 0 && problem == "" {
		return nil
	}
	return m
}

// leaseMost is the longest lease of the size that is chosen; "" where it has none.
func (w *Pages) leaseMost(say page.Words, form blocks.StartForm) string {
	if size, ok := w.Site().Catalog.Size(form.Size); ok && size.MaxLease > 0 {
		return say.Duration(size.MaxLease.Std())
	}
	return ""
}

// presetLengths are the usual lengths of time.
var presetLengths = []string{"1h", "4h", "8h", "1d"}

// presets are lengths of time within the size's longest lease, and that itself.
func presets(k page.Call, form blocks.StartForm, offers []request.Offer) []start.PresetModel {
	most := blocks.OfferNamed(offers, form.Size).Size.MaxLease
	chosen, _ := catalog.ParseDuration(form.Lease)
	var list []start.PresetModel
	add := func(label string, d catalog.Duration) {
		list = append(list, start.PresetModel{Label: label, Value: d.String(), Current: chosen == d,
			Attrs: asking(k, "/start/form", "#start", "")})
	}
	for _, text := range presetLengths {
		if d, _ := catalog.ParseDuration(text); most == 0 || d < most {
			add(k.Words.Duration(d.Std()), d)
		}
	}
	if most > 0 {
		add(k.Words.S("start.longest", "Duration", k.Words.Duration(most.Std())), most)
	}
	return list
}
