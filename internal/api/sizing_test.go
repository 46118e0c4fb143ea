package api

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/sizing"
)

func TestTheAdviceAsJSON(t *testing.T) {
	body := SizingBody{Work: "inference", Model: "Llama 3.1 8B", Sharing: "tenants", Lease: "2h"}
	said, err := body.Answers()
	if err != nil {
		t.Fatal(err)
	}
	answers, problems := sizing.Check(said)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	offers := []sizing.Offer{{Size: catalog.Size{Name: "h100", Title: "Whole H100", Technology: catalog.Full,
		Titles:    catalog.Titles{"de": "Ganze H100"},
		Isolation: catalog.IsolationHard, Accelerator: catalog.Accelerator{MemoryGiB: 80, Share: 1}},
		Fit: inventory.Fit{Total: 8, Free: 3, Known: true}, Now: true}}
	v := sizingView(sizing.Propose(answers, offers), i18n.MustLoad().For("en"))
	if len(v.Proposals) != 1 || v.Proposals[0].Size != "h100" || v.Proposals[0].Capacity.Free != 3 ||
		!v.Proposals[0].StartsNow || len(v.Proposals[0].Reasons) < 2 {
		t.Errorf("got %+v", v.Proposals)
	}
	german := sizingView(sizing.Propose(answers, offers), i18n.MustLoad().For("de"))
	if got := german.Proposals[0].Title; got != "Ganze H100" {
		t.Errorf("want the title in the language of the answer, got %q", got)
	}
	if v.Estimate.GiB != 17.23 || len(v.Estimate.Parts) != 3 || v.Estimate.Parts[1].GiB != 0.5 ||
		v.Estimate.Parts[0].What != "Weights" {
		t.Errorf("got %+v", v.Estimate)
	}
	if len(v.Remarks) == 0 || v.Nothing != "" {
		t.Errorf("got %+v", v)
	}
	if _, err := (SizingBody{Lease: "ages"}).Answers(); err == nil {
		t.Error("want a length of time that cannot be read to be told")
	}
}

// With a platform the answer ranks the technologies there, each with its reason and source.
func TestTheWaysOnAPlatformAsJSON(t *testing.T) {
	body := SizingBody{Work: "train", Billions: 7, Platform: "bare-metal", Latency: true}
	said, err := body.Answers()
	if err != nil {
		t.Fatal(err)
	}
	answers, problems := sizing.Check(said)
	if len(problems) > 0 || !answers.Latency {
		t.Fatal(problems, answers)
	}
	v := sizingView(sizing.Propose(answers, nil), i18n.MustLoad().For("en"))
	if len(v.Ways) != 7 || v.Ways[0].Technology != "full" || v.Ways[0].Fitness != "recommended" ||
		v.Ways[0].Name != "Whole GPU" {
		t.Fatalf("got %+v", v.Ways)
	}
	for _, w := range v.Ways {
		if w.Source == "" || len(w.Reasons) == 0 {
			t.Errorf("%+v", w)
		}
		if w.Technology == "time-slicing" && (w.Fitness != "unsuited" ||
			w.Reasons[1] != "Do not share for this: training at this scale computes all the time and needs whole cards.") {
			t.Errorf("got %+v", w)
		}
	}
}
