package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

const (
	maxProbeBytes = 1 << 20
	maxKernels    = 200
)

// Probe asks a Jupyter server what it does, in a way that does not count as activity there. It gives nil for a workload
// that is no Jupyter server or does not run. An error means that nothing is known, never that nothing happens: whoever
// stops idle notebooks must not stop on it.
func (p *Pods) Probe(ctx context.Context, w workload.Workload) (*workload.Activity, error) {
	if w.Kind != catalog.Notebook || w.Image.Auth != "token" || !w.CanOpen() {
		return nil, nil
	}
	t, err := p.target(w)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(context.WithValue(ctx, workloadKey{}, w), p.opts.ProbeTimeout)
	defer stop()
	status, err := p.get(ctx, w, t, "/api/status")
	if err != nil {
		return nil, err
	}
	kernels, err := p.get(ctx, w, t, "/api/kernels?no_track_activity=1")
	if err != nil {
		return nil, err
	}
	activity, err := parseActivity(status, kernels)
	if err != nil {
		return nil, err
	}
	activity.At = p.opts.Now()
	return activity, nil
}

func (p *Pods) get(ctx context.Context, w workload.Workload, t target, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.host+path, nil)
	if err != nil {
		return nil, err
	}
	r.Host = t.address
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "gpu-portal")
	p.authorize(r.Header, w)
	res, err := p.transports[t.cluster].RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask %s: status %d", path, res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxProbeBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(body) > maxProbeBytes {
		return nil, fmt.Errorf("read %s: answer is too large", path)
	}
	return body, nil
}

type jupyterStatus struct {
	LastActivity looseTime `json:"last_activity"`
	Connections  looseInt  `json:"connections"`
}

type jupyterKernel struct {
	Name           string    `json:"name"`
	ExecutionState string    `json:"execution_state"`
	LastActivity   looseTime `json:"last_activity"`
	Connections    looseInt  `json:"connections"`
}

// parseActivity reads the two answers. What the notebook's owner can make its server say is not believed further than
// its form.
func parseActivity(status, kernels []byte) (*workload.Activity, error) {
	var s *jupyterStatus
	if err := json.Unmarshal(status, &s); err != nil {
		return nil, fmt.Errorf("read the status: %w", err)
	}
	var ks []jupyterKernel
	if err := json.Unmarshal(kernels, &ks); err != nil {
		return nil, fmt.Errorf("read the kernels: %w", err)
	}
	if s == nil || s.LastActivity.IsZero() {
		return nil, errors.New("the status tells no last activity")
	}
	out := &workload.Activity{LastActivity: s.LastActivity.Time, Connections: int(s.Connections),
		Kernels: []workload.Kernel{}}
	for i, k := range ks {
		if i == maxKernels {
			break
		}
		out.Kernels = append(out.Kernels, workload.Kernel{
			Name: plain(k.Name), State: kernelState(k.ExecutionState), LastActivity: k.LastActivity.Time,
			Connections: int(k.Connections),
		})
	}
	return out, nil
}

// kernelState passes the states that Jupyter documents; any other is "unknown" and must not count as idle.
func kernelState(state string) string {
	switch state {
	case "starting", "idle", "busy", "restarting", "autorestarting", "terminating", "dead":
		return state
	}
	return "unknown"
}

// plain takes out what could trouble a page or a log line.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > 80 {
		return string(runes[:80])
	}
	return text
}

// looseTime reads the times that Jupyter versions write; any other value is the zero time.
type looseTime struct{ time.Time }

// UnmarshalJSON never fails.
func (t *looseTime) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999",
		"2006-01-02 15:04:05.999999999Z07:00"} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 1970 && at.Year() < 10000 {
			t.Time = at.UTC()
			return nil
		}
	}
	return nil
}

// looseInt reads a count; anything that is none is 0.
type looseInt int

// UnmarshalJSON never fails.
func (n *looseInt) UnmarshalJSON(data []byte) error {
	var value int32
	if json.Unmarshal(data, &value) == nil && value > 0 {
		*n = looseInt(value)
	}
	return nil
}
