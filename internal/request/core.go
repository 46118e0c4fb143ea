package request

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/budget"
	"github.com/gpu-portal/gpu-portal/internal/capacity"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Options are the dependencies of all services of this package.
type Options struct {
	Store     Store
	Site      func() Site
	Snapshots Snapshots
	Budgets   *budget.Service // nil: no tenant has one
	Renderer  Renderer
	Refusals  *audit.Aggregator                                        // nil: each is written
	People    People                                                   // who may be given a request
	Actor     func(p identity.Person, via identity.Via) identity.Actor // with the roles of now
	// PinImage asks a registry about a custom image, see tenant.Service.PinImage; nil: only references with a digest can
	// be started.
	PinImage func(ctx context.Context, team, reference string, runAs *int64) (tenant.Pinned, error)
	// Raised applies a quota that was just raised; nil where the site is read anew anyway.
	Raised func(ctx context.Context) error
	Now    func() time.Time
	NewID  func(prefix string) string // "r-" and twelve random characters
}

// Services are those of this package; they share one core.
type Services struct {
	Requests    *Service
	Approvals   *Approvals
	Offers      *Offers
	Quotas      *Quotas
	Seats       *SeatQueue
	Comparisons *Comparisons
}

// New makes the services on one shared core; nothing runs by itself.
func New(o Options) Services {
	c := &core{db: o.Store, site: o.Site, snapshots: o.Snapshots, budgets: o.Budgets, refusals: o.Refusals, now: o.Now,
		newID: o.NewID}
	offers := &Offers{core: c, store: o.Store}
	return Services{
		Requests: &Service{core: c, store: o.Store, offers: offers, renderer: o.Renderer, pin: o.PinImage},
		Approvals: &Approvals{core: c, store: o.Store, people: o.People, actor: o.Actor,
			raised: o.Raised, due: make(chan struct{}, 1)},
		Offers: offers, Quotas: &Quotas{core: c, store: o.Store}, Seats: &SeatQueue{core: c, store: o.Store},
		Comparisons: &Comparisons{core: c, store: o.Store},
	}
}

// Store is the database, for all services of this package.
type Store interface {
	transactions
	requestStore
	approvalStore
	offerStore
	quotaStore
	seatStore
	comparisonStore
}

// transactions are how decisions are made and recorded. Faults: NotFound for what does not exist, Conflict for a lost
// race, Unavailable when the database is away.
type transactions interface {
	// DecideExclusively runs fn in one transaction that no other grant runs beside: what fn reads stays true until it
	// is written.
	DecideExclusively(ctx context.Context, fn func(Tx) error) error
	// ReadOnly runs fn in one transaction that sees everything as it is at one moment and can write nothing.
	ReadOnly(ctx context.Context, fn func(Reader) error) error
	Request(ctx context.Context, id ID) (Request, error)
	keyed
	Append(ctx context.Context, events ...audit.Event) error
	// SaveRefusal keeps what was refused when it was sent, with its event; only Refusals gives it back.
	SaveRefusal(ctx context.Context, r Refused, events ...audit.Event) error
}

// Reader is what facts are gathered from: one transaction, of a decision or read-only. Faults as in transactions.
type Reader interface {
	records
	budget.Reader
}

// records are what a Reader sees besides budgets.
type records interface {
	Request(ctx context.Context, id ID) (Request, error)
	RequestByKey(ctx context.Context, asker identity.PersonID, key string) (Request, error)
	// AskerHistory is what somebody was granted since a time.
	AskerHistory(ctx context.Context, asker identity.PersonID, since time.Time) (AskerHistory, error)
	// Escalated says whether the record holds that a request has escalated since a time.
	Escalated(ctx context.Context, id ID, since time.Time) (bool, error)
	Workload(ctx context.Context, id workload.ID) (workload.Workload, error)
	Volume(ctx context.Context, name string) (workload.Volume, error)
	// Mounting lists the workloads that mount a volume by name and have not ended.
	Mounting(ctx context.Context, v workload.Volume) ([]workload.Workload, error)
	Dataset(ctx context.Context, team, name string) (workload.Dataset, error)
	// SecretsOf lists those of one owner, by name.
	SecretsOf(ctx context.Context, o secret.Owner) ([]secret.Secret, error)
	// Holdings counts what a tenant holds, and the seats that all others hold; "" for seats alone.
	Holdings(ctx context.Context, tenant string) ([]workload.Holding, error)
	// Checkouts are the workloads that hold license seats, oldest first.
	Checkouts(ctx context.Context) ([]license.Checkout, error)
	// SeatLine lists the pending requests that wait for seats, in the order in which they go on.
	SeatLine(ctx context.Context) ([]Waiting, error)
	// NameTaken says whether a living workload, its kept storage or a pending request has the name.
	NameTaken(ctx context.Context, name string) (bool, error)
	// ClusterHeld says whether nothing is granted in a cluster while it is compared with the database; see package
	// drift.
	ClusterHeld(ctx context.Context, cluster string) (bool, error)
}

