package sizing

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

func size(name string, t catalog.Technology, i catalog.Isolation, gib, share float64, cents int64) catalog.Size {
	return catalog.Size{Name: name, Title: name, Technology: t, Isolation: i,
		Accelerator: catalog.Accelerator{MemoryGiB: gib, Share: share}, PricePerHour: usage.Money{Minor: cents,
			Currency: "EUR"},
		MaxLease: catalog.Duration(7 * 24 * time.Hour)}
}

func offers(sizes ...catalog.Size) []Offer {
	var list []Offer
	for _, s := range sizes {
		list = append(list, Offer{Size: s, Fit: inventory.Fit{Total: 4, Free: 2, Known: true}, Now: true})
	}
	return list
}

// site has one size of each kind.
func site() []Offer {
	four := size("h100x4", catalog.Full, catalog.IsolationHard, 320, 1, 1560)
	four.Accelerator.Count = 4
	spot := size("l4-spot", catalog.Full, catalog.IsolationHard, 22, 1, 20)
	spot.Preemptible = true
	return offers(
		size("cpu", catalog.CPUOnly, catalog.IsolationNone, 0, 0, 6), size("shared", catalog.TimeSlicing,
			catalog.IsolationNone, 45, 0.25, 30), size("mps", catalog.MPS, catalog.IsolationMemory, 11, 0.25, 28),
		size("mig-10", catalog.MIG, catalog.IsolationHard, 10, 0.142857, 55),
		size("mig-40", catalog.MIG, catalog.IsolationHard, 40, 0.428571, 165),
		size("vgpu", catalog.VGPU, catalog.IsolationMemory, 12, 0.25, 45),
		size("h100", catalog.Full, catalog.IsolationHard, 80, 1, 390), four, spot,
		size("hami", "hami", catalog.IsolationMemory, 8, 0.25, 10), size("odd", "odd", catalog.IsolationUnknown, 500, 0.5, 1))
}

func TestWhatIsProposedFirst(t *testing.T) {
	cases := map[string]struct {
		answers Answers
		want    string // "" where nothing will do
	}{
		"nothing is told":                  {Answers{}, "mps"},
		"trying among strangers":           {Answers{Sharing: Tenants}, "mig-10"},
		"serving eight billion parameters": {Answers{Work: Inference, Model: "Llama 3.1 8B"}, "mig-40"},
		"serving them in four bits":        {Answers{Work: Inference, Model: "Llama 3.1 8B", Precision: INT4}, "mps"},
		"serving seventy billion":          {Answers{Work: Inference, Model: "Llama 3.1 70B"}, "h100x4"},
		"training a small one":             {Answers{Work: Train, Billions: 0.5}, "l4-spot"},
		"training it for days": {Answers{Work: Train, Billions: 0.5,
			Lease: catalog.Duration(48 * time.Hour)}, "mig-40"},
		"training seven billion":                {Answers{Work: Train, Billions: 7}, "h100x4"},
		"tuning seven billion":                  {Answers{Work: FineTune, Model: "Mistral 7B"}, "l4-spot"},
		"a virtual workstation":                 {Answers{Work: Render}, "vgpu"},
		"pictures among strangers":              {Answers{Work: Render, Sharing: Tenants}, "vgpu"},
		"tests":                                 {Answers{Work: Test}, "mps"},
		"tests alone":                           {Answers{Work: Test, Sharing: Alone}, "mig-10"},
		"more than there is":                    {Answers{Work: Inference, Model: "Llama 3.1 405B"}, ""},
		"a number of GiB":                       {Answers{MemoryGiB: 30, Sharing: Tenants}, "mig-40"},
		"a little too much for the slice":       {Answers{MemoryGiB: 10.1, Sharing: Tenants}, "mig-40"},
		"a model by another name's letter case": {Answers{Work: Inference, Model: "llama 3.1 8b"}, "mig-40"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, problems := Check(c.answers)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			adv, got := Propose(a, site()), ""
			if len(adv.Proposals) > 0 {
				got = adv.Proposals[0].Offer.Size.Name
			}
			if got != c.want {
				t.Errorf("want %q, got %q for %.1f GiB", c.want, got, adv.Estimate.GiB)
			}
			if (got == "") == adv.Nothing.IsZero() {
				t.Errorf("what will not do is said: %v", adv.Nothing)
			}
			if len(adv.Remarks) == 0 || got != "" && len(adv.Proposals[0].Reasons) == 0 {
				t.Error("a proposal without a reason helps nobody")
			}
		})
	}
}

