package request

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/registry"
)

// pinning is how a custom image gets its digest.
type pinning int

const (
	pinNow    pinning = iota // its registry is asked: the digest of this moment counts
	pinLately                // an answer of the last minute will do, and the registry has little time
)

// A form is looked at again with each letter that is typed into it, so that previews remember what registries said.
const (
	pinKept       = time.Minute
	pinKeptFailed = 15 * time.Second
	pinWithin     = 4 * time.Second // of a preview: somebody waits for the price beside the form
	pinsMost      = 1000
)

type pins struct {
	mu    sync.Mutex
	known map[[2]string]pinnedOnce // by team and reference
}

type pinnedOnce struct {
	reference string
	fields    []fault.Field
	until     time.Time
}

func (p *pins) get(key [2]string, now time.Time) (pinnedOnce, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[key]
	return known, ok && now.Before(known.until)
}

func (p *pins) keep(key [2]string, answer pinnedOnce) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= pinsMost {
		p.known = map[[2]string]pinnedOnce{}
	}
	p.known[key] = answer
}

// pinned gives a spec's custom image the digest that its tag has. Fields say why it has none.
func (s *Service) pinned(ctx context.Context, w *Spec, how pinning) ([]fault.Field, error) {
	if catalog.Pinned(w.Image.Reference) {
		return nil, nil
	}
	key, now := [2]string{w.Tenant, w.Image.Reference}, s.now()
	if how == pinLately {
		if known, ok := s.pins.get(key, now); ok {
			if known.reference != "" {
				w.Image.Reference = known.reference
			}
			return known.fields, nil
		}
	}
	answer, err := s.askRegistry(ctx, w.Tenant, w.Image.Reference, how)
	if err != nil {
		return nil, err
	}
	answer.until = now.Add(pinKept)
	if len(answer.fields) > 0 {
		answer.until = now.Add(pinKeptFailed)
	} else {
		w.Image.Reference = answer.reference
	}
	s.pins.keep(key, answer)
	return answer.fields, nil
}

func (s *Service) askRegistry(ctx context.Context, team, reference string, how pinning) (answer pinnedOnce, err error) {
	if s.pin == nil {
		return pinnedOnce{fields: []fault.Field{{Name: "customImage.reference", Reason: i18n.T("tenant.image_silent",
			"Registry", registry.HostOf(reference))}}}, nil
	}
	asking := ctx
	if how == pinLately {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, pinWithin)
		defer cancel()
	}
	answer.reference, err = s.pin(asking, team, reference)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil: // whoever asked has gone: that says nothing of the registry
		return answer, ctx.Err()
	case !fault.Is(err, fault.Invalid):
		return answer, err
	}
	answer.reference, answer.fields = "", slices.Clone(fault.As(err).Fields)
	for i := range answer.fields {
		answer.fields[i].Name = "customImage." + answer.fields[i].Name
	}
	return answer, nil
}
