package team

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	teamview "github.com/gpu-portal/gpu-portal/views/team"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func datasetPath(team, name string) string {
	return page.DatasetsPath(team) + "/" + url.PathEscape(name)
}

func datasetWithdrawPath(team, name string) string { return datasetPath(team, name) + "/delete" }

// datasetForm is what was typed about a data set. Its source is "volume/NAME", "claim/CLUSTER" or "bucket".
type datasetForm struct{ name, title, note, source, claim, subPath, bucket, secret, gib string }

func datasetTyped(c echo.Context) datasetForm {
	return datasetForm{c.FormValue("name"), c.FormValue("title"), c.FormValue("note"), c.FormValue("source"),
		c.FormValue("claim"), c.FormValue("subPath"), c.FormValue("bucket"), c.FormValue("secret"), c.FormValue("gib")}
}

const (
	volumeSource = "volume/"
	claimSource  = "claim/"
	bucketSource = "bucket"
)

func (f datasetForm) draft(team string) workload.DatasetDraft {
	d := workload.DatasetDraft{Team: team, Name: f.name, Title: f.title, Note: f.note, SubPath: f.subPath}
	if volume, is := strings.CutPrefix(f.source, volumeSource); is {
		d.Volume = volume // whatever was typed into the field of a claim before
		return d
	}
	if f.source == bucketSource {
		d.SubPath = ""
		d.Bucket, d.Secret = page.OrElse(strings.TrimSpace(f.bucket), "s3://"), f.secret
		d.GiB, _ = strconv.Atoi(strings.TrimSpace(f.gib)) // 0 is refused
		return d
	}
	d.Cluster, d.Claim = strings.TrimPrefix(f.source, claimSource), f.claim
	return d
}

func datasetFilled(d workload.Dataset) datasetForm {
	f := datasetForm{name: d.Name, title: d.Title, note: d.Note, source: claimSource + d.Source.Cluster,
		claim: d.Source.Claim, subPath: d.Source.SubPath}
	if d.Source.Volume != "" {
		f.source = volumeSource + d.Source.Volume
	}
	if d.Source.Bucket != "" {
		f.source, f.bucket, f.secret, f.gib = bucketSource, d.Source.Bucket, d.Source.Secret, strconv.Itoa(d.Source.GiB)
	}
	return f
}

// datasets answers: what does the team offer to read, and who has it; and for owners: what can I change.
func (w *Pages) datasets(k page.Call) (page.View, error) {
	return w.datasetsView(k, k.Get("name"), datasetForm{}, nil)
}

func (w *Pages) datasetsView(k page.Call, team string, f datasetForm, problems []fault.Field) (page.View, error) {
	e, err := w.Tenants.Visible(k.Actor, team)
	if err != nil {
		return page.View{}, err
	}
	sets, err := w.Workloads.Datasets(k.Ctx, k.Actor, team)
	if err != nil {
		return page.View{}, err
	}
	say := k.Words
	title := say.S("team.datasets")
	m := teamview.DatasetsModel{Header: ui.HeaderModel{Title: say.S("team.heading", "Team", e.Display()),
		Crumbs: teamCrumbs(k, e, title)}, Tabs: blocks.TeamTabs(k, team, page.DatasetsPath(team)),
		Errors: page.FormErrors(say, problems)}
	for _, d := range sets {
		m.Datasets = append(m.Datasets, datasetModel(k, d))
	}
	if identity.Can(k.Actor, identity.ChangeAssets, identity.Resource{Tenant: team}) {
		form, err := w.datasetForm(k, team, f, problems)
		if err != nil {
			return page.View{}, err
		}
		form.Action = page.DatasetsPath(team)
		m.Add = &form
	}
	return page.View{Title: title, Nav: page.TeamPlace(k, team), Wide: true, Body: teamview.Datasets(m)}, nil
}

