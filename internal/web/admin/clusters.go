package admin

import (
	"net/url"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	clustersview "github.com/gpu-portal/gpu-portal/views/clusters"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

func (w *Pages) clustersPage() page.Page {
	return page.Page{Name: "clusters", Build: w.clusters, Topics: page.Topics{live.TopicCluster, live.TopicSystem}}
}

// typedCluster is what somebody has filled in, and what is wrong with it.
type typedCluster struct {
	draft    cluster.Draft
	replaces string
	problems []fault.Field
}

// clusters answers: which clusters are there, does each answer, and how is another one added.
func (w *Pages) clusters(k page.Call) (page.View, error) {
	return w.clustersView(k, typedCluster{replaces: k.Get("replace")})
}

func (w *Pages) clustersView(k page.Call, t typedCluster) (page.View, error) {
	list, err := w.Clusters.List(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	manages := w.Clusters.MayManage(k.Actor)
	m := clustersview.PageModel{Errors: page.FormErrors(k.Words, t.problems), List: clusterList(k.Words, list, manages)}
	if manages {
		m.Form = clusterForm(k.Words, list, t)
	}
	return page.View{Title: k.Words.S("clusters.title"), Nav: page.ClustersPath, Wide: true,
		Body: clustersview.Page(m), Parts: []page.Part{{ID: m.List.ID, Draw: func(say page.Words) templ.Component {
			return clustersview.List(clusterList(say, list, manages))
		}}}}, nil
}

var clusterKinds = map[cluster.State]ui.Kind{cluster.Hidden: ui.Warning, cluster.Pending: ui.Progress,
	cluster.Unknown: ui.Unknown, cluster.Reachable: ui.OK, cluster.Unreachable: ui.Danger}

func clusterList(say page.Words, list []cluster.Listed, manages bool) clustersview.ListModel {
	m := clustersview.ListModel{ID: "clusters"}
	for _, c := range list {
		r := clustersview.RowModel{Name: c.Name, Detail: say.S("clusters.of_configuration"), Error: c.Err, Version: c.Kube,
			State: ui.StateModel{Kind: clusterKinds[c.State()], Word: say.S("clusters.state." + string(c.State()))}}
		if c.Asked {
			r.Checked = new(say.Ago(c.CheckedAt))
		}
		if c.Nodes > 0 {
			r.Nodes = say.S("clusters.nodes", "Count", c.Nodes, "WithGPU", c.WithGPU)
			r.GPUs = say.S("clusters.gpus", "Count", c.GPUs)
		}
		if c.Added {
			r.Detail, r.By, r.Added = c.Server, c.AdderName, new(say.Ago(c.AddedAt))
			if manages {
				r.Replace = page.ClustersPath + "?replace=" + url.QueryEscape(c.Name) + "#cluster"
				r.Remove = page.ClustersPath + "/" + url.PathEscape(c.Name) + "/remove"
			}
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}

func clusterForm(say page.Words, list []cluster.Listed, t typedCluster) *clustersview.FormModel {
	m := &clustersview.FormModel{Action: page.ClustersPath, Back: page.ClustersPath, Name: t.draft.Name,
		Settings: t.draft.Settings, NameFail: page.WrongIn(say, t.problems, "name"),
		KubeconfigFail: page.WrongIn(say, t.problems, "kubeconfig"),
		SettingsFail:   page.WrongIn(say, t.problems, "settings"),
		MostKubeconfig: cluster.MaxKubeconfig, MostSettings: cluster.MaxSettings}
	if slices.ContainsFunc(list, func(c cluster.Listed) bool { return c.Added && c.Name == t.replaces }) {
		m.Replaces, m.Action = t.replaces, page.ClustersPath+"/"+url.PathEscape(t.replaces)
	}
	return m
}

func clusterDraft(c echo.Context, name string) cluster.Draft {
	return cluster.Draft{Name: name, Kubeconfig: c.FormValue("kubeconfig"), Settings: c.FormValue("settings")}
}

func (w *Pages) clusterAdd(c echo.Context) error {
	k, t := w.CallOf(c), typedCluster{draft: clusterDraft(c, c.FormValue("name"))}
	_, err := w.Clusters.Add(k.Ctx, k.Actor, t.draft)
	return w.clusterSaved(c, k, t, "cluster-added", err)
}

func (w *Pages) clusterReplace(c echo.Context) error {
	k, t := w.CallOf(c), typedCluster{draft: clusterDraft(c, c.Param("name")), replaces: c.Param("name")}
	_, err := w.Clusters.Replace(k.Ctx, k.Actor, t.draft)
	return w.clusterSaved(c, k, t, "cluster-replaced", err)
}

// clusterSaved says that it is done, or what is wrong beside what was typed.
func (w *Pages) clusterSaved(c echo.Context, k page.Call, t typedCluster, flash string, err error) error {
	if err == nil {
		return w.Done(c, flash, page.ClustersPath)
	}
	if !fault.Is(err, fault.Invalid) && (!fault.Is(err, fault.Conflict) || len(fault.As(err).Fields) == 0) {
		return err
	}
	t.problems = page.ProblemsOf(err)
	v, viewErr := w.clustersView(k, t)
	if viewErr != nil {
		return viewErr
	}
	return w.Reply(c, k, w.clustersPage(), v, page.StatusOf(err))
}

func (w *Pages) clusterRemove(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Clusters.Remove(k.Ctx, k.Actor, c.Param("name")); err != nil {
		return err
	}
	return w.Done(c, "cluster-removed", page.ClustersPath)
}
