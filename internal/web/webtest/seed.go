package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/identity/delegation"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Request gives one; the zero value where there is none.
func (w *World) Request(id request.ID) request.Request { return found(w.Store.Request(bg, id)) }

// Work gives a workload; the zero value where there is none.
func (w *World) Work(id workload.ID) workload.Workload { return found(w.Store.Workload(bg, id)) }

// Volume gives storage; the zero value where there is none.
func (w *World) Volume(name string) workload.Volume { return found(w.Store.Volume(bg, name)) }

var bg = context.Background()

func found[T any](value T, err error) T {
	if !fault.Is(err, fault.NotFound) {
		check(err)
	}
	return value
}

// Works are all workloads, also those that have ended.
func (w *World) Works() []workload.Workload {
	return pages(func(cursor string) ([]workload.Workload, string, error) {
		return w.Workloads(bg, workload.Filter{Ended: true, Cursor: cursor})
	})
}

// AllRequests are the requests of everybody.
func (w *World) AllRequests() []request.Request {
	return pages(func(cursor string) ([]request.Request, string, error) {
		return w.Requests(bg, request.Filter{Cursor: cursor})
	})
}

func pages[T any](read func(cursor string) ([]T, string, error)) (all []T) {
	cursor := ""
	for {
		list, next, err := read(cursor)
		check(err)
		all = append(all, list...)
		if cursor = next; next == "" {
			return all
		}
	}
}

// Record is the audit, oldest first.
func (w *World) Record() []audit.Event { return have(w.EventsAfter(bg, 0, 10_000)) }

// PutRequest has a request be as it says; its version is the next one.
func (w *World) PutRequest(r request.Request) {
	r.Version = 0
	if was, err := w.Store.Request(bg, r.ID); err == nil {
		r.Version = was.Version // what is kept of a request is kept by its version
	}
	byDefault(&r.CreatedAt, w.Clock)
	check(w.DecideExclusively(bg, func(tx request.Tx) error {
		_, err := tx.SaveRequest(bg, r)
		return err
	}))
}

// ForgetRequests has nobody ever have asked for anything.
func (w *World) ForgetRequests() { w.exec("DELETE FROM requests") }

// PutWork has a workload be as it says.
func (w *World) PutWork(item workload.Workload) {
	item.Version = w.Work(item.ID).Version
	byDefault(&item.UpdatedAt, item.CreatedAt)
	check(w.SaveObserved(bg, item, nil, nil))
}

// RunsImage has a workload be of another image.
func (w *World) RunsImage(id workload.ID, i catalog.Image) {
	w.exec("UPDATE workloads SET image = ?, version = version + 1 WHERE id = ?", string(have(json.Marshal(i))), string(id))
}

// Meter has a workload's meter be these.
func (w *World) Meter(id workload.ID, intervals ...usage.Interval) {
	item := w.Work(id)
	w.exec("DELETE FROM meter_intervals WHERE workload = ?", string(id))
	for _, i := range intervals {
		w.meter(item.Cluster, string(id), i)
	}
}

