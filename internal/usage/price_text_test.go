package usage_test

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/usage"
)

func TestDraftsAsTextComeBack(t *testing.T) {
	drafts := []usage.PriceDraft{{Kind: "size", Subject: "mig-1g.10gb", Tenant: "vision", Amount: "2.50",
		From: "2026-12-01"}, {Kind: "cpu", Amount: "0.0042"}, {Kind: "seat", Subject: "yes: \"no\"", Amount: ""}}
	got, text := usage.ReadDrafts(usage.DraftsYAML(drafts))
	if len(text.Problems) > 0 {
		t.Fatalf("%v in\n%s", text.Problems, usage.DraftsYAML(drafts))
	}
	if diff := cmp.Diff(drafts, got); diff != "" {
		t.Error(diff)
	}
}

func TestProblemsOfDraftsAsTextHaveLines(t *testing.T) {
	_, text := usage.ReadDrafts("- kind: cpu\n  price: 3\n- [1]\n- amount: {}\n")
	var got []string
	for _, p := range text.Problems {
		got = append(got, strconv.Itoa(p.Line)+" "+p.Reason.ID)
	}
	if diff := cmp.Diff([]string{"2 yamltext.unknown", "3 yamltext.want_map", "4 yamltext.want_value"}, got); diff != "" {
		t.Error(diff)
	}
}
