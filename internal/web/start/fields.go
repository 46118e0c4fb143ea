package start

import (
	"github.com/a-h/templ"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// startFields are the choices.
func (w *Pages) startFields(k page.Call, form blocks.StartForm, offers []request.Offer,
	problems []fault.Field) (start.FormModel, error) {
	say := k.Words
	wrong := func(name string) string { return page.WrongIn(say, problems, name) }
	var err error
	m := start.FormModel{
		Hidden: []ui.HiddenModel{{Name: "key", Value: form.Key}, {Name: "last", Value: form.Last}},
		Attrs: asking(k, "/start/summary", "#start-summary",
			"change target:[name], input target:[name]:not([type=radio]):not([type=checkbox]) delay:600ms"),
		Errors: page.AskErrors(say, problems, "start-form"),
		Kind:   kindField(k, form, wrong("kind")),
		Sizes:  w.sizes(k, form, offers, wrong("size")),
		Lease: ui.FieldModel{Name: "lease", Label: say.S("start.lease_other"), HideLabel: true, Value: form.Lease,
			Error: wrong("lease"),
			Hint:  w.leaseHint(say, form), Short: true, MaxLength: 32, Autocomplete: "off", Test: "lease"},
		Image: ui.FieldModel{Name: "image", Kind: ui.SelectField, Label: say.S("start.image"), Value: form.Image,
			Error: wrong("image"), Test: "image"},
		ImageFirst: form.Kind == string(catalog.Endpoint) || form.Kind == string(catalog.Job),
		Presets:    presets(k, form, offers),
	}
	for _, i := range w.Images(form) {
		m.Image.Options = append(m.Image.Options, ui.OptionModel{Value: i.Name, Label: blocks.ImageTitle(k.Words, i)})
	}
	m.Team = w.teamField(k, form, wrong("tenant"), formAgain(k))
	if form.Replaces != "" {
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "replaces", Value: form.Replaces})
		m.Replaces = w.startReplaces(k, form)
	}
	if form.Kind == string(catalog.Job) {
		m.Job = jobFields(say, form, wrong)
	}
	if form.Like != "" {
		if m.Replaces, err = w.likeNotice(k, form); err != nil {
			return m, err
		}
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "like", Value: form.Like})
	}
	if m.Team == nil {
		m.Hidden = append(m.Hidden, ui.HiddenModel{Name: "tenant", Value: form.Tenant})
	}
	m.Advanced, err = w.advanced(k, form, wrong)
	m.AdvancedOpen = len(form.Mounts) > 0
	for _, f := range append(m.Advanced, m.Image) {
		m.AdvancedOpen = m.AdvancedOpen || f.Error != ""
	}
	return m, err
}

// kindField has a tile for each kind of workload.
func kindField(k page.Call, form blocks.StartForm, problem string) ui.FieldModel {
	m := ui.FieldModel{Name: "kind", Kind: ui.CardsField, Label: k.Words.S("start.kind"), Value: form.Kind,
		Error: problem, Attrs: formAgain(k), Test: "kind"}
	for _, kind := range catalog.WorkloadKinds() {
		m.Options = append(m.Options, ui.OptionModel{Value: string(kind), Icon: string(kind),
			Label: k.Words.Say(i18n.T("kind." + string(kind))), Hint: k.Words.S("start." + string(kind) + "_hint"),
			Test: "kind-" + string(kind)})
	}
	return m
}

// advanced are the fields that most people leave as they are.
func (w *Pages) advanced(k page.Call, form blocks.StartForm, wrong func(string) string) ([]ui.FieldModel, error) {
	say := k.Words
	var fields []ui.FieldModel
	volume, err := w.volumeField(k, form, wrong("volume"))
	if err != nil {
		return nil, err
	}
	mounts, err := w.mountsField(k, form, wrong("mounts"))
	if err != nil {
		return nil, err
	}
	storage := &ui.FieldModel{Name: "storage", Label: say.S("start.storage"), Value: form.Storage,
		Error: wrong("storage"), Hint: say.S("start.storage_hint"), Short: true, MaxLength: 16, Autocomplete: "off",
		Test: "storage"}
	name := &ui.FieldModel{Name: "name", Label: say.S("start.name"), Value: form.Name, Error: wrong("name"),
		Hint: say.S("start.name_hint"), MaxLength: 63, Autocomplete: "off", Test: "name"}
	for _, f := range []*ui.FieldModel{volume, storage, mounts, name, w.clusterField(k, form, wrong("cluster"))} {
		if f != nil {
			fields = append(fields, *f)
		}
	}
	return fields, nil
}

// clusterField is nil where there is one cluster only.
func (w *Pages) clusterField(k page.Call, form blocks.StartForm, problem string) *ui.FieldModel {
	clusters := w.Site().Clusters
	if len(clusters) < 2 && problem == "" {
		return nil
	}
	m := &ui.FieldModel{Name: "cluster", Kind: ui.SelectField, Label: k.Words.S("start.sum_cluster"), Value: form.Cluster,
		Error: problem, Short: true, Test: "cluster", Options: []ui.OptionModel{{Value: "",
			Label: k.Words.S("start.cluster_any"), Selected: form.Cluster == ""}}}
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

func (w *Pages) teamField(k page.Call, form blocks.StartForm, problem string, again templ.Attributes) *ui.FieldModel {
	teams := w.Startable(k)
	if len(teams) == 1 && problem == "" {
		return nil
	}
	return &ui.FieldModel{Name: "tenant", Kind: ui.SelectField, Label: k.Words.S("start.team"),
		Hint: k.Words.S("start.team_hint"), Error: problem, Value: form.Tenant, Options: teamOptions(teams), Attrs: again,
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
func (w *Pages) volumeField(k page.Call, form blocks.StartForm, problem string) (*ui.FieldModel, error) {
	volumes, err := w.Workloads.Volumes(k.Ctx, k.Actor, true)
	if err != nil {
		return nil, err
	}
	m := &ui.FieldModel{Name: "volume", Kind: ui.SelectField, Label: k.Words.S("start.volume"), Value: form.Volume,
		Error: problem, Test: "volume",
		Options: []ui.OptionModel{{Value: "", Label: k.Words.S("start.volume_new"), Selected: form.Volume == ""}}}
	for _, v := range volumes {
		if v.Workload == "" && !v.Deleted && !v.OfTeam() && v.Tenant == form.Tenant {
			m.Options = append(m.Options, ui.OptionModel{Value: v.Name, Label: k.Words.S("start.volume_kept", "Name", v.Name,
				"Size", k.Words.GiB(float64(v.GiB)))})
		}
	}
	if len(m.Options) == 1 && problem == "" {
		return nil, nil
	}
	return m, nil
}

func (w *Pages) leaseHint(say page.Words, form blocks.StartForm) string {
	if size, ok := w.Site().Catalog.Size(form.Size); ok && size.MaxLease > 0 {
		return say.S("start.lease_most", "Most", say.Duration(size.MaxLease.Std()))
	}
	return say.S("start.lease_hint")
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
