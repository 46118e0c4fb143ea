package reconcile

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/trace"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Site is the catalog and the tenants; the controller asks for it each time, so that a change takes effect at once.
type Site struct {
	Catalog   catalog.Catalog
	Directory tenant.Directory
}

// Prober asks a notebook server for its activity. Any error means "unknown", and the previous state stays.
type Prober interface {
	Probe(ctx context.Context, w workload.Workload) (*workload.Activity, error)
}

// Fleet records how many GPU hours cards were held, free or broken.
type Fleet interface {
	// Count takes down what a cluster is seen to have; an older sample than the last one changes nothing.
	Count(ctx context.Context, s usage.Sample) error
}

// Options are the dependencies and intervals of the controller; what may be nil says so.
type Options struct {
	Store    Store
	Clusters []Cluster
	Site     func() Site
	Prices   func() usage.PriceList // nil: what runs costs what was approved
	// Seats are the license seats that a workload holds where it is, and with whom; nil: each holds its own.
	Seats    func(w workload.Workload) usage.Seats
	KubeSite func(cluster string) kube.Site
	Token    func(w workload.Workload) string // the secret that the gateway shows to the workload
	// LoadToken is that by which KEDA asks the portal for the load of an endpoint.
	LoadToken func(w workload.Workload) string
	// Secrets are the values of a workload's secrets; an error leaves what is in the cluster. nil: there are none.
	Secrets func(ctx context.Context, w workload.Workload) (map[string][]byte, error)
	// KeyLimits are the limits of the keys that open an endpoint; an error leaves what is in the cluster. nil: none.
	KeyLimits func(ctx context.Context, id workload.ID) (endpointkey.LimitValues, error)
	Prober    Prober // nil: activity is not asked for
	// Cards is what the node agents of a cluster say of the cards, by node; nil: there are none.
	Cards func(cluster string) map[string][]inventory.PhysicalCard
	// Quarantine is what administrators have called bad in a cluster; nil: nothing.
	Quarantine func(cluster string) inventory.Quarantine
	// Forecasts estimate when what starts will be ready; nil: no starts are recorded.
	Forecasts Forecasts
	Fleet     Fleet             // nil: the hours of the cards are not counted
	Shared    Shared            // nil: nobody is told
	Warnings  workload.Warnings // of the end of a lease; default workload.LeaseWarnings
	// Trusted reports whether the time is beyond doubt, before a lease ends; nil: it is.
	Trusted  func(ctx context.Context) bool
	Watchdog *jobs.Watchdog // of every loop; nil: none
	Changes  *live.Follower // topics "workload", "volume" and "difference"; nil: by the full comparison only
	Now      func() time.Time
	Logger   *slog.Logger
	Workers  int                   // how many workloads are written to one cluster at once; default 16
	Metrics  prometheus.Registerer // nil: none
	Traces   trace.Provider        // zero: none
	Every    Intervals             // how often; zero values are usual
}

// Intervals is how often the controller does what no event asks for.
type Intervals struct {
	Compare    time.Duration // every living workload is compared with the cluster; default 5 minutes
	Confirm    time.Duration // an unchanged observation gets a new time; default 60 s
	Probe      time.Duration // the API server is asked whether it is ready; default 5 s
	Activity   time.Duration // notebooks are asked what they do; default 15 s
	Inventory  time.Duration // an unchanged snapshot gets a new time; default 60 s
	Debounce   time.Duration // changes of nodes and pods are gathered before a snapshot is built; default 2 s
	Volumes    time.Duration // volumes are removed and grown; default 60 s
	Checkpoint time.Duration // the checkpoint in a cluster is brought up to the database, see package drift; default 10 s
}

func (r Intervals) orDefault() Intervals {
	for field, usual := range map[*time.Duration]time.Duration{
		&r.Compare: 5 * time.Minute, &r.Confirm: time.Minute, &r.Probe: 5 * time.Second, &r.Activity: 15 * time.Second,
		&r.Inventory: time.Minute, &r.Debounce: 2 * time.Second, &r.Volumes: time.Minute, &r.Checkpoint: 10 * time.Second,
	} {
		if *field <= 0 {
			*field = usual
		}
	}
	return r
}

