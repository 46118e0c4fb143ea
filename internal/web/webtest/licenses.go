package webtest

import (
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
)

// seatQueue is a busy world in which somebody who was approved waits for a license seat.
func seatQueue(s Scope) *World {
	w := Busy(s)
	w.WaitForSeat("r-seat", w.Request("r-anna1"))
	return w
}

// WaitForSeat adds a request like another one that Carla has approved, and that waits for a seat.
func (w *World) WaitForSeat(id request.ID, r request.Request) {
	r.ID, r.Decision.By, r.Decision.ByName = id, Carla.ID, Carla.Name
	r.Decision.Consents = []policy.Consent{{By: Carla.ID, ByName: Carla.Name,
		Approvers: []identity.Approvers{{Role: identity.Approver}}}}
	r.Decision.Seat = &request.SeatWait{Pool: "nvidia-vws", Title: "NVIDIA vWS", Since: Now.Add(-time.Hour)}
	w.PutRequest(r)
}