func TestTheEstimateShowsItsFormula(t *testing.T) {
	cases := map[string]struct {
		answers Answers
		gib     float64
		parts   []string
	}{
		// 8.03e9 × 2 = 14.96 GiB; 2 × 32 × 8 × 128 × 4096 × 1 × 2 = 0.5 GiB; 5 % and 1 GiB.
		"serving": {Answers{Work: Inference, Model: "Llama 3.1 8B"}, 17.23,
			[]string{"8.03 × 10⁹ × 2 bytes", "2 × 32 × 8 × 128 × 4096 × 1 × 2 bytes", "15.5 GiB × 0.05 + 1 GiB"}},
		// 1e9 × 16 = 14.90 GiB, a fifth more, 5 % and 1 GiB.
		"training": {Answers{Work: Train, Billions: 1}, 19.78, []string{"1 × 10⁹ × 16 bytes", "14.9 GiB × 0.2",
			"17.9 GiB × 0.05 + 1 GiB"}},
		"tuning": {Answers{Work: FineTune, Billions: 1}, 3.53, []string{"1 × 10⁹ × 2 bytes", "1 × 10⁹ × 0.01 × 16 bytes",
			"2.01 GiB × 0.2", "2.41 GiB × 0.05 + 1 GiB"}},
		"told":  {Answers{MemoryGiB: 24, Model: "Llama 3.1 8B"}, 24, nil},
		"usual": {Answers{Work: Render}, 8, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a, _ := Check(c.answers)
			e := EstimateFor(a)
			if math.Abs(e.GiB-c.gib) > 0.02 {
				t.Errorf("want %.2f GiB, got %.3f", c.gib, e.GiB)
			}
			if len(e.Parts) != len(c.parts) {
				t.Fatalf("want %d parts, got %+v", len(c.parts), e.Parts)
			}
			sum := 0.0
			for i, p := range e.Parts {
				sum += p.GiB
				if p.Formula != c.parts[i] {
					t.Errorf("want %q, got %q", c.parts[i], p.Formula)
				}
			}
			if len(e.Parts) > 0 && math.Abs(sum-e.GiB) > 1e-9 {
				t.Errorf("the parts are %f, the whole %f", sum, e.GiB)
			}
		})
	}
	if e := (Estimate{GiB: 80}); math.Abs(e.GB()-85.9) > 0.01 {
		t.Errorf("80 GiB are 85.9 GB, got %f", e.GB())
	}
}

// random answers, and offers of every sort.
func random(r *rand.Rand) (Answers, []Offer) {
	pick := func(n int) int { return r.IntN(n) }
	a := Answers{Work: Works()[pick(6)], Sharing: Sharings()[pick(3)], Precision: Precisions()[pick(4)],
		Lease: catalog.Duration(time.Duration(1+pick(200)) * time.Hour), Tokens: 1 + pick(100_000), Batch: 1 + pick(32)}
	switch pick(4) {
	case 0:
		a.MemoryGiB = r.Float64() * 200
	case 1:
		a.Model = models[pick(len(models))].Name
	case 2:
		a.Billions = r.Float64() * 100
	}
	technologies := []catalog.Technology{catalog.Full, catalog.MIG, catalog.VGPU, catalog.TimeSlicing, catalog.MPS,
		catalog.DRA, catalog.CPUOnly, "hami", "kai"}
	levels := []catalog.Isolation{catalog.IsolationHard, catalog.IsolationMemory, catalog.IsolationNone,
		catalog.IsolationUnknown}
	var list []Offer
	for i := range 1 + pick(20) {
		s := size(string(rune('a'+i)), technologies[pick(9)], levels[pick(4)], float64(1+pick(160)), r.Float64(),
			int64(pick(500)))
		if s.Technology == catalog.Full || pick(4) == 0 {
			s.Accelerator.Share = 1
		}
		if s.CPUOnly() {
			s.Accelerator = catalog.Accelerator{}
		}
		s.Preemptible = pick(5) == 0
		o := Offer{Size: s, Fit: inventory.Fit{Total: 4, Free: pick(3), Known: pick(5) > 0}}
		if pick(6) == 0 {
			o.Problem = i18n.T("request.size_missing")
		}
		list = append(list, o)
	}
	return a, list
}

