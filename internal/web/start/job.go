package start

import (
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// jobFields are what only a job has.
func jobFields(say page.Words, form blocks.StartForm, wrong func(string) string) []ui.FieldModel {
	return []ui.FieldModel{
		{Name: "command", Kind: ui.TextareaField, Rows: 2, Mono: true, Label: say.S("start.command"), Value: form.Command,
			Error: wrong("command"), Hint: say.S("start.command_hint"), Placeholder: "python train.py --epochs 3",
			MaxLength: 16 << 10, Autocomplete: "off", Test: "command"},
		{Name: "env", Kind: ui.TextareaField, Rows: 2, Mono: true, Label: say.S("start.env"), Value: form.Env,
			Error: wrong("env"), Hint: say.S("start.env_hint"), Placeholder: "EPOCHS=3", MaxLength: 32 << 10,
			Autocomplete: "off", Test: "env"},
		{Name: "retries", Label: say.S("start.retries"), Value: page.OrElse(form.Retries, "0"), Error: wrong("retries"),
			Hint: say.S("start.retries_hint"), Short: true, MaxLength: 2, Autocomplete: "off", Test: "retries"},
		{Name: "timeLimit", Label: say.S("start.time_limit"), Value: form.TimeLimit, Error: wrong("timeLimit"),
			Hint: say.S("start.time_limit_hint"), Short: true, MaxLength: 32, Autocomplete: "off", Test: "time-limit"},
	}
}

// like finds the workload after whose pattern a job is asked for, and with fill takes over what it has. Only who may
// change it sees its variables; for everybody else the form is as it is without.
func (w *Pages) like(k page.Call, form blocks.StartForm, fill bool) (blocks.StartForm, *workload.Workload, error) {
	if form.Like == "" {
		return form, nil, nil
	}
	item, err := w.Workloads.Get(k.Ctx, k.Actor, workload.ID(form.Like))
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && !identity.Can(k.Actor, identity.ChangeWorkload, item.Resource()):
		form.Like = ""
		return form, nil, nil
	case err != nil:
		return form, nil, err
	}
	if !fill {
		return form, &item, nil
	}
	form = form.LikeJob(item)
	if item.Volume != "" {
		used, err := w.usedBy(k, item.Volume)
		if err == nil && used == "" {
			form.Volume = item.Volume
		}
		return form, &item, err
	}
	return form, &item, nil
}

// usedBy is which workload has storage now; "" for none. What is gone is used by the one that had it.
func (w *Pages) usedBy(k page.Call, volume string) (workload.ID, error) {
	volumes, err := w.Workloads.Volumes(k.Ctx, k.Actor, true)
	for _, v := range volumes {
		if v.Name == volume && !v.Deleted {
			return v.Workload, err
		}
	}
	return "-", err
}

// likeNotice says what a job has of the workload after whose pattern it is asked for; nil for none.
func (w *Pages) likeNotice(k page.Call, form blocks.StartForm) (*ui.NoticeModel, error) {
	_, item, err := w.like(k, form, false)
	if item == nil || err != nil {
		return nil, err
	}
	n := &ui.NoticeModel{Kind: ui.Info, Title: k.Words.S("start.like_again", "Name", item.Name),
		Body: k.Words.S("start.like_body"), Test: "start-like"}
	if item.Kind != catalog.Job {
		n.Title = k.Words.S("start.like_notebook", "Name", item.Name)
	}
	if item.Volume == "" {
		return n, nil
	}
	used, err := w.usedBy(k, item.Volume)
	if used != "" {
		n.Body = k.Words.S("start.like_storage", "Volume", item.Volume)
	}
	return n, err
}
