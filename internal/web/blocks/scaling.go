package blocks

import (
	"github.com/gpu-portal/gpu-portal/internal/autoscale"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// ScalingFacts are how an endpoint scales by itself; none where its owner sets the number.
func ScalingFacts(say page.Words, p autoscale.Policy) (list []ui.DefModel) {
	if p.Automatic() {
		list = append(list, ui.DefModel{Term: say.S("scaling.metric_term"), Test: "scaling-metric",
			Value: say.S("scaling.by_target", "Metric", say.S("scaling.metric_"+string(p.Metric)), "Target",
				say.Number(p.Target))},
			ui.DefModel{Term: say.S("scaling.down_term"), Test: "scaling-down", Value: say.Duration(p.ScaleDownAfter.Std())})
	}
	if p.ToZeroAfter > 0 {
		list = append(list, ui.DefModel{Term: say.S("scaling.zero_term"), Test: "scaling-zero",
			Value: say.S("scaling.zero_value", "After", say.Duration(p.ToZeroAfter.Std()))})
	}
	return list
}

// ScalingFields are the fields of a policy: the metrics that the server and the size can tell, what was typed, and what
// is wrong with it. Prefix goes before their names.
func ScalingFields(say page.Words, typed autoscale.Typed, i catalog.Image, s catalog.Size, wrong func(string) string,
	prefix string) ui.ScalingModel {
	m := ui.ScalingModel{Prefix: prefix, MetricError: wrong("metric"), Target: typed.Target, TargetError: wrong("target"),
		Down: typed.ScaleDownAfter, DownError: wrong("scaleDownAfter"), Zero: typed.ToZeroAfter,
		ZeroError: wrong("toZeroAfter")}
	m.Metrics = append(m.Metrics, ui.OptionModel{Label: say.S("scaling.manual"), Selected: typed.Metric == ""})
	for _, metric := range autoscale.Metrics() {
		if autoscale.Has(metric, i, s) || typed.Metric == string(metric) {
			m.Metrics = append(m.Metrics, ui.OptionModel{Value: string(metric), Selected: typed.Metric == string(metric),
				Label: say.S("scaling.metric_" + string(metric))})
		}
	}
	return m
}