func TestRulesHoldForEveryAnswer(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	asked := 0
	for i := range 4_000 {
		a, list := random(r)
		a, problems := Check(a)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		adv := Propose(a, list)
		for _, p := range adv.Proposals {
			asked++
			s := p.Offer.Size
			switch {
			case a.Sharing == Tenants && (s.Isolation == catalog.IsolationNone || s.Isolation == catalog.IsolationUnknown):
				t.Fatalf("round %d: strangers are given %s isolation: %+v", i, s.Isolation, s)
			case large(a, adv.Estimate) && s.Accelerator.Share < 1:
				t.Fatalf("round %d: large training is given a share: %+v", i, s)
			case !s.CPUOnly() && s.Accelerator.MemoryGiB < adv.Estimate.GiB:
				t.Fatalf("round %d: %f GiB are needed, %f given", i, adv.Estimate.GiB, s.Accelerator.MemoryGiB)
			case s.Preemptible && a.Work == Inference:
				t.Fatalf("round %d: an endpoint on a node that can be taken away", i)
			case len(p.Reasons) == 0:
				t.Fatalf("round %d: no reason", i)
			}
		}
		if (len(adv.Proposals) == 0) == adv.Nothing.IsZero() {
			t.Fatalf("round %d: %d proposals and %v", i, len(adv.Proposals), adv.Nothing)
		}
	}
	if asked < 3_000 {
		t.Fatalf("only %d proposals were looked at", asked)
	}
}

func TestMoreMemoryNeverGetsASmallerSize(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 4_000 {
		a, list := random(r)
		a, _ = Check(a)
		a.MemoryGiB = 1 + r.Float64()*100
		more := a
		more.MemoryGiB += r.Float64() * 60
		less, greater := Propose(a, list), Propose(more, list)
		if len(greater.Proposals) == 0 {
			continue
		}
		if len(less.Proposals) == 0 {
			t.Fatalf("round %d: %f GiB cannot be had, %f can", i, a.MemoryGiB, more.MemoryGiB)
		}
		was, is := less.Proposals[0].Offer.Size, greater.Proposals[0].Offer.Size
		// training that has become large leaves its share
		wholeInstead := large(more, greater.Estimate) && whole(is) && !whole(was)
		if is.Accelerator.MemoryGiB < was.Accelerator.MemoryGiB && !wholeInstead {
			t.Fatalf("round %d: %f GiB get %s with %f, %f GiB get %s with %f", i, a.MemoryGiB, was.Name,
				was.Accelerator.MemoryGiB, more.MemoryGiB, is.Name, is.Accelerator.MemoryGiB)
		}
	}
}

func TestWhatCannotBeAnswered(t *testing.T) {
	for field, a := range map[string]Answers{"work": {Work: "sleep"}, "sharing": {Sharing: "all"},
		"precision": {Precision: "fp3"}, "model": {Model: "Llama 99"}, "memoryGiB": {MemoryGiB: -1},
		"billions": {Billions: math.NaN()}, "tokens": {Tokens: -1}, "batch": {Batch: 1 << 40}, "lease": {Lease: -1}} {
		if _, problems := Check(a); len(problems) != 1 || problems[0].Name != field {
			t.Errorf("%s: got %v", field, problems)
		}
	}
}

func TestModelsAreInOrder(t *testing.T) {
	for i, m := range models {
		if i > 0 && m.Billions < models[i-1].Billions || m.Layers < 1 || m.KVHeads < 1 || m.HeadDim < 1 || m.Source == "" {
			t.Errorf("%+v", m)
		}
	}
}
