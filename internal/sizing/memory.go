package sizing

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Model is what the formula needs to know of a model.
type Model struct {
	Name     string
	Billions float64 // of parameters
	Layers   int
	KVHeads  int // of keys and values: fewer than heads where they are grouped
	HeadDim  int
	Source   string // repository whose config.json says so
}

// models are those that people ask for. Layers, key-value heads and head size are num_hidden_layers,
// num_key_value_heads and head_dim (or hidden_size divided by num_attention_heads) of config.json in the repository on
// huggingface.co that Source names; parameters are what its model card says.
var models = []Model{
	{"Qwen2.5 0.5B", 0.49, 24, 2, 64, "Qwen/Qwen2.5-0.5B"},
	{"Llama 3.2 1B", 1.24, 16, 8, 64, "meta-llama/Llama-3.2-1B"},
	{"Qwen2.5 1.5B", 1.54, 28, 2, 128, "Qwen/Qwen2.5-1.5B"},
	{"Llama 3.2 3B", 3.21, 28, 8, 128, "meta-llama/Llama-3.2-3B"},
	{"Phi-3 mini", 3.82, 32, 32, 96, "microsoft/Phi-3-mini-4k-instruct"},
	{"Mistral 7B", 7.25, 32, 8, 128, "mistralai/Mistral-7B-v0.3"},
	{"Qwen2.5 7B", 7.61, 28, 4, 128, "Qwen/Qwen2.5-7B"},
	{"Llama 3.1 8B", 8.03, 32, 8, 128, "meta-llama/Llama-3.1-8B"},
	{"Gemma 2 9B", 9.24, 42, 8, 256, "google/gemma-2-9b"},
	{"Qwen2.5 14B", 14.7, 48, 8, 128, "Qwen/Qwen2.5-14B"},
	{"Gemma 2 27B", 27.2, 46, 16, 128, "google/gemma-2-27b"},
	{"Qwen2.5 32B", 32.5, 64, 8, 128, "Qwen/Qwen2.5-32B"},
	{"Mixtral 8x7B", 46.7, 32, 8, 128, "mistralai/Mixtral-8x7B-v0.1"},
	{"Llama 3.1 70B", 70.6, 80, 8, 128, "meta-llama/Llama-3.1-70B"},
	{"Qwen2.5 72B", 72.7, 80, 8, 128, "Qwen/Qwen2.5-72B"},
	{"Llama 3.1 405B", 406, 126, 8, 128, "meta-llama/Llama-3.1-405B"},
}

// Models is the table, the smallest first.
func Models() []Model { return append([]Model{}, models...) }

// ModelNamed finds a model.
func ModelNamed(name string) (Model, bool) {
	for _, m := range models {
		if strings.EqualFold(m.Name, name) {
			return m, true
		}
	}
	return Model{}, false
}

// likely is the known model next in size: its layers and heads are a fair guess for one of which only the parameters
// are told.
func likely(billions float64) Model {
	best := models[0]
	for _, m := range models {
		if math.Abs(math.Log(m.Billions/billions)) < math.Abs(math.Log(best.Billions/billions)) {
			best = m
		}
	}
	best.Name, best.Billions = "", billions
	return best
}

// bytesOf is what one weight takes.
var bytesOf = map[Precision]float64{FP32: 4, FP16: 2, INT8: 1, INT4: 0.5}

const (
	// adamBytes are what training with Adam in mixed precision keeps of each parameter: weight and gradient in 16 bits,
	// and in 32 bits a copy of the weight and the two moments: 2+2+4+4+4 (Rajbhandari and others, ZeRO, 2020, section
	// 3.1).
	adamBytes = 16
	// trained is how much of a model adapters train. A guess: LoRA of rank 16 on all linear layers is between half and one
	// per cent.
	trained = 0.01
	// activationShare of what a model keeps is added for activations when training, with checkpoints in each layer. A
	// guess: it grows with batch and length.
	activationShare = 0.2
	// overheadShare and overheadGiB are CUDA's context, libraries and what an allocator cannot use. A guess: 0.5 to 1.5
	// GiB and some per cent are seen.
	overheadShare = 0.05
	overheadGiB   = 1
	kvBytes       = 2 // keys and values are kept in 16 bits
	gib           = 1 << 30
)

// Part is one summand of an estimate: what it is, the formula with its numbers, and how much it comes to.
type Part struct {
	What    i18n.Text
	Formula string // "8.03 × 10⁹ × 2 bytes"
	GiB     float64
}

// Estimate is how much GPU memory the work needs. GiB are 1024³ bytes, as sizes are given in; GB are the makers' 10⁹.
type Estimate struct {
	GiB   float64
	Parts []Part
	// Given says that the number was told, or is a usual one for the work, and not computed.
	Given bool
}

// GB is the estimate in 10⁹ bytes.
func (e Estimate) GB() float64 { return e.GiB * gib / 1e9 }

// usual is what work needs of which nothing else is told. Guesses, to begin with something small.
var usual = map[Work]float64{Explore: 8, Train: 16, FineTune: 16, Inference: 16, Render: 8, Test: 4}

// EstimateFor computes the memory of checked answers.
func EstimateFor(a Answers) Estimate {
	m, known := ModelNamed(a.Model)
	switch {
	case a.MemoryGiB > 0:
		return Estimate{GiB: a.MemoryGiB, Given: true}
	case known:
	case a.Billions > 0:
		m = likely(a.Billions)
	default:
		return Estimate{GiB: usual[a.Work], Given: true}
	}
	var e Estimate
	switch a.Work {
	case Train:
		e.weights(m, "sizing.part.adam", adamBytes)
		e.add("sizing.part.activations", e.GiB*activationShare, fmt.Sprintf("%s GiB × %s", short(e.GiB),
			short(activationShare)))
	case FineTune:
		e.weights(m, "sizing.part.weights", bytesOf[a.Precision])
		e.add("sizing.part.adapters", m.Billions*1e9*trained*adamBytes/gib, fmt.Sprintf("%s × 10⁹ × %s × %d bytes",
			short(m.Billions), short(trained), adamBytes))
		e.add("sizing.part.activations", e.GiB*activationShare, fmt.Sprintf("%s GiB × %s", short(e.GiB),
			short(activationShare)))
	default:
		e.weights(m, "sizing.part.weights", bytesOf[a.Precision])
		bytes := 2 * float64(m.Layers) * float64(m.KVHeads) * float64(m.HeadDim) * float64(a.Tokens) * float64(
			a.Batch) * kvBytes
		e.add("sizing.part.kv", bytes/gib, fmt.Sprintf("2 × %d × %d × %d × %d × %d × %d bytes", m.Layers, m.KVHeads,
			m.HeadDim, a.Tokens, a.Batch, kvBytes))
	}
	e.add("sizing.part.overhead", e.GiB*overheadShare+overheadGiB, fmt.Sprintf("%s GiB × %s + %d GiB", short(e.GiB),
		short(overheadShare), overheadGiB))
	return e
}

func (e *Estimate) weights(m Model, what string, bytes float64) {
	e.add(what, m.Billions*1e9*bytes/gib, fmt.Sprintf("%s × 10⁹ × %s bytes", short(m.Billions), short(bytes)))
}

func (e *Estimate) add(what string, amount float64, formula string) {
	e.Parts = append(e.Parts, Part{What: i18n.T(what), Formula: formula, GiB: amount})
	e.GiB += amount
}

// short writes a number with three digits that count.
func short(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.3g", v), ".0") }
