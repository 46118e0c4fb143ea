package requests

import (
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// Only a start is called by the name of its workload: anything else would read like a second start of it.
func TestEachKindOfRequestIsCalledWhatItIs(t *testing.T) {
	hours := func(n int) catalog.Duration { return catalog.Duration(time.Duration(n) * time.Hour) }
	spec := request.Spec{Name: "nb-dana-nld3", Lease: hours(2), LeaseBefore: hours(8),
		Size: catalog.Size{Title: "Whole H100"}}
	cases := map[request.Kind]struct{ name, title, asks string }{
		request.StartKind: {"nb-dana-nld3", "Request: nb-dana-nld3", "Dana Develop requests Whole H100"},
		request.ExtendKind: {"Extension of nb-dana-nld3: 8 h → 10 h (+€7.80)",
			"Extension of nb-dana-nld3: 8 h → 10 h (+€7.80)",
			"Dana Develop: Extension of nb-dana-nld3: 8 h → 10 h (+€7.80)"},
		request.ResumeKind: {"Resume nb-dana-nld3", "Resume nb-dana-nld3", "Dana Develop: Resume nb-dana-nld3"},
		request.QuotaKind:  {"More quota: Whole H100", "More quota: Whole H100", "Dana Develop requests Whole H100"},
	}
	say := page.Words{Localizer: i18n.MustLoad().For("en")}
	for kind, want := range cases {
		r := request.Request{Kind: kind, AskerName: "Dana Develop", Spec: spec,
			Estimate: usage.Money{Minor: 780, Currency: "EUR"}}
		if got := blocks.RequestName(say, r); got != want.name {
			t.Errorf("%s: want the name %q, got %q", kind, want.name, got)
		}
		if got := requestTitle(say, r); got != want.title {
			t.Errorf("%s: want the title %q, got %q", kind, want.title, got)
		}
		if got := asksFor(say, r); got != want.asks {
			t.Errorf("%s: want %q, got %q", kind, want.asks, got)
		}
	}
	for kind := range cases {
		if pendingWords[kind] == "" {
			t.Errorf("%s: nothing is said while it is pending", kind)
		}
	}
}

func TestTheListSaysWhyARequestWasRejected(t *testing.T) {
	d := request.Decision{Note: " Try the 40 GB slice.\nIt was free all week."}
	if got := rejectedNote(request.Request{State: request.Rejected, Decision: d}); got != "Try the 40 GB slice." {
		t.Errorf("want the first line, got %q", got)
	}
	if got := rejectedNote(request.Request{State: request.Approved, Decision: d}); got != "" {
		t.Errorf("an approval's note stands on its page, got %q", got)
	}
}
