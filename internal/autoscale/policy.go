package autoscale

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Metric is what is measured of an endpoint.
type Metric string

// The metrics.
const (
	Concurrency Metric = "concurrency" // requests under way in the gateway
	Requests    Metric = "requests"    // requests per second
	Queue       Metric = "queue"       // requests that wait inside of the servers, as these tell Prometheus
	GPU         Metric = "gpu"         // per cent of the GPU's time
)

// Metrics lists them.
func Metrics() []Metric { return []Metric{Concurrency, Requests, Queue, GPU} }

// Policy is how an endpoint scales. The zero Policy leaves the number to its owner.
type Policy struct {
	Metric Metric  `json:"metric,omitempty"` // "": the owner sets the number
	Target float64 `json:"target,omitempty"` // of the metric, for each replica
	// how long a lower number must have been enough before replicas are taken away
	ScaleDownAfter catalog.Duration `json:"scaleDownAfter,omitempty"`
	// after how long without requests none is left; 0: never
	ToZeroAfter catalog.Duration `json:"toZeroAfter,omitempty"`
}

// Automatic reports whether the number follows a metric.
func (p Policy) Automatic() bool { return p.Metric != "" }

// Acts reports whether anything is done to the endpoint that its owner does not do.
func (p Policy) Acts() bool { return p.Automatic() || p.ToZeroAfter > 0 }

// What is used where nobody says otherwise.
const (
	UsualScaleDownAfter = catalog.Duration(5 * time.Minute)
	UsualToZeroAfter    = catalog.Duration(15 * time.Minute)
)

// Bounds of the windows: shorter ones would end within one round of measuring.
const (
	ShortestWindow = catalog.Duration(10 * time.Second)
	LongestWindow  = catalog.Duration(7 * 24 * time.Hour)
)

// maxTarget bounds a target: no server has more of anything.
const maxTarget = 100_000

// UsualTarget is a target that suits a kind of server: what one replica does well with, as far as can be said without
// knowing the model.
func UsualTarget(m Metric, e catalog.Engine) float64 {
	switch m {
	case Concurrency:
		switch e {
		case catalog.VLLM, catalog.NIM, catalog.Triton: // which batch requests
			return 16
		case catalog.LlamaCpp: // which has a few slots
			return 2
		}
		return 8
	case Requests:
		return 5
	case Queue:
		return 4
	case GPU:
		return 80
	}
	return 0
}

// Has reports whether a server on a size can tell a metric.
func Has(m Metric, i catalog.Image, s catalog.Size) bool {
	switch m {
	case Concurrency, Requests:
		return true
	case Queue:
		return i.Runtime != nil && i.Runtime.Metrics.Queue != ""
	case GPU:
		return s.Devices() > 0 && s.Technology.OwnReadings()
	}
	return false
}

// Typed is a policy as it was written, in text.
type Typed struct{ Metric, Target, ScaleDownAfter, ToZeroAfter string }

// IsZero reports whether nothing was written.
func (t Typed) IsZero() bool { return t == Typed{} }

// Problem is something wrong with a policy, by the name of its field.
type Problem struct {
	Field  string
	Reason i18n.Text
}

// Parse reads a policy for an endpoint that may have none of its replicas left (toZero), or not. What was left out is
// filled in. Every problem is told.
func Parse(t Typed, toZero bool, i catalog.Image, s catalog.Size) (Policy, []Problem) {
	var problems []Problem
	wrong := func(field string, reason i18n.Text) { problems = append(problems, Problem{field, reason}) }
	p := Policy{Metric: Metric(strings.TrimSpace(t.Metric))}
	switch {
	case p.Metric == "":
	case !slices.Contains(Metrics(), p.Metric):
		wrong("metric", i18n.T("scaling.metric_unknown", "Metrics", "concurrency, requests, queue, gpu"))
		p.Metric = ""
	case p.Metric == Queue && !Has(Queue, i, s):
		wrong("metric", i18n.T("scaling.no_queue", "Image", i.Title))
	case p.Metric == GPU && !Has(GPU, i, s):
		wrong("metric", i18n.T("scaling.no_gpu", "Size", s.Called()))
	}
	if p.Automatic() {
		p.Target = UsualTarget(p.Metric, engineOf(i))
		if text := strings.TrimSpace(t.Target); text != "" {
			target, err := strconv.ParseFloat(text, 64)
			most := float64(maxTarget)
			if p.Metric == GPU {
				most = 100
			}
			if err != nil || math.IsNaN(target) || target <= 0 || target > most {
				wrong("target", i18n.T("scaling.target", "Most", strconv.FormatFloat(most, 'f', -1, 64)))
			} else {
				p.Target = target
			}
		}
		p.ScaleDownAfter = window(t.ScaleDownAfter, UsualScaleDownAfter, "scaleDownAfter", wrong)
	}
	if toZero {
		p.ToZeroAfter = window(t.ToZeroAfter, UsualToZeroAfter, "toZeroAfter", wrong)
	} else if text := strings.TrimSpace(t.ToZeroAfter); text != "" && text != "0" {
		wrong("toZeroAfter", i18n.T("scaling.to_zero_needs_min"))
	}
	return p, problems
}

func engineOf(i catalog.Image) catalog.Engine {
	if i.Runtime == nil {
		return ""
	}
	return i.Runtime.Engine
}

func window(text string, usual catalog.Duration, field string, wrong func(string, i18n.Text)) catalog.Duration {
	if text = strings.TrimSpace(text); text == "" {
		return usual
	}
	d, err := catalog.ParseDuration(text)
	if err != nil || d < ShortestWindow || d > LongestWindow {
		wrong(field, i18n.T("scaling.window", "Least", ShortestWindow.String(), "Most", LongestWindow.String()))
		return usual
	}
	return d
}

// Typed is the policy as its owner would write it.
func (p Policy) Typed() Typed {
	t := Typed{Metric: string(p.Metric)}
	if p.Automatic() {
		t.Target, t.ScaleDownAfter = strconv.FormatFloat(p.Target, 'f', -1, 64), p.ScaleDownAfter.String()
	}
	if p.ToZeroAfter > 0 {
		t.ToZeroAfter = p.ToZeroAfter.String()
	}
	return t
}
