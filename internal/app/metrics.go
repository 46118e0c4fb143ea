package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/gateway"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/tunnel"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// meters are the portal's own metrics. Rooms that count while they work have theirs in the same registry (serve,
// reconcile); here is what is counted by events, and what is read when Prometheus asks. Labels are configured names
// (clusters, pools, sizes, rules) and closed lists: never an id, a person or a path.
type meters struct {
	registry  *prometheus.Registry
	events    *prometheus.CounterVec
	decisions *prometheus.CounterVec
	gateway   *prometheus.CounterVec
	through   prometheus.GaugeFunc
	passing   atomic.Pointer[gateway.Gateway]
	late      prometheus.Counter
	terminals *prometheus.CounterVec
	tunnels   *prometheus.CounterVec
	leads     atomic.Bool
}

func newMeters(version string) *meters {
	m := &meters{
		registry: prometheus.NewRegistry(),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gpu_portal_events_total",
			Help: "Events that this process wrote to the audit record."}, []string{"kind"}),
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gpu_portal_decisions_total",
			Help: "Requests that this process saw decided, by the rule that decided or asked for people."},
			[]string{"outcome", "rule"}),
		gateway: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gpu_portal_gateway_requests_total",
			Help: "Calls of notebooks and endpoints that went through the gateway, or were refused there."},
			[]string{"method", "code"}),
	}
	m.through = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "gpu_portal_gateway_requests_in_flight",
		Help: "Calls of notebooks and endpoints under way in the gateway, web sockets included."}, func() float64 {
		if g := m.passing.Load(); g != nil {
			return float64(g.Open())
		}
		return 0
	})
	m.late = prometheus.NewCounter(prometheus.CounterOpts{Name: "gpu_portal_late_writes_refused_total",
		Help: "Writes of this process that were refused because another one had taken the lead."})
	m.terminals = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gpu_portal_terminal_sessions_total",
		Help: "Terminals in workloads that ended in this process, by why."}, []string{"reason"})
	for _, r := range terminal.Reasons() {
		m.terminals.WithLabelValues(string(r))
	}
	m.tunnels = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "gpu_portal_tunnel_sessions_total",
		Help: "Tunnels to workloads that ended in this process, by why."}, []string{"reason"})
	for _, r := range tunnel.Reasons() {
		m.tunnels.WithLabelValues(string(r))
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gpu_portal_build_info", Help: "The running portal."},
		[]string{"version"})
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(m.events, m.decisions, m.gateway, m.through, m.late, m.terminals, m.tunnels, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// outcomes are the events that say what became of a request.
var outcomes = map[audit.Kind]string{
	audit.RequestApproved: "approved", audit.RequestAutoApproved: "approved", audit.RequestRejected: "rejected",
	audit.RequestRefused: "refused",
	audit.RequestQueued:  "queued", audit.RequestWithdrawn: "withdrawn", audit.RequestExpired: "expired",
}

// count is called with the events of each commit.
func (m *meters) count(events []audit.Event) {
	for _, e := range events {
		m.events.WithLabelValues(string(e.Kind)).Inc()
		if outcome, ok := outcomes[e.Kind]; ok {
			m.decisions.WithLabelValues(outcome, cmp.Or(e.Rule, "none")).Inc()
		}
	}
}

func (m *meters) terminalEnded(r terminal.Reason) { m.terminals.WithLabelValues(string(r)).Inc() }

func (m *meters) tunnelEnded(r tunnel.Reason) { m.tunnels.WithLabelValues(string(r)).Inc() }

// passed counts what goes through the gateway. The handler of a web socket returns when it begins.
func (m *meters) passed(g *gateway.Gateway) http.Handler {
	m.passing.Store(g)
	return promhttp.InstrumentHandlerCounter(m.gateway, g)
}

// handler serves the registry. What cannot be read now is absent; the rest is told.
func (m *meters) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4,
		ErrorHandling: promhttp.ContinueOnError}))
	return mux
}

