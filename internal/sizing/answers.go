package sizing

import (
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
)

// Work is what somebody wants to do.
type Work string

// The kinds of work.
const (
	Explore   Work = "explore"   // a notebook, to try things and look at data
	Train     Work = "train"     // a model from scratch, or all of its weights
	FineTune  Work = "fine-tune" // adapters on top of a model whose weights stay (LoRA)
	Inference Work = "inference" // serve a model
	Render    Work = "render"    // pictures, desktops
	Test      Work = "test"      // tests of a pipeline: short, many
)

// Works lists them in the order in which people are asked.
func Works() []Work { return []Work{Explore, Train, FineTune, Inference, Render, Test} }

// Sharing is who else may be on the card.
type Sharing string

// The answers.
const (
	Alone   Sharing = "alone"   // nobody
	Team    Sharing = "team"    // colleagues that one trusts
	Tenants Sharing = "tenants" // others, who may be careless or worse
)

// Sharings lists them, the most open first.
func Sharings() []Sharing { return []Sharing{Team, Tenants, Alone} }

// Precision is how a weight is stored.
type Precision string

// The precisions, with their bytes in a table beside the formula.
const (
	FP32 Precision = "fp32"
	FP16 Precision = "fp16" // also bf16
	INT8 Precision = "int8" // also fp8
	INT4 Precision = "int4"
)

// Precisions lists them, the widest first.
func Precisions() []Precision { return []Precision{FP32, FP16, INT8, INT4} }

// Answers are what somebody said. The zero value asks for a notebook to try things in, among colleagues. Of the three
// ways to say how much memory is needed the first that is there counts: MemoryGiB, a model by name, a number of
// parameters.
type Answers struct {
	Work      Work
	Sharing   Sharing
	Lease     catalog.Duration // how long; 0 for a working day
	MemoryGiB float64          // of GPU memory
	Model     string           // name in Models
	Billions  float64          // of parameters
	Precision Precision        // of the weights; FP16 where empty
	Tokens    int              // of context in each sequence; 4096 where 0
	Batch     int              // sequences at once; 1 where 0
	Latency   bool             // responses must come in a steady time
	Platform  Platform         // what the nodes run on, for the choice of a technology; "" where that is not asked
}

// Bounds of what can be answered; beyond them nothing that exists would do and sums would lose their meaning.
const (
	mostGiB      = 100_000
	mostBillions = 10_000
	mostTokens   = 10_000_000
	mostBatch    = 100_000
)

// Check gives the answers with their usual values filled in, and a problem for each field that cannot be.
func Check(a Answers) (Answers, []fault.Field) {
	var problems []fault.Field
	wrong := func(name string, reason i18n.Text) {
		problems = append(problems, fault.Field{Name: name, Reason: reason})
	}
	a.Work = orElse(a.Work, Explore)
	a.Sharing = orElse(a.Sharing, Team)
	a.Precision = orElse(a.Precision, FP16)
	a.Model = strings.TrimSpace(a.Model)
	if !contains(Works(), a.Work) {
		wrong("work", i18n.T("sizing.choose"))
	}
	if !contains(Sharings(), a.Sharing) {
		wrong("sharing", i18n.T("sizing.choose"))
	}
	if !contains(Precisions(), a.Precision) {
		wrong("precision", i18n.T("sizing.choose"))
	}
	if a.Platform != "" && !contains(Platforms(), a.Platform) {
		wrong("platform", i18n.T("sizing.choose"))
	}
	if _, ok := ModelNamed(a.Model); a.Model != "" && !ok {
		wrong("model", i18n.T("sizing.model_unknown"))
	}
	for _, n := range []struct {
		field       string
		value, most float64
	}{{"memoryGiB", a.MemoryGiB, mostGiB}, {"billions", a.Billions, mostBillions},
		{"tokens", float64(a.Tokens), mostTokens}, {"batch", float64(a.Batch), mostBatch}} {
		if !(n.value >= 0 && n.value <= n.most) { // not a number is neither
			wrong(n.field, i18n.T("sizing.out_of_bounds", "Bound", int(n.most)))
		}
	}
	if a.Lease < 0 || a.Lease.Std() > 366*24*time.Hour {
		wrong("lease", i18n.T("sizing.lease"))
	}
	a.Lease, a.Tokens, a.Batch = orElse(a.Lease, catalog.Duration(8*time.Hour)), orElse(a.Tokens, 4096), orElse(a.Batch, 1)
	return a, problems
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func contains[T comparable](list []T, value T) bool {
	for _, v := range list {
		if v == value {
			return true
		}
	}
	return false
}

// Offer is one size as the asker could have it now.
type Offer struct {
	Size    catalog.Size
	Fit     inventory.Fit
	Now     bool      // it would start at once
	Ahead   int       // workloads that wait for it
	Approve bool      // somebody has to approve it
	Problem i18n.Text // why it cannot be asked for; zero when it can
}

// Advice is the answer.
type Advice struct {
	Estimate  Estimate
	Proposals []Proposal  // the best first
	Remarks   []i18n.Text // when not to share, and what else is worth knowing for this work
	Ways      []Way       // the technologies on the platform, the best first; nil without a platform
	Nothing   i18n.Text   // why no size will do; zero when one does
}

// Proposal is a size and why.
type Proposal struct {
	Offer   Offer
	Reasons []i18n.Text
	Beware  []i18n.Text
}
