package sizing

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
)

func chosen(t *testing.T, a Answers) (list []Way, best string, not map[catalog.Technology]string) {
	t.Helper()
	a, problems := Check(a)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	not = map[catalog.Technology]string{}
	var names []string
	list = Choose(a)
	for _, w := range list {
		if w.Fitness == Recommended {
			names = append(names, string(w.Technology))
		}
		if w.Fitness == Unsuited {
			for _, r := range w.Reasons {
				not[w.Technology] += r.ID + " "
			}
		}
	}
	return list, strings.Join(names, " "), not
}

func TestTheChoiceByPlatform(t *testing.T) {
	for sentence, c := range map[string]struct {
		answers Answers
		best    string                        // recommended, in their order
		not     map[catalog.Technology]string // a reason that is among those said
	}{
		"notebooks on bare metal": {Answers{Platform: BareMetal}, "mig", map[catalog.Technology]string{
			catalog.VGPU: "sizing.on.no_hypervisor", catalog.Passthrough: "sizing.on.no_hypervisor"}},
		"large training on bare metal": {Answers{Platform: BareMetal, Work: Train, Billions: 7}, "full",
			map[catalog.Technology]string{catalog.MIG: "sizing.not.large", catalog.TimeSlicing: "sizing.not.large",
				catalog.MPS: "sizing.not.large"}},
		"tenants on bare metal": {Answers{Platform: BareMetal, Sharing: Tenants}, "mig",
			map[catalog.Technology]string{catalog.TimeSlicing: "sizing.not.strangers", catalog.MPS: "sizing.not.memory"}},
		"a service with steady times": {Answers{Platform: BareMetal, Work: Inference, Latency: true}, "mig full",
			map[catalog.Technology]string{catalog.TimeSlicing: "sizing.not.latency", catalog.MPS: "sizing.not.latency"}},
		"notebooks on KVM": {Answers{Platform: KVM}, "vgpu", map[catalog.Technology]string{
			catalog.Full: "sizing.on.whole_guest"}},
		"desktops on vSphere": {Answers{Platform: VSphere, Work: Render}, "vgpu passthrough",
			map[catalog.Technology]string{catalog.MIG: "sizing.not.draws"}},
		"steady times on vSphere": {Answers{Platform: VSphere, Work: Inference, Latency: true}, "",
			map[catalog.Technology]string{catalog.VGPU: "sizing.not.latency"}},
		"tenants in a cloud": {Answers{Platform: Cloud, Sharing: Tenants, Work: Train}, "full", map[catalog.Technology]string{
			catalog.VGPU: "sizing.on.vgpu_cloud", catalog.Passthrough: "sizing.on.passed_cloud",
			catalog.TimeSlicing: "sizing.not.strangers"}},
		"notebooks at the edge": {Answers{Platform: Edge}, "mps time-slicing", map[catalog.Technology]string{
			catalog.VGPU: "sizing.on.vgpu_edge"}},
		"nobody else at the edge": {Answers{Platform: Edge, Sharing: Alone}, "", map[catalog.Technology]string{
			catalog.MPS: "sizing.not.alone", catalog.TimeSlicing: "sizing.not.alone"}},
	} {
		_, best, not := chosen(t, c.answers)
		if best != c.best {
			t.Errorf("%s: want %q recommended, got %q", sentence, c.best, best)
		}
		for technology, reason := range c.not {
			if !strings.Contains(not[technology], reason) {
				t.Errorf("%s: want %s kept out by %s, got %q", sentence, technology, reason, not[technology])
			}
		}
	}
}

// Of every platform each technology is told, with a source, and whatever is answered each reason is a sentence in both
// languages; what is no choice never stands before what is.
func TestEveryChoiceHasItsReasonAndSource(t *testing.T) {
	words := i18n.MustLoad()
	for _, p := range Platforms() {
		for _, work := range Works() {
			for _, sharing := range Sharings() {
				for _, latency := range []bool{false, true} {
					list, _, _ := chosen(t, Answers{Platform: p, Work: work, Sharing: sharing, Latency: latency, Billions: 7})
					if len(list) != 7 {
						t.Fatalf("%s: want all seven technologies, got %d", p, len(list))
					}
					last := Recommended
					for _, w := range list {
						if w.Source == "" || len(w.Reasons) == 0 || w.Fitness == Recommended && last != Recommended ||
							w.Fitness == Possible && last == Unsuited {
							t.Fatalf("%s %s %s: %+v", p, work, sharing, w)
						}
						last = w.Fitness
						for _, r := range w.Reasons {
							for _, lang := range []string{"en", "de"} {
								if said := words.For(lang).Say(r); said == "" || said == r.ID {
									t.Fatalf("%s: %s has no words", lang, r.ID)
								}
							}
						}
					}
				}
			}
		}
	}
	if Choose(Answers{}) != nil {
		t.Error("nobody asked for a platform")
	}
	if _, problems := Check(Answers{Platform: "mainframe"}); len(problems) != 1 || problems[0].Name != "platform" {
		t.Errorf("want the platform refused, got %v", problems)
	}
}

// Where response times count, of what is on offer nothing is proposed whose compute is shared.
func TestSteadyTimesTakeComputeOfOnesOwn(t *testing.T) {
	a, _ := Check(Answers{Work: Inference, Latency: true, MemoryGiB: 4})
	for _, size := range catalog.EveryRow().Sizes {
		adv := Propose(a, []Offer{{Size: size}})
		shares := size.Accelerator.Share < 1 && size.Isolation != catalog.IsolationHard
		if len(adv.Proposals) > 0 && (shares || size.CPUOnly()) {
			t.Errorf("%s is proposed", size.Name)
		}
	}
	if adv := Propose(a, nil); !strings.Contains(adv.Remarks[0].ID, "latency") {
		t.Errorf("when not to share is not said: %v", adv.Remarks)
	}
}
