package sizing

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// Served is what a model that was named with a start takes, as far as its name tells.
type Served struct {
	Answers  Answers // by which it was computed; Model is "" where only a number of parameters was read
	Estimate Estimate
}

// Assumed says that layers and heads are those of a known model of about this many parameters.
func (s Served) Assumed() bool { return s.Answers.Model == "" }

// Serve reads from the name of a model what it needs: a known model and its variants by their repository, else the
// number of parameters that names of weights have by custom ("7B", "8x7B"). ok is false where the name says neither.
// How much context and how many callers at once is what is assumed where the start does not say.
func Serve(m catalog.Model) (s Served, ok bool) {
	name := path.Base(m.ServedName())
	a := Answers{Work: Inference, Precision: precisionOf(m.Quantization + " " + name), Tokens: m.ContextLength}
	if known := modelLike(name); known.Name != "" {
		a.Model = known.Name
	} else if a.Billions = billionsIn(name); a.Billions == 0 {
		return Served{}, false
	}
	a, problems := Check(a)
	return Served{Answers: a, Estimate: EstimateFor(a)}, len(problems) == 0
}

// modelLike is the known model that a name is a variant of, the longest that fits: "Qwen2.5-7B-Instruct-AWQ".
func modelLike(name string) (best Model) {
	length := 0
	for _, m := range models {
		base := path.Base(m.Source)
		if len(base) <= length || len(name) < len(base) || !strings.EqualFold(name[:len(base)], base) {
			continue
		}
		if rest := []rune(name[len(base):]); len(rest) == 0 || !unicode.IsLetter(rest[0]) && !unicode.IsDigit(rest[0]) {
			best, length = m, len(base)
		}
	}
	return best
}

var parameters = regexp.MustCompile(
	`(?i)(?:^|[^a-z0-9.])(?:([0-9]{1,3})x)?([0-9]{1,4}(?:\.[0-9]{1,3})?)([bm])(?:$|[^a-z0-9])`)

// billionsIn is the greatest number of parameters in a name: of "30B-A3B" all experts, for all are in memory.
func billionsIn(name string) (most float64) {
	for at := 0; ; {
		found := parameters.FindStringSubmatchIndex(name[at:])
		if found == nil {
			return most
		}
		part := func(i int) string {
			if found[2*i] < 0 {
				return ""
			}
			return name[at+found[2*i] : at+found[2*i+1]]
		}
		n, _ := strconv.ParseFloat(part(2), 64)
		if experts, err := strconv.ParseFloat(part(1), 64); err == nil {
			n *= experts
		}
		if strings.EqualFold(part(3), "m") {
			n /= 1000
		}
		most = max(most, n)
		at += found[7] // what ended one may begin the next
	}
}

// stored are words by which quantizations go, and how wide a weight is then. Of two the wider counts: "gptq-int8".
var stored = []struct {
	word      *regexp.Regexp
	precision Precision
}{
	{wordOf(`fp8|int8|8bit|w8a8|q8(_[a-z0-9]+)*`), INT8},
	{wordOf(`awq|gptq|int4|4bit|nf4|bitsandbytes|mxfp4|nvfp4|w4a16|i?q4(_[a-z0-9]+)*`), INT4},
}

func wordOf(choices string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[^a-z0-9])(` + choices + `)($|[^a-z0-9])`)
}

func precisionOf(text string) Precision {
	for _, s := range stored {
		if s.word.MatchString(text) {
			return s.precision
		}
	}
	return FP16
}

// RoomFor is the memory in GiB that one server has on a size: of all devices where it can split a model over them, else
// of one; without a GPU main memory, if the engine can do with that.
func RoomFor(s catalog.Size, engine catalog.Engine) float64 {
	if s.CPUOnly() {
		memory, err := resource.ParseQuantity(s.Memory)
		if err != nil || engine != catalog.LlamaCpp && engine != catalog.Other {
			return 0
		}
		return float64(memory.Value()) / gib
	}
	if n := s.Devices(); n > 1 && s.TensorParallel() == 1 {
		return s.Accelerator.MemoryGiB / float64(n)
	}
	return s.Accelerator.MemoryGiB
}

// Smallest is the size with the least GPU memory of those that can be asked for and have room for it; of several the
// one that suits best.
func (s Served) Smallest(engine catalog.Engine, offers []Offer) (Offer, bool) {
	var fitting []Offer
	for _, o := range offers {
		if !o.Size.Hidden && o.Problem.IsZero() && !o.Size.CPUOnly() && RoomFor(o.Size, engine) >= s.Estimate.GiB &&
			suits(s.Answers, s.Estimate, o.Size) {
			fitting = append(fitting, o)
		}
	}
	if len(fitting) == 0 {
		return Offer{}, false
	}
	return slices.MinFunc(fitting, func(x, y Offer) int {
		return cmp.Or(cmp.Compare(x.Size.Accelerator.MemoryGiB, y.Size.Accelerator.MemoryGiB), order(s.Answers, x, y))
	}), true
}
