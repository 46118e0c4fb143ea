package web_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

func TestWhereTheHoursOfTheFleetWent(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	days := w.Counted()
	read(t, w.Get(webtest.Anna, "/usage/reconciliation"), http.StatusNotFound)
	read(t, w.Get(webtest.Anna, "/usage/reconciliation/export"), http.StatusNotFound)
	doc := read(t, w.Get(webtest.Dora, "/usage/reconciliation"), http.StatusOK)
	physical := usage.CardTime(0)
	for _, d := range days {
		if strings.HasPrefix(d.Day, webtest.Now.Format("2006-01")) {
			physical += d.Physical
		}
	}
	if want, got := fmt.Sprintf("%.0f h", physical.Hours()), strings.ReplaceAll(textOf(part(doc, "fleet-physical")), ",",
		""); physical == 0 || !strings.Contains(got, want) {
		t.Errorf("want %s, got %q", want, got)
	}
	wantText(t, doc, "reconciliation-terms", "never counted as available")
	if text := textOf(part(doc, "reconciliation-model")); strings.Contains(text, ".0") {
		t.Errorf("want hours without tenths, got %q", text)
	}
	if n := part(doc, "reconciliation-model").Length(); n != 2 {
		t.Errorf("want two models, got %d", n)
	}
	all := part(doc, "reconciliation-day").Length()
	for _, want := range []string{"Portal workloads", "Unknown", "Not offered", "Available"} {
		wantText(t, doc, "reconciliation-month", want)
	}
	total := part(doc, "reconciliation-matched-total")
	wantText(t, doc, "reconciliation-gap", " %", "Within the 5 % tolerance")
	wantText(t, doc, "reconciliation-paid", " h more than allocated")
	if href := In(part(doc, "cause-unseen"), "look").AttrOr("href", ""); href != "/admin/clusters" {
		t.Errorf("want the way to the clusters, got %q", href)
	}
	wantText(t, doc, "cause-doubt", "End unknown", "−", "the pod was gone afterwards")
	wantText(t, doc, "cause-unseen", "Not observed", "+", "so it is charged")
	wantAbsent(t, doc, "cause-rest") // there is none
	account := 0.0
	for _, c := range []string{"held", "doubt", "unseen"} {
		n, err := strconv.ParseFloat(strings.NewReplacer(",", "", "−", "-").Replace(textOf(part(doc, "cause-"+c).
			Find("[data-test=hours]"))), 64)
		if err != nil {
			t.Error(err)
		}
		account += n
	}
	if got, want := strings.ReplaceAll(textOf(part(doc, "cause-charged").Find("[data-test=hours]")), ",", ""),
		fmt.Sprintf("%.1f", account); got != want {
		t.Errorf("the causes lead to %s, charged is %s", want, got)
	}
	for name, want := range map[string]string{"charged": "", "doubt": "", "unseen": "", "rest": "0.0"} {
		got := textOf(total.Find("[data-test=" + name + "]"))
		if want != "" && got != want || want == "" && (got == "0.0" || got == "") {
			t.Errorf("%s of the month: want %q, got %q", name, want, got)
		}
	}
	if n := part(doc, "reconciliation-matched-day").Length(); n != all {
		t.Errorf("want %d days, got %d", all, n)
	}
	one := read(t, w.Get(webtest.Eli, "/usage/reconciliation?cluster=east&model=NVIDIA-L40S"), http.StatusOK)
	wantText(t, one, "reconciliation-only", "L40S in east")
	if n := part(one, "reconciliation-day").Length(); n != all {
		t.Errorf("want %d days of one model, got %d", all, n)
	}
	first := part(one, "reconciliation-day").First()
	if got := textOf(first.Find("[data-test=difference]")); got != "24" {
		t.Errorf("want the card that nobody offers, got %q", got)
	}
	if part(one, "reconciliation-matched-day").Length() != 0 {
		t.Error("what was charged is not known by model")
	}
	file := w.Get(webtest.Dora, "/usage/reconciliation/export").Body.String()
	if lines := strings.Count(file, "\n"); lines != 1+4*all || !strings.Contains(file, "NVIDIA-L40S,96.000000") {
		t.Errorf("want %d lines, got %d:\n%s", 1+4*all, lines, file)
	}
}

func TestAnEmptyFleetIsNoDifference(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	wantText(t, read(t, w.Get(webtest.Dora, "/usage/reconciliation"), http.StatusOK), "empty", "Nothing was counted")
	w.FleetDay(usage.FleetDay{Day: webtest.Now.Format("2006-01-02"), Cluster: "west", Model: "H100"})
	wantText(t, read(t, w.Get(webtest.Dora, "/usage/reconciliation"), http.StatusOK), "fleet-physical", "0")
}