// Tx is one transaction. SaveRequest and SaveWorkload insert when Version is 0, else update that version or answer
// Conflict; SaveRequest gives the request with its stored version, and Unavailable for a new or approved one of a
// cluster that is held.
type Tx interface {
	records
	SaveRequest(ctx context.Context, r Request) (Request, error)
	SaveWorkload(ctx context.Context, w workload.Workload) error
	SaveVolume(ctx context.Context, v workload.Volume) error
	budget.Tx
	// RaiseQuota saves that a tenant may hold more of a size; never less than was saved before.
	RaiseQuota(ctx context.Context, r Raise) error
}

// Snapshots gives the last known inventory of a cluster; ok is false while there is none.
type Snapshots interface {
	Snapshot(ctx context.Context, cluster string) (s inventory.Snapshot, ok bool)
}

// core is what the services share: the facts of a decision, and the transaction that it is made in.
type core struct {
	db        transactions
	site      func() Site
	snapshots Snapshots
	budgets   *budget.Service
	refusals  *audit.Aggregator
	now       func() time.Time
	newID     func(prefix string) string
	queue     queue
	found     capacity.Memo
	holders   inventory.Once[map[string]bool]
}

// transaction runs fn with a tenant's month of the budget open, so that what runs already counts; "" for no tenant.
type transaction func(ctx context.Context, tenant string, fn func(Tx) error) error

// exclusively is the transaction of every decision.
func (c *core) exclusively(ctx context.Context, tenant string, fn func(Tx) error) error {
	defer c.queue.forget()
	return c.db.DecideExclusively(ctx, func(tx Tx) error { return c.withOpenBudget(ctx, tx, tenant, fn) })
}

// dryRun sees what exclusively would see and drops what is written.
func (c *core) dryRun(ctx context.Context, tenant string, fn func(Tx) error) error {
	return c.db.ReadOnly(ctx, func(in Reader) error { return c.withOpenBudget(ctx, newDryRun(in), tenant, fn) })
}

func (c *core) withOpenBudget(ctx context.Context, tx Tx, tenant string, fn func(Tx) error) error {
	if c.budgets != nil && tenant != "" {
		if err := c.budgets.Open(ctx, tx, tenant); err != nil {
			return err
		}
	}
	return fn(tx)
}