func datasetModel(k page.Call, d workload.OfferedDataset) teamview.DatasetModel {
	say := k.Words
	detail := d.ByName
	if d.Source.Cluster != "" {
		detail = say.S("team.volume_by", "Cluster", d.Source.Cluster, "By", d.ByName)
	}
	m := teamview.DatasetModel{ID: "dataset-" + page.Slug(d.Team+"-"+d.Name), Name: d.Name, Title: d.Called(),
		Path: d.Path(), Note: d.Note, Source: ui.StackModel{Title: sourceWords(say, d.Dataset),
			Detail: detail}}
	if d.GiB > 0 {
		m.Size = say.GiB(float64(d.GiB))
	}
	for _, u := range d.Users {
		label := u.Name + " · " + u.OwnerName
		if !u.Observed.PodPresent {
			label = say.S("team.volume_user_still", "User", label)
		}
		m.Users = append(m.Users, teamview.VolumeUserModel{Label: label, Href: page.WorkloadPath(u.ID)})
	}
	if identity.Can(k.Actor, identity.ChangeAssets, identity.Resource{Tenant: d.Team}) {
		m.Change, m.Withdraw = datasetPath(d.Team, d.Name), datasetWithdrawPath(d.Team, d.Name)
	}
	return m
}

// sourceWords are where the files of a data set are.
func sourceWords(say page.Words, d workload.Dataset) string {
	if d.Source.Volume != "" {
		return path.Join(workload.SharedDir, d.Source.Volume, d.Source.SubPath)
	}
	if d.Source.Bucket != "" {
		return d.Source.Bucket
	}
	return say.S("team.dataset_on_claim", "Claim", path.Join(d.Source.Claim, d.Source.SubPath))
}

func (w *Pages) datasetForm(k page.Call, team string, f datasetForm, problems []fault.Field) (teamview.DatasetFormModel,
	error) {
	volumes, err := w.Workloads.TeamVolumes(k.Ctx, k.Actor, team)
	if err != nil {
		return teamview.DatasetFormModel{}, err
	}
	say, sharing := k.Words, w.Workloads.Sharing()
	field := func(value string, names ...string) teamview.FieldModel {
		m := teamview.FieldModel{Value: value}
		for _, name := range names {
			m.Error = page.OrElse(m.Error, page.WrongIn(say, problems, name))
		}
		return m
	}
	m := teamview.DatasetFormModel{Name: field(f.name, "name"), Title: field(f.title, "title"),
		Note:   field(f.note, "note"),
		Source: field(f.source, "source", "volume", "cluster"), Claim: field(f.claim, "claim"),
		SubPath: field(f.subPath, "subPath")}
	for _, v := range volumes {
		if !v.PendingDeletion() {
			m.Sources = append(m.Sources, ui.OptionModel{Value: volumeSource + v.Share.Name, Label: strings.Join([]string{
				path.Join(workload.SharedDir, v.Share.Name), v.Cluster, say.GiB(float64(v.GiB))}, " · ")})
		}
	}
	for _, cluster := range sharing.Clusters {
		m.Sources = append(m.Sources, ui.OptionModel{Value: claimSource + cluster,
			Label: say.S("team.dataset_claim_on", "Cluster", cluster)})
	}
	if sharing.BucketImage != "" {
		secrets, err := w.Workloads.BucketSecrets(k.Ctx, k.Actor, team)
		if err != nil {
			return m, err
		}
		m.Sources = append(m.Sources, ui.OptionModel{Value: bucketSource, Label: say.S("team.dataset_from_bucket")})
		m.Buckets = &teamview.BucketFieldsModel{Bucket: field(f.bucket, "bucket"), Secret: field(f.secret, "secret"),
			GiB: field(f.gib, "gib"), Secrets: secretOptions(say, secrets)}
	}
	namespace, _ := sharing.Namespace(team)
	m.Hint = say.S("team.dataset_claim_hint", "Namespace", namespace)
	return m, nil
}

func secretOptions(say page.Words, names []string) []ui.OptionModel {
	if len(names) == 0 {
		return []ui.OptionModel{{Label: say.S("team.dataset_bucket_no_secret")}}
	}
	options := make([]ui.OptionModel, len(names))
	for i, name := range names {
		options[i] = ui.OptionModel{Value: name, Label: name}
	}
	return options
}