// Controller keeps clusters as the database wants them. Run may be called again after it has returned, such as when
// leadership comes back.
type Controller struct {
	o     Options
	meter *meter
	stats *stats

	mu           sync.Mutex
	loops        []*loop
	homes        map[workload.ID]*loop
	expectations map[workload.ID]int // rows of our own that the outbox has still to tell us
}

// New makes a controller; Run starts it.
func New(o Options) *Controller {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Workers <= 0 {
		o.Workers = 16
	}
	if o.Warnings == nil {
		o.Warnings = workload.LeaseWarnings()
	}
	o.Every = o.Every.orDefault()
	c := &Controller{o: o, meter: newMeter(o.Store, o.Prices, o.sku, o.Seats), stats: newStats(o.Metrics)}
	c.reset()
	return c
}

// reset forgets what a former run knew: another replica may have led in between.
func (c *Controller) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meter.forget()
	c.loops, c.homes, c.expectations = nil, map[workload.ID]*loop{}, map[workload.ID]int{}
	for _, cluster := range c.o.Clusters {
		c.loops = append(c.loops, newLoop(c, cluster))
	}
}

// Run works until the context ends. It returns an error only when it cannot begin.
func (c *Controller) Run(ctx context.Context) error {
	c.reset()
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, l := range c.all() {
		if err := l.prepare(); err != nil {
			return err
		}
		wg.Go(func() { l.run(ctx) })
	}
	wg.Go(func() { c.follow(ctx) })
	wg.Go(func() { c.compareAlways(ctx) })
	<-ctx.Done()
	return nil
}

// Revise tells that Site says something else of the teams now: a quota that was raised is raised in the clusters too,
// also while nothing else happens there.
func (c *Controller) Revise() {
	for _, l := range c.all() {
		l.tenants.revise()
	}
}

// Status says of each cluster whether it answers.
func (c *Controller) Status() []ClusterStatus {
	var list []ClusterStatus
	for _, l := range c.all() {
		list = append(list, l.status.get())
	}
	return list
}

// Waiting is how many workloads of each cluster wait for a pass now.
func (c *Controller) Waiting() map[string]int {
	depths := map[string]int{}
	for _, l := range c.all() {
		depths[l.name] = l.queue.Len()
	}
	return depths
}

// TakeStock makes a new inventory of a cluster soon, after its agents said something new.
func (c *Controller) TakeStock(cluster string) {
	for _, l := range c.all() {
		if l.name == cluster {
			l.dirty.fire()
		}
	}
}

func (c *Controller) all() []*loop {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loops
}

// follow wakes workloads whose rows changed. When changes were lost, everything is looked at.
func (c *Controller) follow(ctx context.Context) {
	if c.o.Changes == nil {
		return
	}
	beat := c.o.Watchdog.Begin(ctx, "changes", databaseWithin)
	defer beat.End()
	for {
		change, why := jobs.Await(ctx, beat, c.o.Changes.C, 0)
		if why == jobs.Ended {
			return
		}
		beat.Beat(ctx, databaseWithin)
		c.handleChange(ctx, change)
		if c.o.Changes.TakeLost() {
			c.resync()
			c.compare(ctx)
		}
	}
}

func (c *Controller) handleChange(ctx context.Context, change live.Change) {
	switch change.Topic {
	case "workload":
		if id := workload.ID(change.ID); !c.isExpected(id) {
			c.wake(ctx, id)
		}
	case "difference":
		for _, l := range c.all() {
			l.drifted.fire()
		}
	case "volume":
		for _, l := range c.all() {
			l.volumes.fire()
		}
	}
}

// expect is called before a save of our own, whose outbox row needs no pass, and gives what is to be called when
// the save has failed. It does not matter which of several rows is passed over: a spec that was committed before the
// save was read by it (else the save is a Conflict, and there is another pass), and one that was committed after it has
// a row of its own after ours.
func (c *Controller) expect(id workload.ID) (failed func()) {
	if c.o.Changes == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expectations[id]++
	return func() { c.isExpected(id) }
}

