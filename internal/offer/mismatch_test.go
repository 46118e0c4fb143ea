package offer_test

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	_ "github.com/gpu-portal/gpu-portal/internal/i18n/locales" // the messages
	"github.com/gpu-portal/gpu-portal/internal/license"
	"github.com/gpu-portal/gpu-portal/internal/offer"
)

// compute is the first set with a C-series vGPU on the pool of RTX vWS, which does not license it.
var compute = strings.ReplaceAll(string(catalog.DefaultYAML()), "A40-12Q", "A40-12C")

func TestALicenseThatDoesNotFitTheVGPUIsNotSaved(t *testing.T) {
	t.Parallel()
	s := &memory{}
	o := newService(t, s)
	_, err := o.Save(t.Context(), admin, offer.Draft{Text: compute})
	fails(t, err, fault.Invalid, "offer.problems")
	fields := fault.As(err).Fields
	if len(fields) != 1 || fields[0].Name != "sizes[4].licensePool" || len(s.Revisions) != 0 {
		t.Fatalf("want one problem at the pool and nothing saved, got %+v", fields)
	}
	line := strings.Count(compute[:strings.Index(compute, "licensePool:")], "\n") + 1
	for language, want := range map[string][]string{
		"en": {"vGPU 12 GB", "does not license A40-12C", "series C need a license for NVIDIA AI Enterprise"},
		"de": {"vGPU 12 GB", "lizenziert A40-12C nicht", "Serie C brauchen eine Lizenz von NVIDIA AI Enterprise"},
	} {
		got := i18n.MustLoad().For(language).Say(fields[0].Reason)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: want %q in %q", language, w, got)
			}
		}
	}
	c, err := o.Check(t.Context(), admin, compute)
	if err != nil || len(c.Problems) != 1 || c.Problems[0].Line != line {
		t.Errorf("want the problem at line %d, got %+v %v", line, c.Problems, err)
	}
}

// A pair that is there, from the configuration or an older version, is told and stands in nobody's way.
func TestALicenseThatDoesNotFitAndIsThereIsTold(t *testing.T) {
	t.Parallel()
	s := &memory{Revisions: []offer.Revision{{Version: 1, Text: compute, At: noon}}}
	o := newService(t, s)
	if len(o.Mismatches()) != 0 {
		t.Error("the first set fits")
	}
	if err := o.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	standing, err := o.Status(auditor)
	if err != nil || standing.Active.Version != 1 || len(standing.Problems) != 0 {
		t.Fatalf("want version 1 to run, got %+v %v", standing, err)
	}
	if m := o.Mismatches(); len(m) != 1 || m[0].Size.Name != "vgpu-12q" || m[0].Series != license.SeriesC ||
		m[0].Pool.Name != "nvidia-vws" {
		t.Errorf("want the one pair, got %+v", m)
	}
	dear := strings.Replace(compute, "minor: 55", "minor: 60", 1)
	if c, err := o.Check(t.Context(), admin, dear); err != nil || len(c.Problems) != 0 || len(c.Warnings) != 1 {
		t.Errorf("want a warning and no problem, got %+v %v", c, err)
	}
	if _, err := o.Save(t.Context(), admin, offer.Draft{Text: dear, Base: 1}); err != nil {
		t.Errorf("another change is held up: %v", err)
	}
	other := strings.ReplaceAll(dear, "A40-12C", "A40-24B")
	if _, err := o.Save(t.Context(), admin, offer.Draft{Text: other, Base: 2}); err != nil {
		t.Errorf("RTX vWS licenses the series B: %v", err)
	}
}
