package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/offer"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// newSite puts together what the services decide by, apart from the catalog, which can change. All problems are in
// one error.
func newSite(c config.Config) (request.Site, error) {
	rules, problems := policy.Compile(c.Rules)
	clusters := make([]string, len(c.Clusters))
	var kserve, jobSet, groups, keda, proxied []string
	for i, k := range c.Clusters {
		clusters[i] = k.Name
		if k.Access.KServe {
			kserve = append(kserve, k.Name)
		}
		if k.Access.JobSet {
			jobSet = append(jobSet, k.Name)
		}
		if k.Access.LeaderWorkerSet {
			groups = append(groups, k.Name)
		}
		if k.Access.KEDA {
			keda = append(keda, k.Name)
		}
		if k.PodAccess == "apiserver" {
			proxied = append(proxied, k.Name)
		}
	}
	return request.Site{
		Directory: tenant.Directory{Tenants: c.Tenants, Platform: c.Platform, Named: c.TeamGroups, ImagesFrom: c.TeamImages,
			Namespaces: c.NamespaceRule()},
		Policy: rules, Pools: c.LicensePools,
		Clusters: clusters, KServe: kserve, JobSet: jobSet, LeaderWorkerSet: groups, KEDA: keda, Proxied: proxied,
		Limits: c.Limits, Mirror: c.ImageMirror,
		Scans:    c.ImageScans,
		GitImage: c.WorkloadSecrets.GitImage, BucketImage: c.WorkloadSecrets.RcloneImage,
		External: c.ExternalAppsDomain != "",
	}, errors.Join(problems...)
}

// initialCatalog is version 0: the file, or the first set. That names a license pool which a site need not have.
func initialCatalog(c config.Config) (offer.Initial, error) {
	text, pools := catalog.DefaultYAML(), slices.Clone(c.LicensePools)
	if c.CatalogFile != "" {
		data, err := os.ReadFile(c.CatalogFile)
		if err != nil {
			return offer.Initial{}, fmt.Errorf("catalogFile: %w", err)
		}
		text = data
	} else {
		for _, p := range catalog.DefaultPools() {
			if !slices.ContainsFunc(pools, func(has license.Pool) bool { return has.Name == p.Name }) {
				pools = append(pools, p)
			}
		}
	}
	first, found := offer.NewInitial(string(text), pools...)
	var problems []error
	for _, p := range found {
		problems = append(problems, fmt.Errorf("%s: %s", c.CatalogFile, p))
	}
	if is := first.Currency(); is != "" && is != c.Currency {
		problems = append(problems, fmt.Errorf("currency: the catalog's prices are in %s, the configuration says %s; "+
			"amounts of different currencies are never added", is, c.Currency))
	}
	return first, errors.Join(problems...)
}

// takeUpCatalog reads the newest revision, and looks whether quotas name sizes that there are. Once somebody has
// edited the catalog such a quota is only a warning: taking a size out on a page must not keep the portal from
// starting.
func (a *App) takeUpCatalog(ctx context.Context) error {
	first := a.offer.Catalog()
	if err := a.offer.Refresh(ctx); err != nil {
		return err
	}
	for _, m := range a.offer.Mismatches() { // a page says it too: what runs goes on
		a.log.WarnContext(ctx, "a license pool does not fit its size", "size", m.Size.Name, "pool", m.Pool.Name,
			"series", m.Series)
	}
	now, edited := a.offer.Catalog(), a.offer.Version() > 0
	var problems []error
	for _, t := range a.site.Directory.Tenants {
		for _, size := range slices.Sorted(maps.Keys(t.Quota)) {
			if size, _ = tenant.ParseQuotaKey(size); size == tenant.EverySize {
				continue
			}
			_, was := first.Size(size)
			if _, is := now.Size(size); is || was && edited {
				continue
			}
			problems = append(problems, fmt.Errorf("tenants %s: quota names the size %q, which the catalog does not have",
				t.Name, size))
		}
	}
	if edited {
		for _, p := range problems {
			a.log.WarnContext(ctx, p.Error())
		}
		return nil
	}
	return errors.Join(problems...)
}

