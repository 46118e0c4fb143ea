package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/request"
)

// seatsOf is the first pool as the API tells it.
func (w *world) seatsOf(token string) map[string]any {
	w.t.Helper()
	items, _ := w.call(token, http.MethodGet, "/api/v1/licences", nil).json(w.t)["items"].([]any)
	if len(items) != 1 {
		w.t.Fatalf("want one pool, got %v", items)
	}
	return items[0].(map[string]any)
}

func TestLicencesOverTheAPI(t *testing.T) {
	w := newWorld(t)
	token := w.token(admin)
	if p := w.seatsOf(token); p["pool"] != "nvidia-vws" || p["total"] != 5.0 || p["free"] != 5.0 || p["known"] != true || p["source"] != "configured" {
		t.Errorf("want the five seats of the settings, got %v", p)
	}
	entered := w.call(token, http.MethodPost, "/api/v1/licences/entitlements", map[string]any{"pool": "nvidia-vws", "seats": 9, "until": "2099-12-31", "reference": "PO-1"})
	id, _ := entered.json(t)["id"].(string)
	if entered.status != http.StatusCreated || id == "" || entered.json(t)["until"] != "2100-01-01T00:00:00Z" {
		t.Fatalf("want it entered until the end of its last day, got %d %s", entered.status, entered.body)
	}
	if p := w.seatsOf(token); p["total"] != 9.0 || p["source"] != "hand" {
		t.Errorf("what is entered does not stand above the settings: %v", p)
	}
	for name, c := range map[string]struct {
		body  map[string]any
		field string
	}{
		"none":          {map[string]any{"pool": "nvidia-vws", "seats": 0}, "seats"},
		"fewer":         {map[string]any{"pool": "nvidia-vws", "seats": -4}, "seats"},
		"twice":         {map[string]any{"pool": "nvidia-vws", "seats": 9, "from": "2099-01-01", "reference": "PO-1"}, "reference"},
		"another pool":  {map[string]any{"pool": "x", "seats": 1}, "pool"},
		"no date":       {map[string]any{"pool": "nvidia-vws", "seats": 1, "from": "03/04/2027"}, "from"},
		"ends too soon": {map[string]any{"pool": "nvidia-vws", "seats": 1, "from": "2027-02-01", "until": "2027-01-01"}, "until"},
	} {
		if a := w.call(token, http.MethodPost, "/api/v1/licences/entitlements", c.body); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `"name":"`+c.field+`"`) {
			t.Errorf("%s: want the field %s, got %d %s", name, c.field, a.status, a.body)
		}
	}
	if a := w.call(token, http.MethodDelete, "/api/v1/licences/entitlements/"+id, nil); a.status != http.StatusOK || w.seatsOf(token)["total"] != 5.0 {
		t.Errorf("want the settings to count again, got %d %s", a.status, a.body)
	}
}

func TestAFileOverTheAPI(t *testing.T) {
	w := newWorld(t)
	token := w.token(admin)
	send := func(csv string, keep bool) answer {
		return w.call(token, http.MethodPost, "/api/v1/licences/import", map[string]any{"csv": csv, "keep": keep})
	}
	bad := "\ufefffeature;quantity;colour\nNVIDIA RTX Virtual Workstation;4;red\nnvidia-vws;-1;\n"
	if a := send(bad, false); a.status != http.StatusOK || !strings.Contains(a.body, `"line":3`) || !strings.Contains(a.body, `"colour"`) || a.json(t)["kept"] != false {
		t.Errorf("want to hear of the third line and the column that is not read, got %d %s", a.status, a.body)
	}
	if a := send(bad, true); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "Line 3") || w.seatsOf(token)["source"] != "configured" {
		t.Errorf("a file with a problem is kept in part: %d %s", a.status, a.body)
	}
	good := "feature,quantity\nnvidia-vws,4\nnvidia-vws,3\n"
	if a := send(good, false); a.status != http.StatusOK || w.seatsOf(token)["source"] != "configured" {
		t.Errorf("a look at a file keeps it: %d %s", a.status, a.body)
	}
	if a := send(good, true); a.status != http.StatusOK || w.seatsOf(token)["total"] != 7.0 {
		t.Errorf("want seven seats, got %d %v", a.status, w.seatsOf(token))
	}
}

// TestNamesOfLicencesAreForThoseWhoSeeAll: others get numbers.
func TestNamesOfLicencesAreForThoseWhoSeeAll(t *testing.T) {
	w := newWorld(t)
	item := w.running(developer, "vision")
	item.ID, item.Name, item.Volume, item.Size.LicencePool, item.LicenceSeats = "w-seats", "seats", "", "nvidia-vws", 2
	w.save(func(tx request.Tx) error { return tx.SaveWorkload(t.Context(), item) })
	for _, subject := range []string{admin, auditor, other} {
		p := w.seatsOf(w.token(subject))
		names := strings.Contains(fmt.Sprint(p), "vision")
		if p["used"].(float64)+p["reserved"].(float64) != 2 || p["free"] != 3.0 || names != (subject != other) {
			t.Errorf("%s: want two seats taken, and the team only for those who see all: %v", subject, p)
		}
	}
}
