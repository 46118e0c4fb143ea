package webtest

import (
	"context"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// Licenses is what a world knows of licenses; tests set the fields before they ask for a page.
type Licenses struct {
	store   *Store
	Entered []license.Entitlement
	Said    []license.Answer
	Devices []license.Device
	Virtual map[string][]string
	Past    map[string][]license.Span
	Choices []license.PoolSetting
}

// LicensePoolSettings are what administrators decided about pools.
func (l *Licenses) LicensePoolSettings(context.Context) ([]license.PoolSetting, error) {
	return l.Choices, nil
}

// SaveLicensePoolSetting keeps the newest.
func (l *Licenses) SaveLicensePoolSetting(_ context.Context, c license.PoolSetting, _ ...audit.Event) error {
	l.Choices = append(l.Choices, c)
	return nil
}

// Entitlements are all that were entered.
func (l *Licenses) Entitlements(context.Context) ([]license.Entitlement, error) {
	return l.Entered, nil
}

// SaveEntitlements keeps all or none.
func (l *Licenses) SaveEntitlements(_ context.Context, list []license.Entitlement,
	check func([]license.Entitlement) error, _ ...audit.Event) error {
	if err := check(l.Entered); err != nil {
		return err
	}
	for _, e := range list {
		l.Entered = slices.DeleteFunc(l.Entered, func(o license.Entitlement) bool { return o.ID == e.ID })
	}
	l.Entered = append(l.Entered, list...)
	return nil
}

// DeleteEntitlement forgets one.
func (l *Licenses) DeleteEntitlement(_ context.Context, id string, _ ...audit.Event) error {
	for i, e := range l.Entered {
		if e.ID == id {
			l.Entered = append(l.Entered[:i:i], l.Entered[i+1:]...)
			return nil
		}
	}
	return fault.New(fault.NotFound, i18n.T("licenses.not_found"))
}

// LicenseAnswers is what servers said.
func (l *Licenses) LicenseAnswers(context.Context) ([]license.Answer, error) { return l.Said, nil }

// SaveLicenseAnswer is not asked of a world.
func (l *Licenses) SaveLicenseAnswer(context.Context, license.Answer) error { return nil }

// LicenseDevices is what vGPUs said.
func (l *Licenses) LicenseDevices(context.Context) ([]license.Device, error) { return l.Devices, nil }

// SaveLicenseDevices is not asked of a world.
func (l *Licenses) SaveLicenseDevices(context.Context, []license.Device, time.Time, bool, ...audit.Event) error {
	return nil
}

// Checkouts are the workloads that hold seats.
func (l *Licenses) Checkouts(context.Context) ([]license.Checkout, error) {
	return l.store.Checkouts(context.Background())
}

// Spans is the metered past.
func (l *Licenses) Spans(context.Context, time.Time) (map[string][]license.Span, error) {
	return l.Past, nil
}

// seatLine is a busy world in which somebody who was approved waits for a license seat.
func seatLine() *World {
	w := Busy()
	r := w.Reqs["r-anna1"]
	r.ID, r.Decision.By, r.Decision.ByName = "r-seat", Carla.ID, Carla.Name
	r.Decision.Consents = []policy.Consent{{By: Carla.ID, ByName: Carla.Name,
		Parties: []identity.Approvers{{Role: identity.Approver}}}}
	r.Decision.Seat = &request.SeatWait{Pool: "nvidia-vws", Title: "NVIDIA vWS", Since: Now.Add(-time.Hour)}
	w.Reqs[r.ID] = r
	return w
}
