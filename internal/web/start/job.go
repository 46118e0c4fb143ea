package start

import (
	"slices"
	"strconv"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/start"
)

// jobFields are what only a job has. How many pods it has is asked for where an image can have several.
func (w *Pages) jobFields(form blocks.StartForm, wrong func(string) string) *start.JobModel {
	m := &start.JobModel{Command: start.FieldModel{Value: form.Command, Error: wrong("command")},
		Env:       start.FieldModel{Value: form.Env, Error: wrong("env")},
		Retries:   start.FieldModel{Value: page.OrElse(form.Retries, "0"), Error: wrong("retries")},
		TimeLimit: start.FieldModel{Value: form.TimeLimit, Error: wrong("timeLimit")}}
	problem := wrong("nodes")
	if slices.ContainsFunc(w.Images(form), catalog.Image.NeedsJobSet) || problem != "" {
		m.Nodes = &start.FieldModel{Value: page.OrElse(form.Nodes, "1"), Error: problem}
		if most := w.Site().Limits.MaxReplicas; most > 0 {
			m.NodesMost = strconv.Itoa(most)
		}
	}
	return m
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
	form = form.LikeJob(item).LikeGit(item.Git)
	form.Secrets = blocks.SecretNames(k.Actor.Person.ID, item.Owner, item.Secrets)
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

// likeModel says what a job has of the workload after whose pattern it is asked for; nil for none.
func (w *Pages) likeModel(k page.Call, form blocks.StartForm) (*start.LikeModel, error) {
	_, item, err := w.like(k, form, false)
	if item == nil || err != nil {
		return nil, err
	}
	m := &start.LikeModel{Name: item.Name, Job: item.Kind == catalog.Job}
	if item.Volume == "" {
		return m, nil
	}
	used, err := w.usedBy(k, item.Volume)
	if used != "" {
		m.Taken = item.Volume
	}
	return m, err
}