func (w *World) meter(cluster, id string, i usage.Interval) {
	w.exec(`INSERT INTO meter_intervals (workload, tenant, size_name, price_minor, price_currency, from_at, until_at,
		unknown_until, seat_pool, seats, parts, cluster) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, id, i.Tenant, i.Size,
		i.PerHour.Minor, i.PerHour.Currency, micro(i.From), micro(i.Until), micro(i.UnknownUntil), i.Seats.Pool,
		i.Seats.Count, i.Parts, cluster)
}

func byDefault(t *time.Time, value time.Time) {
	if t.IsZero() {
		*t = value
	}
}

// micro is a time as the database keeps it.
func micro(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// Metered is the meter of a workload.
func (w *World) Metered(id workload.ID) []usage.Interval {
	return have(w.Intervals(bg, []workload.ID{id}))[id]
}

// PutVolume has storage be as it says; it has been metered for a week.
func (w *World) PutVolume(v workload.Volume) {
	v.Version = w.Volume(v.Name).Version
	byDefault(&v.CreatedAt, w.Clock)
	byDefault(&v.UpdatedAt, v.CreatedAt)
	check(w.ChangeExclusively(bg, func(tx workload.Tx) error { return tx.SaveVolume(bg, v) }))
	w.exec("UPDATE storage_intervals SET from_at = ? WHERE volume = ? AND until_at IS NULL",
		micro(Now.Add(-7*24*time.Hour)), v.Name)
}

// AllVolumes is all storage that was not deleted.
func (w *World) AllVolumes() []workload.Volume { return have(w.Volumes(bg, workload.VolumeFilter{})) }

// Inventory is what is known of a cluster, as a value of the caller's own.
func (w *World) Inventory(cluster string) (s inventory.Snapshot) {
	known, _ := w.Snapshot(bg, cluster)
	check(json.Unmarshal(have(json.Marshal(known)), &s))
	return s
}

// PutInventory has this be known of a cluster, also where it is older than what was known.
func (w *World) PutInventory(s inventory.Snapshot) {
	w.exec("UPDATE snapshots SET taken_at = 0 WHERE cluster = ?", s.Cluster)
	check(w.SaveSnapshot(bg, s))
}

// ForgetInventory has nothing be known of any cluster.
func (w *World) ForgetInventory() { w.exec("DELETE FROM snapshots") }

// PutPrices has the price list be this, and counts by it.
func (w *World) PutPrices(list ...usage.Price) {
	w.exec("DELETE FROM prices")
	for _, p := range list {
		byDefault(&p.At, Now.Add(-100*24*time.Hour))
		check(w.SavePrices(bg, []usage.Price{p}))
	}
	check(w.Prices.Refresh(bg))
}

// Busied is how busy the GPUs of workloads are on record to have been this month.
func (w *World) Busied(uses map[workload.ID]usage.EngineUse) {
	r := usage.EngineRecord{Cluster: "local", Month: usage.MonthOf(Now, time.UTC), From: Now.Add(-20 * 24 * time.Hour),
		Until: Now}
	for _, id := range slices.Sorted(maps.Keys(uses)) {
		for _, i := range w.Metered(id) {
			r.Lines = append(r.Lines, usage.EngineLine{Workload: string(id), Tenant: i.Tenant, Size: i.Size,
				PerHour: i.PerHour, EngineUse: uses[id]})
		}
	}
	check(w.RecordEngine(bg, r))
}

// Usual adds starts of a size that found a place at once.
func (w *World) Usual(size string, took ...time.Duration) {
	for _, kind := range []catalog.WorkloadKind{catalog.Notebook, catalog.Endpoint} {
		for i, d := range took {
			at := Now.Add(-time.Duration(i+24) * time.Hour)
			w.exec(`INSERT INTO starts (workload, generation, size_name, kind, cluster, waited, requested_at, given_at, basis,
				placed_at, ready_at) VALUES (?, 1, ?, ?, 'local', false, ?, ?, '', ?, ?)`,
				fmt.Sprintf("w-past-%s-%s-%d", kind, size, i), size, string(kind), micro(at), micro(at), micro(at.Add(d-d/2)),
				micro(at.Add(d)))
		}
	}
}

// unmetReasons are sentences of refusals by what they are for want of.
var unmetReasons = map[usage.UnmetReason]string{usage.UnmetQuota: "request.quota_full",
	usage.UnmetRule: "policy.refuse"}

// Unmet adds those who did not get what they asked for.
func (w *World) Unmet(list ...usage.UnmetRequest) {
	for i, u := range list {
		if u.Reason == usage.UnmetWithdrawn {
			w.PutRequest(request.Request{ID: request.ID(fmt.Sprintf("r-unmet%d", i)), Kind: request.StartKind,
				Asker: identity.PersonID(u.Person), State: request.Withdrawn, CreatedAt: u.At.Add(-u.Waited), DecidedAt: u.At,
				Spec: request.Spec{Tenant: "vision", Size: catalog.Size{Name: u.Size}}})
			continue
		}
		check(w.Append(bg, audit.Event{At: u.At, Kind: audit.RequestRefused, Actor: identity.PersonID(u.Person),
			Tenant: "vision", Detail: i18n.T(unmetReasons[u.Reason]),
			Changes: []audit.Change{{Field: audit.AskedSize, New: u.Size}}}))
	}
}

// FleetDay has this be on record of the cards of a model on a day.
func (w *World) FleetDay(d usage.FleetDay) {
	w.exec(`INSERT INTO fleet_days (day, cluster, model, physical, ours, others, free, broken, unknown)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, d.Day, d.Cluster, d.Model, int64(d.Physical), int64(d.Ours), int64(d.Others),
		int64(d.Free), int64(d.Broken), int64(d.Unknown))
}

// Counted fills three weeks of a fleet of two models: busier from day to day, with a day on which nobody looked, and a
// card that is ill. What was held is charged, but for an hour in which a workload went while the cluster was away;
// while nobody looked, it was charged all the same.
func (w *World) Counted() (days []usage.FleetDay) {
	for n := range int64(21) {
		days = append(days, fleetDays(n)...)
		begin := time.Date(Now.Year(), Now.Month(), Now.Day()+int(n)-20, 0, 0, 0, 0, time.UTC)
		for cluster, hours := range map[string]int64{"west": soFar(n, 90+9*n), "east": soFar(n, 3*n)} {
			i := usage.Interval{Parts: hours * usage.Parts / 4, From: begin.Add(8 * time.Hour), Until: begin.Add(12 * time.Hour)}
			if n == 12 && cluster == "west" {
				i.Until, i.UnknownUntil = i.Until.Add(-time.Hour), i.Until
			}
			w.meter(cluster, fmt.Sprintf("w-%s-%d", cluster, n), i)
		}
	}
	for _, d := range days {
		w.FleetDay(d)
	}
	return days
}

