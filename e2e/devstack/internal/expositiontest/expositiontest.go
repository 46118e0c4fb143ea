// Package expositiontest reads pages of metrics in tests, as Prometheus does.
package expositiontest

import (
	"io"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Parse gives the metrics of a page in the text format by name; a page that is none fails the test.
func Parse(t *testing.T, page io.Reader) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(page)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// Label is the value of a label of a row; "" where it has none.
func Label(m *dto.Metric, name string) string {
	for _, l := range m.Label {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
