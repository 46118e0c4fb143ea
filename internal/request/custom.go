package request

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/registry"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
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
	known map[pinKey]pinnedOnce
}

type pinKey struct {
	tenant, reference string
	runAs             int64 // 0: as the user that the image names
}

type pinnedOnce struct {
	tenant.Pinned
	fields []fault.Field
	until  time.Time
}

func (p *pins) get(key pinKey, now time.Time) (pinnedOnce, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[key]
	return known, ok && now.Before(known.until)
}

func (p *pins) keep(key pinKey, answer pinnedOnce) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= pinsMost {
		p.known = map[pinKey]pinnedOnce{}
	}
	p.known[key] = answer
}

// pinned gives a spec's custom image the digest that its tag has, and what its registry says of it. Fields say why it
// has none, or cannot be started.
func (s *Service) pinned(ctx context.Context, w *Spec, how pinning) (tenant.Pinned, []fault.Field, error) {
	key, now := pinKey{tenant: w.Tenant, reference: w.Image.Reference}, s.now()
	if w.Image.RunAsUser != nil {
		key.runAs = *w.Image.RunAsUser
	}
	answer, known := s.pins.get(key, now)
	if how != pinLately || !known {
		var err error
		if answer, err = s.askRegistry(ctx, w, how); err != nil {
			return tenant.Pinned{}, nil, err
		}
		answer.until = now.Add(pinKept)
		if len(answer.fields) > 0 {
			answer.until = now.Add(pinKeptFailed)
		}
		s.pins.keep(key, answer)
	}
	if len(answer.fields) == 0 {
		w.Image.Reference = answer.Reference
	}
	return answer.Pinned, answer.fields, nil
}

func (s *Service) askRegistry(ctx context.Context, w *Spec, how pinning) (answer pinnedOnce, err error) {
	reference := w.Image.Reference
	if s.pin == nil {
		if catalog.Pinned(reference) {
			answer.Pinned.Reference = reference
			return answer, nil
		}
		return pinnedOnce{fields: []fault.Field{{Name: "customImage.reference", Reason: i18n.T("tenant.image_silent",
			"Registry", registry.HostOf(reference))}}}, nil
	}
	asking := ctx
	if how == pinLately {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, pinWithin)
		defer cancel()
	}
	answer.Pinned, err = s.pin(asking, w.Tenant, reference, w.Image.RunAsUser)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil: // whoever asked has gone: that says nothing of the registry
		return answer, ctx.Err()
	case !fault.Is(err, fault.Invalid):
		return answer, err
	}
	answer.Pinned, answer.fields = tenant.Pinned{}, slices.Clone(fault.As(err).Fields)
	for i := range answer.fields {
		answer.fields[i].Name = "customImage." + answer.fields[i].Name
	}
	return answer, nil
}

// portNote says that an image exposes other ports than the one at which it must answer; zero where it says nothing, or
// is a job, which answers nobody. What an image exposes is a hint of its maker, so that this hinders nothing. Source:
// https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md#properties
func portNote(w Spec, exposed []int32) i18n.Text {
	if w.Kind == catalog.Job || w.Image.Port == 0 || len(exposed) == 0 || slices.Contains(exposed, w.Image.Port) {
		return i18n.Text{}
	}
	ports := make([]string, min(len(exposed), 5))
	for i := range ports {
		ports[i] = strconv.Itoa(int(exposed[i]))
	}
	return i18n.T("request.image_port", "Port", strconv.Itoa(int(w.Image.Port)), "Exposed", strings.Join(ports, ", "))
}