// decide saves what fn comes to; an outcome without events changes nothing. The request is the one that is stored: its
// version is what an approver sends back as seen.
func (c *core) decide(ctx context.Context, run transaction, tenant string,
	fn func(Tx) (Outcome, error)) (out Outcome, err error) {
	err = run(ctx, tenant, func(tx Tx) (err error) {
		if out, err = fn(tx); err == nil && len(out.Events) > 0 {
			out.Request, err = c.save(ctx, tx, out)
		}
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	return out, nil
}

// change decides what needs no facts about a request as it is in the transaction.
func (c *core) change(ctx context.Context, id ID, fn func(Request) (Outcome, error)) (Request, error) {
	out, err := c.decide(ctx, c.exclusively, "", func(tx Tx) (Outcome, error) {
		r, err := tx.Request(ctx, id)
		if err != nil {
			return Outcome{}, err
		}
		return fn(r)
	})
	return out.Request, err
}

// ask decides what somebody sends about a subject, once for each idempotency key, and puts a refusal on record.
func (c *core) ask(ctx context.Context, a identity.Actor, s idempotencyKey, q subject,
	fn func(Facts) (Outcome, error)) (Request, error) {
	base := c.before(ctx, q.tenant, q.spec)
	out, err := c.decide(ctx, c.exclusively, q.tenant.Name, func(tx Tx) (Outcome, error) {
		return s.once(ctx, tx, a, func() (Outcome, error) {
			f, err := c.gather(ctx, tx, base, q)
			if err != nil {
				return Outcome{}, err
			}
			return fn(f)
		})
	})
	return out.Request, c.recordRefusal(ctx, a, q.tenant.Name, "", err)
}

// gatherAgain is a request as it is in the transaction, with the facts of what it would be granted as.
func (c *core) gatherAgain(ctx context.Context, tx Tx, id ID, base Facts,
	q func(Request) subject) (Request, Facts, error) {
	r, err := tx.Request(ctx, id)
	if err != nil {
		return r, base, err
	}
	f, err := c.gather(ctx, tx, base, q(r))
	return r, f, err
}

// save writes an outcome: request, workload with its volume, budget, quota, audit.
func (c *core) save(ctx context.Context, tx Tx, out Outcome) (Request, error) {
	if out.Workload != nil {
		if err := saveWorkload(ctx, tx, *out.Workload); err != nil {
			return Request{}, err
		}
		if err := c.holdBudget(ctx, tx, out); err != nil {
			return Request{}, err
		}
	}
	stored, err := tx.SaveRequest(ctx, out.Request)
	if err != nil {
		return Request{}, err
	}
	if out.Raise != nil {
		if err := tx.RaiseQuota(ctx, *out.Raise); err != nil {
			return Request{}, err
		}
	}
	if out.Beside != nil {
		if _, err := tx.SaveRequest(ctx, *out.Beside); err != nil {
			return Request{}, err
		}
	}
	return stored, tx.Append(ctx, out.Events...)
}

// saveWorkload writes a workload and, with a new one, that its storage is in use. A volume may have been deleted or
// taken while somebody had to decide.
func saveWorkload(ctx context.Context, tx Tx, w workload.Workload) error {
	if w.Version == 0 {
		if err := secretsThere(ctx, tx, w); err != nil {
			return err
		}
		if err := mountsThere(ctx, tx, w); err != nil {
			return err
		}
	}
	if err := tx.SaveWorkload(ctx, w); err != nil || w.Version > 0 || w.Volume == "" {
		return err
	}
	v, err := tx.Volume(ctx, w.Volume)
	switch {
	case fault.Is(err, fault.NotFound):
		v = workload.Volume{Name: w.Volume, Tenant: w.Tenant, Owner: w.Owner, OwnerName: w.OwnerName, Cluster: w.Cluster,
			Namespace: w.Namespace, GiB: w.StorageGiB, CreatedAt: w.CreatedAt}
	case err != nil:
		return err
	case v.Workload != "" || v.Deleted || v.Owner != w.Owner || v.Tenant != w.Tenant:
		return fault.New(fault.Conflict, i18n.T("request.volume_in_use", "Volume", v.Name))
	}
	v.Workload, v.UpdatedAt = w.ID, w.CreatedAt
	return tx.SaveVolume(ctx, v)
}

func mountsThere(ctx context.Context, tx Tx, w workload.Workload) error {
	for _, m := range w.Mounts {
		if m.Dataset != "" {
			_, err := tx.Dataset(ctx, w.Tenant, m.Dataset)
			if fault.Is(err, fault.NotFound) {
				return fault.New(fault.Conflict, i18n.T("request.dataset_gone", "Dataset", m.Dataset))
			}
			if err != nil {
				return err
			}
		}
		if m.Foreign() || m.Copied() {
			continue
		}
		v, err := tx.Volume(ctx, m.Claim)
		switch {
		case fault.Is(err, fault.NotFound) || err == nil && (v.Deleted || v.PendingDeletion() ||
			m.Personal && v.Owner != w.Owner):
			return fault.New(fault.Conflict, i18n.T("request.mount_gone", "Volume", m.Name))
		case err != nil:
			return err
		case !m.Personal:
			continue
		}
		users, err := tx.Mounting(ctx, v)
		if err != nil {
			return err
		}
		if other, runs := workload.RunningWith(users, w.ID); runs {
			return fault.New(fault.Conflict, i18n.T("request.own_volume_in_use", "Volume", m.Name, "By", other.Name))
		}
	}
	return nil
}

// takes is what a subject would take of its tenant's budget now.
func (c *core) takes(ctx context.Context, q subject) (ask budget.Ask, err error) {
	err = c.dryRun(ctx, q.tenant.Name, func(tx Tx) error {
		f, err := c.gather(ctx, tx, Facts{Now: c.now()}, q)
		ask = f.Budget
		return err
	})
	return ask, err
}

// get gives one request; what the actor may not read does not exist.
func (c *core) get(ctx context.Context, a identity.Actor, id ID) (Request, error) {
	if err := identity.Known(a); err != nil {
		return Request{}, err
	}
	r, err := c.db.Request(ctx, id)
	if err != nil {
		return Request{}, err
	}
	if !identity.Can(a, identity.ReadRequest, r.Resource()) {
		return Request{}, fault.New(fault.NotFound, i18n.T("request.not_found"))
	}
	return r, nil
}

// working gives a tenant that may be granted something: it may have been switched off, or taken out of the settings,
// after it asked.
func (c *core) working(name string) (tenant.Tenant, error) {
	t, ok := c.site().Directory.ByName(name)
	if !ok || t.Disabled {
		if t.Name == "" {
			t.Name = name
		}
		return t, fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", t.Display()))
	}
	return t, nil
}

// isolation is what rules and people are told of a spec's size, now and on its cluster. It is written down with the
// request: what was promised is what can be shown.
func (c *core) isolation(ctx context.Context, w Spec) catalog.Isolation {
	snapshot, ok := c.snapshots.Snapshot(ctx, w.Cluster)
	if !ok {
		return w.Size.Isolation
	}
	return c.found.Isolation(snapshot, w.Size)
}

func (c *core) fit(ctx context.Context, cluster string, size catalog.Size) inventory.Fit {
	snapshot, ok := c.snapshots.Snapshot(ctx, cluster)
	if rule, data := c.site().Catalog.Rule(size.Technology); !ok || data && rule.Uncountable {
		return inventory.Fit{}
	}
	return c.found.Fit(snapshot, size)
}

func (c *core) seats(size catalog.Size, checkouts []license.Checkout) *license.Seats {
	if size.LicensePool == "" {
		return nil
	}
	pools := c.site().Pools
	i := slices.IndexFunc(pools, func(p license.Pool) bool { return p.Name == size.LicensePool })
	if i < 0 {
		return nil
	}
	return &license.Count(pools[i:i+1], checkouts)[0]
}