// soFar are the hours of the n-th day of Counted until now: the last one is today, and half over.
func soFar(n, hours int64) int64 {
	if n == 20 {
		return hours / 2
	}
	return hours
}

// fleetDays is the n-th day of Counted.
func fleetDays(n int64) []usage.FleetDay {
	day := Now.AddDate(0, 0, int(n)-20).Format(time.DateOnly)
	hours := func(h int64) usage.CardTime { return usage.CardHours(soFar(n, h)) }
	h100 := usage.FleetTime{Physical: hours(16 * 24), Ours: hours(90 + 9*n), Others: hours(24), Broken: hours(24),
		Free: hours(16*24 - 138 - 9*n)}
	// one card is offered by nobody
	l40 := usage.FleetTime{Physical: hours(4 * 24), Ours: hours(3 * n), Free: hours(72 - 3*n)}
	if n == 9 {
		h100 = usage.FleetTime{Physical: h100.Physical, Unknown: h100.Physical}
		l40 = usage.FleetTime{Physical: l40.Physical, Unknown: l40.Physical}
	}
	return []usage.FleetDay{{Day: day, Cluster: "west", Model: "NVIDIA-H100-80GB-HBM3", FleetTime: h100},
		{Day: day, Cluster: "east", Model: "NVIDIA-L40S", FleetTime: l40}}
}

// PutDelivery has a message be as it says.
func (w *World) PutDelivery(d notify.Delivery) {
	w.exec("DELETE FROM deliveries WHERE id = ?", d.ID)
	byDefault(&d.CreatedAt, Now)
	byDefault(&d.UpdatedAt, Now)
	byDefault(&d.NextAt, Now)
	check(w.SaveDelivery(bg, d))
}

// Delivery gives a message.
func (w *World) Delivery(id string) (d notify.Delivery) {
	list, _, err := w.Deliveries(bg, "", "", 100)
	check(err)
	if i := slices.IndexFunc(list, func(d notify.Delivery) bool { return d.ID == id }); i >= 0 {
		d = list[i]
	}
	return d
}

// Looked has those who send messages have looked at all events but the last so many.
func (w *World) Looked(but int64) {
	w.exec("UPDATE notice_cursor SET seq = (SELECT audit FROM counters) - ?", but)
}

// Warned is a warning about a workload in the record, with the messages that followed from it.
func (w *World) Warned(id workload.ID, kind audit.Kind, at time.Time, sent ...notify.Delivery) {
	e := audit.By(identity.System(), kind, at)
	e.Workload = string(id)
	check(w.Append(bg, e))
	w.Looked(0)
	for _, d := range sent {
		d.Event = have(w.NotifyCursor(bg))
		d.ID = fmt.Sprintf("%s-%d", d.ID, d.Event)
		w.PutDelivery(d)
	}
}

// Entitle adds licenses.
func (w *World) Entitle(list ...license.Entitlement) {
	for i := range list {
		byDefault(&list[i].At, Now)
	}
	check(w.SaveEntitlements(bg, list, func([]license.Entitlement) error { return nil }))
}

// OnVGPU has these devices tell of their licenses, in place of all others.
func (w *World) OnVGPU(devices ...license.Device) {
	w.exec("DELETE FROM license_devices")
	check(w.SaveLicenseDevices(bg, devices, time.Time{}, false))
}

// Answered has this be what a license server said last.
func (w *World) Answered(a license.Answer) {
	w.exec("DELETE FROM license_answers WHERE source = ?", a.Source)
	check(w.SaveLicenseAnswer(bg, a))
}

// Away lets somebody decide in another's place for a day.
func (w *World) Away(person, stand identity.Person) {
	check(w.CreateDelegation(bg, delegation.Delegation{ID: "i-" + string(person.ID) + string(stand.ID), Person: person.ID,
		Delegate: stand.ID, From: w.Clock.Add(-time.Hour), Until: w.Clock.Add(23 * time.Hour), CreatedAt: w.Clock},
		audit.By(w.Actor(person), audit.DelegationCreated, w.Clock)))
	check(w.Delegations.Refresh(bg))
}

// OwnImages gives team vision images of its own.
func (w *World) OwnImages(images ...tenant.Image) {
	check(w.SaveTenant(bg, tenant.Revision{Tenant: "vision", Version: 1, AuthorName: Ben.Name, At: Now,
		Saved: tenant.Saved{Images: images, CustomImages: true}}))
	check(w.Tenants.Refresh(bg))
	w.Site.Directory = w.Tenants.Directory()
}

// Entered are the licenses that were entered.
func (w *World) Entered() []license.Entitlement { return have(w.Entitlements(bg)) }

// PriceList is the price list as it was saved.
func (w *World) PriceList() usage.PriceList { return have(w.Store.Prices(bg)) }