// MetricNames lists every metric that the portal can export, for those who check alerts and dashboards against them.
func (a *App) MetricNames() []string {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		a.meters.registry.Describe(descriptions)
		close(descriptions)
	}()
	var names []string
	for d := range descriptions {
		if found := metricName.FindStringSubmatch(d.String()); found != nil {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// metricName finds what a description keeps to itself otherwise.
var metricName = regexp.MustCompile(`fqName: "([^"]+)"`)

// serveMetrics answers Prometheus on an address of its own until the context ends; nowhere when none is set.
func (a *App) serveMetrics(ctx context.Context) error {
	if a.config.MetricsListen == "" {
		return nil
	}
	listener, err := net.Listen("tcp", a.config.MetricsListen)
	if err != nil {
		return fmt.Errorf("metricsListen: %w", err)
	}
	a.log.InfoContext(ctx, "metrics are there", "listen", listener.Addr().String())
	server := &http.Server{Handler: a.meters.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// gauges reads the state of the portal when it is asked for. It is a collector of its own, because most of it is in the
// database and true for all replicas.
type gauges struct {
	app *App
	out chan<- prometheus.Metric
}

// described are the metrics of gauges.
var described = map[string]*prometheus.Desc{}

func describe(name, help string, labels ...string) string {
	name = "gpu_portal_" + name
	described[name] = prometheus.NewDesc(name, help, labels, nil)
	return name
}

var (
	databaseUp = describe("database_up", "1 when the database answered this question.")
	leads      = describe("leader", "1 in the process that reconciles.")
	loopsHung  = describe("loops_hung", "Loops of this process that give no sign of life, which "+
		"/healthz?verbose names.")
	requestsPending   = describe("requests_pending", "Requests that wait, by what for.", "waits_for")
	workloads         = describe("workloads", "Workloads that have not ended.", "state")
	messages          = describe("messages", "Messages that wait, are on their way, or were given up.", "state")
	messagesLag       = describe("messages_lag_seconds", "For how long the oldest message could have been sent.")
	eventsUnprocessed = describe("events_unprocessed", "Events that nobody has looked at yet for messages.")
	outboxUnread      = describe("outbox_unread", "Changes that this process has not handed to open pages and the "+
		"controller yet.")
	outboxLag     = describe("outbox_lag_seconds", "Age of the oldest of them.")
	pageStreams   = describe("page_streams", "Open pages that follow what happens (server-sent events).")
	terminalsOpen = describe("terminal_sessions_open", "Terminals in workloads that are open in this process.")
	tunnelsOpen   = describe("tunnel_sessions_open", "Tunnels to workloads that are open in this process.")
	clusterUp     = describe("cluster_up", "1 while the API server of a cluster answers; told by the leader.", "cluster")
	queueDepth    = describe("reconcile_queue_depth", "Workloads that wait for a pass; told by the leader.", "cluster")
	inventoryAt   = describe("inventory_timestamp_seconds", "When a cluster last confirmed what it has.", "cluster")
	devices       = describe("devices", "Devices by who has them. Devices of different units are never to be added.",
		"cluster", "resource", "unit", "model", "profile", "state")
	readingsUp = describe("readings_up", "1 while the Prometheus of a cluster answers.", "cluster")
	readingsAt = describe("readings_timestamp_seconds", "When it last answered.", "cluster")
	signInUp   = describe("signin_provider_up", "1 while people can sign in, as far as is known.")
	seats      = describe("license_seats", "License seats that count now; absent where nobody knows.", "pool")
	seatsTaken = describe("license_seats_taken", "License seats that workloads hold, by the portal's own count.", "pool")
	heldSince  = describe("cluster_held", "1 while nothing is changed in a cluster, because it carries more than the "+
		"database knows.", "cluster")
	differences = describe("differences", "Workloads and storage on which database and cluster do not agree, and about "+
		"which nobody has decided, by the side that has them.", "cluster", "side")
	unlicensed = describe("license_lost_nodes", "Nodes on which a vGPU lacks its license.", "cluster")
)

func (g gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range described {
		out <- d
	}
}

// scrapeFor is how long the database may take while Prometheus waits.
const scrapeFor = 5 * time.Second

func (g gauges) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeFor)
	defer cancel()
	g.out = out
	g.set(leads, bit(g.app.meters.leads.Load()))
	g.set(loopsHung, float64(g.hung()))
	g.set(signInUp, bit(g.app.provider.Healthy()))
	if g.app.pages != nil {
		g.set(pageStreams, float64(g.app.pages.Streams()))
		g.set(terminalsOpen, float64(g.app.terminals.Running()))
		g.set(tunnelsOpen, float64(g.app.tunnels.Running()))
	}
	g.controller()
	g.readings()
	g.drift()
	g.set(databaseUp, bit(errors.Join(g.backlog(ctx), g.licenses(ctx), g.stock(ctx)) == nil))
}

func (g gauges) hung() (n int) {
	for _, c := range g.app.watchdog.Checks() {
		if c.Hung {
			n++
		}
	}
	return n
}

func (g gauges) set(name string, v float64, labels ...string) {
	g.out <- prometheus.MustNewConstMetric(described[name], prometheus.GaugeValue, v, labels...)
}

func (g gauges) at(name string, t time.Time, labels ...string) {
	if !t.IsZero() {
		g.set(name, float64(t.UnixMilli())/1000, labels...)
	}
}

// backlog tells what waits. Every state is told, also when there is nothing in it: an alert on a series that is not
// there does not fire.
func (g gauges) backlog(ctx context.Context) error {
	b, err := g.app.store.Backlog(ctx)
	if err != nil {
		return err
	}
	for _, what := range []string{store.ForApproval, store.ForSeat} {
		g.set(requestsPending, float64(b.Requests[what]), what)
	}
	for _, s := range []workload.State{workload.Queued, workload.Starting, workload.Running, workload.Asleep,
		workload.Stopping, workload.Stopped, workload.Failed, workload.Succeeded} {
		g.set(workloads, float64(b.Workloads[s]), string(s))
	}
	for _, s := range []notify.State{notify.Due, notify.Sending, notify.GaveUp} {
		g.set(messages, float64(b.Deliveries[s]), string(s))
	}
	g.set(messagesLag, g.since(b.OldestDue))
	g.set(eventsUnprocessed, float64(b.UnprocessedEvents))
	seen, ok := g.app.hub.Seen()
	if !ok {
		return nil
	}
	oldest, err := g.app.store.ChangeAfter(ctx, seen)
	if err != nil {
		return err
	}
	g.set(outboxUnread, float64(max(0, b.Changes-seen)))
	g.set(outboxLag, g.since(oldest))
	return nil
}

// since is how long ago something was, in seconds; 0 for what is to come and for what never was.
func (g gauges) since(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, g.app.now().Sub(t).Seconds())
}

func (g gauges) licenses(ctx context.Context) error {
	checkouts, err := g.app.store.Checkouts(ctx)
	if err != nil {
		return err
	}
	taken := map[string]int{}
	for _, t := range checkouts {
		taken[t.Pool] += t.Seats
	}
	for _, p := range g.app.licenses.Pools() {
		if !p.Unknown {
			g.set(seats, float64(p.Seats), p.Name)
		}
		g.set(seatsTaken, float64(taken[p.Name]), p.Name)
	}
	lost := g.app.licenses.Unlicensed()
	for _, cluster := range g.app.site.Clusters {
		g.set(unlicensed, float64(len(lost[cluster])), cluster)
	}
	return nil
}

// controller tells what only the leader knows.
func (g gauges) controller() {
	if g.app.controller == nil || !g.app.meters.leads.Load() {
		return
	}
	for _, s := range g.app.controller.Status() {
		g.set(clusterUp, bit(s.OK), s.Name)
	}
	for cluster, n := range g.app.controller.Waiting() {
		g.set(queueDepth, float64(n), cluster)
	}
}

// drift tells of every cluster, also of those where all is well.
func (g gauges) drift() {
	held := map[string]bool{}
	for _, h := range g.app.drift.Holds() {
		held[h.Cluster] = true
	}
	for _, cluster := range g.app.site.Clusters {
		g.set(heldSince, bit(held[cluster]), cluster)
		counts := g.app.drift.Counts(cluster)
		for _, kind := range drift.Kinds() {
			g.set(differences, float64(counts[kind]), cluster, string(kind))
		}
	}
}

func (g gauges) readings() {
	for cluster, p := range g.app.clusters.metrics {
		s := p.Status()
		g.set(readingsUp, bit(s.OK), cluster)
		g.at(readingsAt, s.Since, cluster)
	}
}

// stock tells what clusters have, as the last snapshot says; its age is told beside it.
func (g gauges) stock(ctx context.Context) error {
	for _, cluster := range g.app.site.Clusters {
		s, ok := g.app.store.Snapshot(ctx, cluster)
		if !ok {
			continue
		}
		g.at(inventoryAt, s.TakenAt, cluster)
		for _, t := range sums(inventory.Totals(s)) {
			for state, n := range map[string]int64{"ours": t.Ours, "foreign": t.Foreign, "free": t.Free, "broken": t.Broken} {
				g.set(devices, float64(n), cluster, t.Resource, string(t.Unit), t.Model, t.Profile, state)
			}
		}
	}
	return ctx.Err()
}

// sums adds what differs only in how often a card is shared, which is no label.
func sums(list []inventory.Total) []inventory.Total {
	type key struct{ resource, unit, model, profile string }
	at := map[key]int{}
	var all []inventory.Total
	for _, t := range list {
		k := key{t.Resource, string(t.Unit), t.Model, t.Profile}
		i, there := at[k]
		if !there {
			at[k], all = len(all), append(all, t)
			continue
		}
		all[i].Ours, all[i].Foreign, all[i].Free, all[i].Broken = all[i].Ours+t.Ours, all[i].Foreign+t.Foreign,
			all[i].Free+t.Free, all[i].Broken+t.Broken
	}
	return all
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