func (w *Pages) datasetAdd(c echo.Context) error {
	k, team, f := w.CallOf(c), c.Param("name"), datasetTyped(c)
	_, err := w.Workloads.OfferDataset(k.Ctx, k.Actor, f.draft(team))
	if err == nil {
		return w.Done(c, "dataset-offered", page.DatasetsPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.datasetsView(k, team, f, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.datasetsPage().Name}, v, page.StatusOf(err))
}

// ownDataset is a data set of a team for those who may change it.
func (w *Pages) ownDataset(k page.Call, team, name string) (workload.OfferedDataset, error) {
	sets, err := w.Workloads.Datasets(k.Ctx, k.Actor, team)
	if err != nil {
		return workload.OfferedDataset{}, err
	}
	i := slices.IndexFunc(sets, func(d workload.OfferedDataset) bool { return d.Name == name })
	switch {
	case i < 0:
		return workload.OfferedDataset{}, fault.New(fault.NotFound, i18n.T("dataset.not_found"))
	case !identity.Can(k.Actor, identity.ChangeAssets, identity.Resource{Tenant: team}):
		return workload.OfferedDataset{}, fault.New(fault.Forbidden, i18n.T("tenant.owners_only"))
	}
	return sets[i], nil
}

// datasetEdit is the form of one data set.
func (w *Pages) datasetEdit(k page.Call) (page.View, error) {
	d, err := w.ownDataset(k, k.Get("name"), k.Get("dataset"))
	if err != nil {
		return page.View{}, err
	}
	return w.datasetEditView(k, d, datasetFilled(d.Dataset), nil)
}

func (w *Pages) datasetEditView(k page.Call, d workload.OfferedDataset, f datasetForm,
	problems []fault.Field) (page.View, error) {
	e, err := w.Tenants.Visible(k.Actor, d.Team)
	if err != nil {
		return page.View{}, err
	}
	form, err := w.datasetForm(k, d.Team, f, problems)
	if err != nil {
		return page.View{}, err
	}
	form.Changes, form.Action, form.Back = true, datasetPath(d.Team, d.Name), page.DatasetsPath(d.Team)
	title := k.Words.S("team.dataset_change_name", "Name", d.Name)
	m := teamview.DatasetPageModel{Header: ui.HeaderModel{Title: title, Crumbs: datasetCrumbs(k, e.Name, d.Name)},
		Errors: page.FormErrors(k.Words, problems), Form: form}
	return page.View{Title: title, Nav: page.TeamPlace(k, d.Team), Body: teamview.ChangeDataset(m)}, nil
}

func datasetCrumbs(k page.Call, team, name string) []ui.CrumbModel {
	return []ui.CrumbModel{{Label: k.Words.S("team.title"), Href: "/team"}, {Label: team, Href: page.TeamPath(team)},
		{Label: k.Words.S("team.datasets"), Href: page.DatasetsPath(team)}, {Label: name}}
}

func (w *Pages) datasetSave(c echo.Context) error {
	k, team, name, f := w.CallOf(c), c.Param("name"), c.Param("dataset"), datasetTyped(c)
	f.name = name
	_, err := w.Workloads.ChangeDataset(k.Ctx, k.Actor, f.draft(team))
	if err == nil {
		return w.Done(c, "dataset-changed", page.DatasetsPath(team))
	}
	if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Conflict) {
		return err
	}
	d, viewErr := w.ownDataset(k, team, name)
	if viewErr != nil {
		return viewErr
	}
	v, viewErr := w.datasetEditView(k, d, f, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.datasetPage().Name}, v, page.StatusOf(err))
}

// datasetWithdrawAsk says what is taken away and what stays.
func (w *Pages) datasetWithdrawAsk(k page.Call) (page.View, error) {
	return w.datasetWithdrawView(k, k.Get("name"), k.Get("dataset"), nil)
}

func (w *Pages) datasetWithdrawView(k page.Call, team, name string, problems []fault.Field) (page.View, error) {
	d, err := w.ownDataset(k, team, name)
	if err != nil {
		return page.View{}, err
	}
	m := teamview.WithdrawModel{Path: d.Path(), Crumbs: datasetCrumbs(k, team, name),
		Errors: page.FormErrors(k.Words, problems), Action: datasetWithdrawPath(team, name), Back: page.DatasetsPath(team)}
	return page.View{Title: k.Words.S("team.dataset_withdraw_title", "Name", m.Path), Nav: page.TeamPlace(k, team),
		Body: teamview.Withdraw(m)}, nil
}

func (w *Pages) datasetWithdraw(c echo.Context) error {
	k, team, name := w.CallOf(c), c.Param("name"), c.Param("dataset")
	err := w.Workloads.WithdrawDataset(k.Ctx, k.Actor, team, name)
	if err == nil {
		return w.Done(c, "dataset-withdrawn", page.DatasetsPath(team))
	}
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	v, viewErr := w.datasetWithdrawView(k, team, name, page.ProblemsOf(err))
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, page.Page{Name: w.datasetWithdrawPage().Name}, v, page.StatusOf(err))
}