func (c *Controller) isExpected(id workload.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.expectations[id]
	if n > 1 {
		c.expectations[id] = n - 1
	} else {
		delete(c.expectations, id)
	}
	return n > 0
}

// resync drops all expectations after changes were lost: the list that follows reads every row anyway.
func (c *Controller) resync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expectations = map[workload.ID]int{}
}

// wake finds the cluster of a workload and puts it into that queue.
func (c *Controller) wake(ctx context.Context, id workload.ID) {
	c.mu.Lock()
	home := c.homes[id]
	c.mu.Unlock()
	if home == nil {
		w, err := c.o.Store.Workload(ctx, id)
		if err != nil {
			return // the full comparison finds it
		}
		if home = c.assign(w); home == nil {
			return
		}
	}
	home.queue.Add(id)
}

// assign notes where a workload lives; nil for a cluster that is not configured, and for what has ended.
func (c *Controller) assign(w workload.Workload) *loop {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.State == workload.Ended {
		delete(c.homes, w.ID)
		return nil
	}
	for _, l := range c.loops {
		if l.name == w.Cluster {
			c.homes[w.ID] = l
			return l
		}
	}
	return nil
}

func (c *Controller) compareAlways(ctx context.Context) {
	beat := c.o.Watchdog.Begin(ctx, "resync", databaseWithin)
	defer beat.End()
	for pause := time.Duration(0); pause == 0 || jobs.Sleep(ctx, beat, jitter(pause)); {
		beat.Beat(ctx, databaseWithin)
		pause = c.o.Every.Compare
		if !c.compare(ctx) {
			pause = time.Second // the database is away
		}
	}
}

// compare looks at every living workload. What is not in the database is not touched in the cluster.
func (c *Controller) compare(ctx context.Context) bool {
	living, err := c.o.Store.Living(ctx)
	if err != nil {
		if ctx.Err() == nil {
			c.o.Logger.ErrorContext(ctx, "list the living workloads", "error", err)
		}
		return false
	}
	for _, w := range living {
		if l := c.assign(w); l != nil {
			l.queue.Add(w.ID)
		}
	}
	return true
}

// Held reports whether some cluster carries more than the database knows.
func (c *Controller) Held() bool {
	return slices.ContainsFunc(c.all(), func(l *loop) bool { return l.gate.isHeld() })
}

// Fresh reports whether what is known of a cluster is fresh, and work goes on there.
func (c *Controller) Fresh(cluster string) bool {
	for _, l := range c.all() {
		if l.name == cluster {
			return l.acts() && l.gate.open()
		}
	}
	return false
}

// How long the loops may take until their next sign of life. A pass has a deadline; the database has one for each
// statement (store.Options.Statement).
const (
	databaseWithin = time.Minute
	passWithin     = 3 * time.Minute // of one workload, tenant or round of volumes: a slow API server is no hang
	snapshotWithin = 2 * time.Minute
	oneProbe       = 5 * time.Second // of one notebook
)

// bounded calls fn with the deadline of a pass.
func bounded(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	return fn(ctx)
}

// jitter is d and up to a tenth more, so that replicas and restarts do not march in step.
func jitter(d time.Duration) time.Duration { return d + rand.N(d/10+1) }

// trigger rings without waiting; rings that nobody has heard yet are one.
type trigger chan struct{}

func (b trigger) fire() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// backoff doubles from half a second to two minutes, with jitter; the queue forgets it after a success.
type backoff struct {
	workqueue.TypedRateLimiter[workload.ID]
}

func newBackoff() backoff {
	return backoff{workqueue.NewTypedItemExponentialFailureRateLimiter[workload.ID](500*time.Millisecond, 2*time.Minute)}
}

// When implements the rate limiter.
func (b backoff) When(id workload.ID) time.Duration { return jitterHalf(b.TypedRateLimiter.When(id)) }

func jitterHalf(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) + d/4 }
