package gpumetrics

import (
	"context"
	"net/url"
	"slices"
	"time"
)

// LicenseSample is what one vGPU says of its license.
type LicenseSample struct {
	Node     string
	UUID     string
	Index    string
	Model    string
	Licensed bool
	At       time.Time
	Expires  time.Time // as the node agent reads it from the driver; zero: not told
}

// Licenses asks what every device says of its vGPU license, those that no pod holds among them. Every card without a
// licensable feature says 0 too, so the caller has to know which nodes have vGPUs. What is older than Config.Stale, or
// neither 0 nor 1, is left out.
func (p *Poller) Licenses(ctx context.Context) ([]LicenseSample, error) {
	l := p.queries.labels
	target := []string{l.Namespace[len(l.Namespace)-1], l.Pod[len(l.Pod)-1]}
	by := maxBy(slices.Concat(l.UUID, l.Model, l.Node, targetLabels, target, []string{"gpu"}))
	const field = "DCGM_FI_DEV_VGPU_LICENSE_STATUS"
	now, nodes := p.cfg.Now(), p.cfg.Nodes()
	values, at, until := map[string]LicenseSample{}, map[string]time.Time{}, map[string]time.Time{}
	for _, q := range []struct {
		query string
		keep  func(key string, s LicenseSample, v float64)
	}{
		{by + "(" + field + ")", func(key string, s LicenseSample, v float64) {
			if v == 0 || v == 1 {
				s.Licensed = v == 1
				values[key] = s
			}
		}},
		{by + "(timestamp(" + field + "))", func(key string, _ LicenseSample, v float64) { at[key] = atSeconds(v) }},
		{"max by (uuid) (gpu_portal_agent_license_expiry_timestamp_seconds)", func(_ string, s LicenseSample, v float64) {
			until[s.UUID] = atSeconds(v)
		}},
	} {
		_, err := p.query(ctx, "query", url.Values{"query": {q.query}}, newTexts(), func(s series) {
			if len(s.samples) == 0 {
				return
			}
			uuid := s.labels.first(l.UUID)
			sample := LicenseSample{Node: nodes.resolve(l.origin(s.labels), uuid), UUID: uuid, Index: s.labels.get("gpu"),
				Model: s.labels.first(l.Model)}
			q.keep(sample.Node+"\x00"+sample.UUID, sample, s.samples[0].value)
		})
		if err != nil {
			return nil, err
		}
	}
	var list []LicenseSample
	for key, s := range values {
		s.At, s.Expires = at[key], until[s.UUID]
		if s.UUID != "" && s.Node != "" && !s.At.IsZero() && now.Sub(s.At) <= p.cfg.Stale {
			list = append(list, s)
		}
	}
	return list, nil
}

func atSeconds(v float64) time.Time {
	if v <= 0 || v > 1e11 { // NaN is neither
		return time.Time{}
	}
	return time.UnixMilli(int64(v * 1000)).UTC()
}
