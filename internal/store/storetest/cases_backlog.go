package storetest

import (
	"context"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/live"
	"github.com/gpu-portal/gpu-portal/internal/notify"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/store"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var backlogCases = cases{
	"the backlog counts what has not ended": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		empty := got(s.Backlog(ctx))(t)
		equal(t, store.Backlog{Requests: map[string]int{}, Workloads: map[workload.State]int{},
			Deliveries: map[notify.State]int{}}, empty)
		decided, queued := Request("r-2"), Request("r-3")
		decided.State, queued.Decision.Seat = request.Rejected, &request.SeatWait{Pool: "vws", Since: later(1)}
		saveRequest(t, s, Request("r-1"), Request("r-4"), decided, queued)
		ended, failed := Workload("w-2"), Workload("w-3")
		ended.State, failed.State = workload.Ended, workload.Failed
		saveWorkload(t, s, Workload("w-1"), ended, failed)
		sent, gone, sooner := Delivery("n-2", 0), Delivery("n-3", 0), Delivery("n-4", 0)
		sent.State, sent.NextAt, gone.State, gone.NextAt, sooner.NextAt = notify.Sent, later(1), notify.GaveUp, later(1),
			later(3)
		for _, d := range []notify.Delivery{Delivery("n-1", 0), sent, gone, sooner} {
			must(t, s.SaveDelivery(ctx, d))
		}
		must(t, s.Append(ctx, Event(1), Event(2), Event(3)))
		told := got(s.NotifyCursor(ctx))(t)
		equal(t, true, got(s.QueueDeliveries(ctx, told, told+2, nil))(t))
		b := got(s.Backlog(ctx))(t)
		equal(t, map[string]int{store.ForApproval: 2, store.ForSeat: 1}, b.Requests)
		equal(t, map[workload.State]int{workload.Running: 1, workload.Failed: 1}, b.Workloads)
		equal(t, map[notify.State]int{notify.Due: 2, notify.GaveUp: 1}, b.Deliveries)
		equal(t, later(3), b.OldestDue)
		equal(t, int64(1), b.UnprocessedEvents)
		equal(t, got(s.LastChange(ctx))(t), b.Changes)
		equal(t, []doctor.Queue{{Name: doctor.Approvals, Length: 2}, {Name: doctor.LicenseSeats, Length: 1},
			{Name: doctor.GPUs}, {Name: doctor.Events, Length: 1}, {Name: doctor.Messages, Length: 2, Oldest: later(3)}},
			got(s.Queues(ctx))(t))
	},
	"the first change after a number has a time, and none has none": func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		saveWorkload(t, s, Workload("w-1"))
		last := got(s.LastChange(ctx))(t)
		if at := got(s.ChangeAfter(ctx, last-1))(t); at.IsZero() {
			t.Error("want the time of the last change")
		}
		if at := got(s.ChangeAfter(ctx, last))(t); !at.IsZero() {
			t.Errorf("want none, got %v", at)
		}
		equal(t, []live.Change{{Seq: last, Topic: live.TopicWorkload, ID: "w-1", Tenant: "vision", Person: "p-ada"}},
			got(s.ChangesAfter(ctx, last-1, 10))(t))
	},
}
