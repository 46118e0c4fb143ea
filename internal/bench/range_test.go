package bench_test

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// limit is what one figure may be.
type limit struct {
	AtLeast *float64 `json:"atLeast,omitempty"`
	AtMost  *float64 `json:"atMost,omitempty"`
}

// ranges is testdata/<name>/range.yaml: figures by benchmark and by unit.
type ranges map[string]map[string]limit

func scenario(t testing.TB, name string) (load, ranges) {
	t.Helper()
	var l load
	var r ranges
	for file, into := range map[string]any{"load.yaml": &l, "range.yaml": &r} {
		text, err := os.ReadFile(filepath.Join("testdata", name, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			t.Fatalf("%s/%s: %v", name, file, err)
		}
	}
	return l, r
}

// report writes a figure down and fails the benchmark when it is out of its range.
func (r ranges) report(b *testing.B, name, unit string, value float64) {
	b.Helper()
	b.ReportMetric(value, unit)
	limit := r[name][unit]
	if limit.AtLeast != nil && value < *limit.AtLeast {
		b.Errorf("%s: %.4g %s, want at least %.4g", name, value, unit, *limit.AtLeast)
	}
	if limit.AtMost != nil && value > *limit.AtMost {
		b.Errorf("%s: %.4g %s, want at most %.4g", name, value, unit, *limit.AtMost)
	}
}