// followCatalog loads what other processes save as soon as the outbox tells of it.
func (a *App) followCatalog(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicCatalog)
	defer done()
	return a.offer.Follow(ctx, changed, 30*time.Second)
}

// followRules loads rules that other processes save.
func (a *App) followRules(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicRules)
	defer done()
	return a.rules.Follow(ctx, changed, 30*time.Second)
}

// followLogLevel loads what another process set, and ends an override within 5 s after its time.
func (a *App) followLogLevel(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicLogLevel)
	defer done()
	return a.levels.Follow(ctx, changed, 5*time.Second)
}

// followDelegations loads delegations that other processes create or end.
func (a *App) followDelegations(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicDelegation)
	defer done()
	return a.delegations.Follow(ctx, changed, 30*time.Second)
}

// followPrices loads prices that other processes save.
func (a *App) followPrices(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicPrices)
	defer done()
	return a.prices.Follow(ctx, changed, 30*time.Second)
}

// askLicensesFor is how long a license server has to answer.
const askLicensesFor = 20 * time.Second

// licensesEvery is how often license servers are asked.
func (a *App) licensesEvery() time.Duration {
	return cmp.Or(a.config.LicensePollInterval.Std(), license.DefaultPollInterval)
}

// followTenants loads tenants that other processes save.
func (a *App) followTenants(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicTenant)
	defer done()
	return a.tenants.Follow(ctx, changed, 30*time.Second)
}

// followLicenses loads entitlements and seats that other processes save.
func (a *App) followLicenses(ctx context.Context) error {
	changed, done := a.publish(ctx, live.TopicLicense)
	defer done()
	return a.licenses.Follow(ctx, changed, 30*time.Second)
}

// publish says that something of a topic changed, once for many changes.
func (a *App) publish(ctx context.Context, topic live.Topic) (changed chan struct{}, done func()) {
	changes := a.hub.Follow(func(c live.Change) bool { return c.Topic == topic })
	changed = make(chan struct{}, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changes.C:
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}
	}()
	return changed, func() { changes.Close() }
}

// sharing is what volumes of teams are decided by.
func (a *App) sharing() workload.Sharing {
	s := workload.Sharing{MostGiB: a.config.Limits.MaxStorageGiB, BucketImage: a.config.WorkloadSecrets.RcloneImage,
		Namespace: func(team string) (string, bool) {
			t, ok := a.tenants.Directory().ByName(team)
			return t.NamespaceName(), ok && !t.Disabled
		}}
	for _, k := range a.config.Clusters {
		s.Clusters = append(s.Clusters, k.Name)
		if k.Access.Snapshots {
			s.Snapshots = append(s.Snapshots, k.Name)
		}
		for _, class := range k.SharedStorage {
			s.Offered = append(s.Offered, workload.Offered{Cluster: k.Name, Class: class})
		}
	}
	return s
}

// teamSecrets are the secrets of a team without their values.
func (a *App) teamSecrets(ctx context.Context, team string) ([]workload.SecretUse, error) {
	items, err := a.store.SecretsOf(ctx, secret.Owner{Tenant: team})
	uses := make([]workload.SecretUse, len(items))
	for i, item := range items {
		uses[i] = item.Use()
	}
	return uses, err
}

// limits lets workload.Service ask what a team may hold.
type limits struct{ site func() request.Site }

func (l limits) QuotaLimits(name, size, cluster string) []tenant.Limit {
	t, _ := l.site().Directory.ByName(name)
	return t.Limits(size, cluster)
}

func (l limits) Pools() []license.Pool { return l.site().Pools }

func (l limits) ImageGone(name string, i catalog.Image) i18n.Text {
	return l.site().CustomGone(name, i)
}

func (l limits) TenantDisabled(name string) bool {
	t, ok := l.site().Directory.ByName(name)
	return !ok || t.Disabled
}
