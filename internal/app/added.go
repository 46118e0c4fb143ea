package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/agentreport"
	"github.com/gpu-portal/gpu-portal/internal/cluster"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/live"
)

// takeUpClusters adds to the clusters of the configuration those that are kept in the portal. One that cannot be used
// is told in the log and left out.
func (a *App) takeUpClusters(ctx context.Context) error {
	a.added = cluster.New(cluster.Options{Store: a.store, Keys: a.keyring, Configured: names(a.config.Clusters),
		Settings: func(text string) error {
			_, err := config.AddedCluster("cluster", text)
			return err
		},
		Test: a.testCluster, InUse: func() []string { return a.site.Clusters }, Now: a.now, Logger: a.log})
	var err error
	if a.mark, err = a.added.Mark(ctx); err != nil {
		return err
	}
	loaded, err := a.added.Load(ctx)
	if err != nil {
		return err
	}
	all := slices.Clone(a.config.Clusters)
	for _, is := range loaded {
		k, err := a.addedCluster(is.Name, is.Access, is.Settings)
		if err != nil {
			a.log.ErrorContext(ctx, "an added cluster cannot be used", "cluster", is.Name, "error", err)
			continue
		}
		all = append(all, k)
	}
	if len(all) == len(a.config.Clusters) {
		return nil
	}
	a.config.Clusters = all
	if a.site, err = newSite(a.config); err != nil {
		return err
	}
	if a.clusters, err = connect(a.config, a.log, a.freshMetrics, a.namespaces, a.nodeIndex); err != nil {
		return err
	}
	a.agents, err = newAgents(a.config, agentreport.Options{Now: a.now, Logger: a.log}, a.freshAgents)
	return err
}

func names(list []config.Cluster) []string {
	all := make([]string, len(list))
	for i, k := range list {
		all[i] = k.Name
	}
	return all
}

// addedCluster is one as the configuration would have it. That clients can be made of it is tried here.
func (a *App) addedCluster(name string, access cluster.Access, settings string) (config.Cluster, error) {
	k, err := config.AddedCluster(name, settings)
	if err != nil {
		return k, err
	}
	guard := cluster.Guard{Networks: a.config.AddedNetworks()}
	k.Added = &config.Added{Config: access.Config(guard), Metrics: guard.Transport(), Secrets: access.Secrets()}
	alone := a.config
	alone.Clusters = []config.Cluster{k}
	if _, err := connect(alone, a.log, nil, nil, nil); err != nil {
		return k, err
	}
	_, err = newAgents(alone, agentreport.Options{Now: a.now, Logger: a.log}, nil)
	return k, err
}

// testCluster asks what doctor asks of each cluster, with the rights of a whole portal.
func (a *App) testCluster(ctx context.Context, name string, access cluster.Access, settings string) doctor.Facts {
	k, err := a.addedCluster(name, access, settings)
	if err != nil {
		return doctor.Facts{At: a.now(), Clusters: []doctor.Cluster{{Name: name, Err: err.Error()}}}
	}
	c := a.config
	c.Clusters, c.Roles = []config.Cluster{k}, []string{config.RoleWeb, config.RoleGateway, config.RoleController}
	o := diagnosis(c, a.process, a.firstSpace())
	only := doctor.Options{Process: a.process, Clusters: o.Clusters, Now: a.now,
		Secrets: append(o.Secrets, access.Secrets()...)}
	return doctor.Gather(ctx, only)
}

// clustersEvery is how often a process looks whether its clusters are still those that the portal knows.
const clustersEvery = 30 * time.Second

// followClusters ends the work of this process when clusters were added, replaced or removed: what it is put together
// of knows them from the start. Replicas do so one after the other, as far as chance has it.
func (a *App) followClusters(ctx context.Context) error {
	if a.rewire == nil {
		return nil
	}
	changed, done := a.publish(ctx, live.TopicCluster)
	defer done()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(clustersEvery):
		}
		mark, err := a.added.Mark(ctx)
		if err != nil && ctx.Err() == nil {
			a.log.WarnContext(ctx, "look for clusters that were added", "error", err)
		}
		if err != nil || mark == a.mark {
			continue
		}
		wait := time.Duration(0)
		if a.store.Shared() {
			wait = rand.N(spread)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		a.log.InfoContext(ctx, fmt.Sprintf("clusters were added, replaced or removed: this process begins anew, after %s",
			wait.Round(time.Second)))
		a.rewire()
		return nil
	}
}

// spread is over how long replicas begin anew.
const spread = 15 * time.Second
