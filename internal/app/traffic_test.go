package app

import (
	"net/http"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/traffic"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// TestTrafficOfAnEndpoint: what was counted of two consumers is told over REST to those who may read the endpoint.
func TestTrafficOfAnEndpoint(t *testing.T) {
	w := newWorld(t)
	item := w.running(developer, "vision")
	item.ID, item.Name, item.Kind, item.Volume = workload.ID(newID("w-")), "served", catalog.Endpoint, ""
	w.save(func(tx request.Tx) error { return tx.SaveWorkload(t.Context(), item) })
	now := w.clock.now()
	byKey := traffic.Source{Workload: item.ID, Key: "aaaaaaaa", Revision: traffic.FirstRevision}
	byPerson := traffic.Source{Workload: item.ID, Person: w.person(developer).ID, Revision: traffic.FirstRevision}
	for range 3 {
		w.counts.Record(byKey, &traffic.Outcome{At: now, Status: http.StatusOK, Prompt: 30, Completion: 10, HasFirst: true,
			First: 200 * time.Millisecond, Took: 2 * time.Second})
	}
	w.counts.Record(byPerson, &traffic.Outcome{At: now, Status: http.StatusBadGateway})
	if err := w.counts.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/workloads/" + string(item.ID) + "/traffic"
	a := w.call(w.token(developer), http.MethodGet, path+"?range=1h", nil)
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	body := a.json(t)
	total, items := body["total"].(map[string]any), body["items"].([]any)
	if total["requests"] != 4.0 || total["serverErrors"] != 1.0 || total["promptTokens"] != 90.0 ||
		total["completionTokens"] != 30.0 || len(items) != 2 || len(body["revisions"].([]any)) != 1 {
		t.Fatalf("got %s", a.body)
	}
	first := total["firstToken"].(map[string]any)
	if p50 := first["p50"].(float64); p50 < .16 || p50 > .25 {
		t.Errorf("want about 0.2 s to the first token, got %v", p50)
	}
	busiest, second := items[0].(map[string]any), items[1].(map[string]any)
	if busiest["key"] != "aaaaaaaa" || busiest["requests"] != 3.0 || busiest["person"] != nil ||
		second["person"] != string(byPerson.Person) || second["name"] != w.person(developer).Name {
		t.Errorf("want the key, then the person, got %v and %v", busiest, second)
	}
	if points := body["points"].([]any); len(points) < 59 {
		t.Errorf("want a point for each minute, got %d", len(points))
	}
	for name, c := range map[string]struct {
		subject, path string
		want          int
	}{"a stranger": {other, path, http.StatusNotFound}, "a range that is none": {developer, path + "?range=2h",
		http.StatusUnprocessableEntity}, "the hours of before": {developer, path + "?hours=24", http.StatusOK}} {
		if a := w.call(w.token(c.subject), http.MethodGet, c.path, nil); a.status != c.want {
			t.Errorf("%s: want %d, got %d %s", name, c.want, a.status, a.body)
		}
	}
}
