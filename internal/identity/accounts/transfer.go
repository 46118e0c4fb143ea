package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Holdings are what somebody holds.
type Holdings struct {
	Workloads []workload.Workload // that have not ended
	Volumes   []workload.Volume   // of their own, in use or kept
	Requests  []request.Request   // pending
	Owns      []Owned             // tenants that they are an owner of
}

// Owned is a tenant with an owner.
type Owned struct {
	Tenant string
	Only   bool // there is no other owner who is not disabled and has signed in
}

// Tenants lists those in which something is held, sorted.
func (h Holdings) Tenants() []string {
	var names []string
	for _, w := range h.Workloads {
		names = append(names, w.Tenant)
	}
	for _, v := range h.Volumes {
		names = append(names, v.Tenant)
	}
	for _, r := range h.Requests {
		names = append(names, r.Spec.Tenant)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// In are those of one tenant.
func (h Holdings) In(tenant string) Holdings {
	var of Holdings
	for _, w := range h.Workloads {
		if w.Tenant == tenant {
			of.Workloads = append(of.Workloads, w)
		}
	}
	for _, v := range h.Volumes {
		if v.Tenant == tenant {
			of.Volumes = append(of.Volumes, v)
		}
	}
	for _, r := range h.Requests {
		if r.Spec.Tenant == tenant {
			of.Requests = append(of.Requests, r)
		}
	}
	return of
}

// Holdings lists what a person holds.
func (s *Service) Holdings(ctx context.Context, a identity.Actor, id identity.PersonID) (Holdings, error) {
	p, err := s.of(ctx, a, id, identity.ReadAccount)
	if err != nil {
		return Holdings{}, err
	}
	h, err := s.held(ctx, p.ID)
	if err != nil {
		return h, err
	}
	everybody, err := s.Store.Everybody(ctx)
	for _, name := range s.Actor(p, identity.ViaSession).TenantNames() {
		if !s.Actor(p, identity.ViaSession).In(name, identity.Owner) {
			continue
		}
		other := slices.ContainsFunc(everybody, func(o identity.Person) bool {
			return o.ID != p.ID && s.Actor(o, identity.ViaSession).In(name, identity.Owner)
		})
		h.Owns = append(h.Owns, Owned{Tenant: name, Only: !other})
	}
	return h, err
}

// page is how many of a list are read at once.
const page = 500

func (s *Service) held(ctx context.Context, id identity.PersonID) (h Holdings, err error) {
	h.Workloads, err = each(func(cursor string) ([]workload.Workload, string, error) {
		return s.Store.Workloads(ctx, workload.Filter{Owner: id, Cursor: cursor, Limit: page})
	})
	if err != nil {
		return h, err
	}
	h.Requests, err = each(func(cursor string) ([]request.Request, string, error) {
		return s.Store.Requests(ctx, request.Filter{Asker: id, States: []request.State{request.Pending}, Cursor: cursor,
			Limit: page})
	})
	if err != nil {
		return h, err
	}
	volumes, err := s.Store.Volumes(ctx, workload.VolumeFilter{Owner: id})
	h.Volumes = slices.DeleteFunc(volumes, func(v workload.Volume) bool { return v.Deleted || v.OfTeam() })
	return h, err
}

func each[T any](read func(cursor string) ([]T, string, error)) (all []T, err error) {
	for cursor := ""; ; {
		list, next, err := read(cursor)
		if err != nil || next == "" {
			return append(all, list...), err
		}
		all, cursor = append(all, list...), next
	}
}

// Recipients lists the members of a tenant who can be given what somebody holds there: those who may start something.
func (s *Service) Recipients(ctx context.Context, a identity.Actor, id identity.PersonID,
	tenant string) ([]identity.Person, error) {
	p, err := s.of(ctx, a, id, identity.ManagePeople)
	if err != nil {
		return nil, err
	}
	everybody, err := s.Store.Everybody(ctx)
	return slices.DeleteFunc(everybody, func(to identity.Person) bool { return !s.receives(to, p, tenant) }), err
}

func (s *Service) receives(to, from identity.Person, tenant string) bool {
	return to.ID != from.ID && identity.Can(s.Actor(to, identity.ViaSession), identity.SubmitRequest,
		identity.Resource{Tenant: tenant})
}

// Transferred is what was given to somebody else.
type Transferred struct {
	Workloads, Volumes, Requests int
	// Left are pending requests that the recipient has approved, or that are reassigned to them: nobody decides their own.
	Left []request.ID
}

// Transfer gives the workloads, storage and pending requests that somebody has in a tenant to another of its members,
// all or nothing. What runs goes on: nothing in the cluster names a person.
func (s *Service) Transfer(ctx context.Context, a identity.Actor, id identity.PersonID, tenant string,
	to identity.PersonID) (Transferred, error) {
	from, err := s.of(ctx, a, id, identity.ManagePeople)
	if err != nil {
		return Transferred{}, err
	}
	recipient, err := s.Store.Person(ctx, to)
	if fault.Is(err, fault.NotFound) || err == nil && !s.receives(recipient, from, tenant) {
		return Transferred{}, fault.InvalidFields([]fault.Field{{Name: "to", Reason: i18n.T("accounts.not_a_recipient")}})
	}
	if err != nil {
		return Transferred{}, err
	}
	held, err := s.held(ctx, from.ID)
	if err != nil {
		return Transferred{}, err
	}
	var done Transferred
	err = s.Store.DecideExclusively(ctx, func(tx request.Tx) error {
		h := transfer{tx: tx, from: from, to: recipient, now: s.Now(), event: s.about(a, audit.HoldingsTransferred, from)}
		h.event.Tenant = tenant
		h.event.Detail = i18n.T("accounts.audit_transferred", "From", from.Name, "To", recipient.Name)
		h.event.Changes = audit.Changed("owner", from.ID, recipient.ID)
		done, err = h.all(ctx, held.In(tenant))
		return err
	})
	return done, err
}

// transfer writes one transfer. Things are read again inside the transaction, and what is not from's any more stays as
// it is.
type transfer struct {
	tx       request.Tx
	from, to identity.Person
	now      time.Time
	event    audit.Event
}

func (h transfer) all(ctx context.Context, held Holdings) (done Transferred, err error) {
	for _, w := range held.Workloads {
		if err := h.workload(ctx, w.ID, &done); err != nil {
			return done, err
		}
	}
	for _, v := range held.Volumes {
		if err := h.volume(ctx, v.Name, &done); err != nil {
			return done, err
		}
	}
	for _, r := range held.Requests {
		if err := h.request(ctx, r.ID, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (h transfer) workload(ctx context.Context, id workload.ID, done *Transferred) error {
	w, err := h.tx.Workload(ctx, id)
	if err != nil || w.Owner != h.from.ID || w.State == workload.Ended {
		return err
	}
	w.Owner, w.OwnerName, w.UpdatedAt = h.to.ID, h.to.Name, h.now
	done.Workloads++
	e := h.event
	e.Workload = string(w.ID)
	return h.write(ctx, h.tx.SaveWorkload(ctx, w), e)
}

func (h transfer) volume(ctx context.Context, name string, done *Transferred) error {
	v, err := h.tx.Volume(ctx, name)
	if err != nil || v.Owner != h.from.ID || v.Deleted {
		return err
	}
	v.Owner, v.OwnerName, v.UpdatedAt = h.to.ID, h.to.Name, h.now
	done.Volumes++
	e := h.event
	e.Volume = v.Name
	return h.write(ctx, h.tx.SaveVolume(ctx, v), e)
}

func (h transfer) request(ctx context.Context, id request.ID, done *Transferred) error {
	r, err := h.tx.Request(ctx, id)
	if err != nil || r.Asker != h.from.ID || r.State != request.Pending {
		return err
	}
	r, ok := request.Transfer(r, h.to)
	if !ok {
		done.Left = append(done.Left, r.ID)
		return nil
	}
	done.Requests++
	e := h.event
	e.Request = string(r.ID)
	_, err = h.tx.SaveRequest(ctx, r)
	return h.write(ctx, err, e)
}

func (h transfer) write(ctx context.Context, saved error, e audit.Event) error {
	if saved != nil {
		return saved
	}
	return h.tx.Append(ctx, e)
}
