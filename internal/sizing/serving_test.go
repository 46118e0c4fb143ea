package sizing

import (
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

func TestServeReadsNames(t *testing.T) {
	for name, want := range map[string]struct {
		model     string
		billions  float64
		precision Precision
	}{
		"Qwen/Qwen2.5-7B":                               {"Qwen2.5 7B", 0, FP16},
		"Qwen/Qwen2.5-7B-Instruct-AWQ":                  {"Qwen2.5 7B", 0, INT4},
		"qwen/qwen2.5-72b-instruct-gptq-int8":           {"Qwen2.5 72B", 0, INT8},
		"meta-llama/Llama-3.1-8B-Instruct":              {"Llama 3.1 8B", 0, FP16},
		"neuralmagic/Meta-Llama-3-8B-Instruct-FP8":      {"", 8, INT8},
		"Qwen/Qwen3-30B-A3B":                            {"", 30, FP16},
		"mistralai/Mixtral-8x7B-Instruct-v0.1":          {"", 56, FP16},
		"HuggingFaceTB/SmolLM2-360M-Instruct":           {"", 0.36, FP16},
		"someone/tiny-1.1B-chat-GGUF":                   {"", 1.1, FP16},
		"someone/tiny-1.1B-Q4_K_M":                      {"", 1.1, INT4},
		"/shared/models/qwen2.5-14b":                    {"Qwen2.5 14B", 0, FP16},
		"s3://models/released/llama-3.1-70b":            {"Llama 3.1 70B", 0, FP16},
		"Qwen/Qwen2.5-7Bee":                             {"", 0, ""},
		"openai/whisper-large-v3":                       {"", 0, ""},
		"someone/a99999999999999999999999999999999999b": {"", 0, ""},
		"someone/model-999x9999B":                       {"", 0, ""}, // larger than anything that is
		"":                                              {"", 0, ""},
	} {
		s, ok := Serve(catalog.Model{Source: catalog.SourceOf(name), Name: name})
		if ok != (want.precision != "") {
			t.Errorf("%s: understood %v", name, ok)
			continue
		}
		if ok && (s.Answers.Model != want.model || s.Answers.Billions != want.billions ||
			s.Answers.Precision != want.precision || s.Estimate.GiB <= 0 || s.Assumed() != (want.model == "")) {
			t.Errorf("%s: want %+v, got %+v", name, want, s.Answers)
		}
	}
}

// More context and wider weights never take less.
func TestServeCountsContextAndQuantization(t *testing.T) {
	m := catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen2.5-7B"}
	plain, _ := Serve(m)
	m.ContextLength = 32768
	long, _ := Serve(m)
	m.Quantization = "fp8"
	narrow, _ := Serve(m)
	if !(narrow.Estimate.GiB < plain.Estimate.GiB && plain.Estimate.GiB < long.Estimate.GiB) {
		t.Errorf("got %v, %v with context, %v narrow", plain.Estimate.GiB, long.Estimate.GiB, narrow.Estimate.GiB)
	}
}

func TestRoomFor(t *testing.T) {
	card := catalog.Size{Technology: catalog.Full, Accelerator: catalog.Accelerator{Share: 1, Count: 2, MemoryGiB: 160}}
	slices := catalog.Size{Technology: catalog.MIG, Accelerator: catalog.Accelerator{Share: 0.5, Count: 2, MemoryGiB: 80}}
	cpu := catalog.Size{Technology: catalog.CPUOnly, Memory: "16Gi"}
	for _, c := range []struct {
		size   catalog.Size
		engine catalog.Engine
		want   float64
	}{{card, catalog.VLLM, 160}, {slices, catalog.VLLM, 40}, {cpu, catalog.VLLM, 0}, {cpu, catalog.LlamaCpp, 16}} {
		if got := RoomFor(c.size, c.engine); got != c.want {
			t.Errorf("%s %s: want %v, got %v", c.size.Technology, c.engine, c.want, got)
		}
	}
}

func TestSmallestThatFits(t *testing.T) {
	size := func(name string, gib, share float64, price int64) catalog.Size {
		s := catalog.Size{Name: name, Technology: catalog.MIG, Isolation: catalog.IsolationHard,
			Accelerator: catalog.Accelerator{Share: share, MemoryGiB: gib}}
		s.PricePerHour.Minor = price
		return s
	}
	spot := size("spot-20", 20, 0.5, 10)
	spot.Preemptible = true
	offers := []Offer{{Size: size("card-80", 80, 1, 400)}, {Size: size("slice-40", 40, 0.5, 200)},
		{Size: size("slice-10", 10, 0.1, 50)}, {Size: spot},
		{Size: size("refused-20", 20, 0.25, 90), Problem: i18n.T("request.size_unknown")}}
	s, _ := Serve(catalog.Model{Source: catalog.FromHub, Name: "Qwen/Qwen2.5-7B"})
	if got, ok := s.Smallest(catalog.VLLM, offers); !ok || got.Size.Name != "slice-40" {
		t.Errorf("want the slice of 40 GiB for %v GiB, got %q", s.Estimate.GiB, got.Size.Name)
	}
	large, _ := Serve(catalog.Model{Source: catalog.FromHub, Name: "meta-llama/Llama-3.1-405B"})
	if got, ok := large.Smallest(catalog.VLLM, offers); ok {
		t.Errorf("want none for %v GiB, got %q", large.Estimate.GiB, got.Size.Name)
	}
}
