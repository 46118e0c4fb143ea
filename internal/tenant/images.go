package tenant

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/registry"
)

// Images lists a team's own images, for its members and those who see all.
func (s *Service) Images(a identity.Actor, team string) ([]Own, error) {
	if _, err := s.permit(a, team, identity.ReadTenant, identity.ReadTenant); err != nil {
		return nil, err
	}
	return s.Directory().Own(team, s.o.Catalog()), nil
}

// SaveImage adds an image or changes one. It counts for the next start; what was asked for or runs keeps the digest it
// has. A tag alone is written down with the digest that its registry has for it now. Invalid with every problem.
func (s *Service) SaveImage(ctx context.Context, a identity.Actor, team string, f ImageDraft) (Own, error) {
	now, err := s.permit(a, team, identity.ReadTenant, identity.ChangeAssets)
	if err != nil {
		return Own{}, err
	}
	f = f.trimmed()
	note := i18n.T("tenant.image_added", "Title", f.Title)
	if !f.New {
		was, err := imageOf(now.Tenant, f.Name)
		if err != nil {
			return Own{}, err
		}
		f.Retired, note = was.Retired, i18n.T("tenant.image_changed", "Title", f.Title)
	}
	if err := fault.InvalidFields(f.check(now.Tenant, s.Directory(), s.o.Catalog(), s.o.Resolve != nil)); err != nil {
		return Own{}, err
	}
	like, _ := likeOf(s.o.Catalog(), f.Like, team)
	p, err := s.pinned(ctx, team, f.Reference, like.RunAsUser)
	if err != nil {
		return Own{}, err
	}
	f.Reference = p.Reference
	return s.writeImage(ctx, a, now, f.Image, note)
}

// Pinned is what a registry says of an image that is to be started.
type Pinned struct {
	Reference string  // with the digest that its tag has
	Ports     []int32 // TCP ports that the image exposes; none where it does not say
}

// pinnedWithin bounds a question about an image that can be started without its answer.
const pinnedWithin = 5 * time.Second

// pinned asks a registry about an image, which a pod starts as a user, or as the one that the image names. The
// repository was checked before: nobody else's registry is called. What is pinned already needs no answer: nodes may
// reach the registry, or its mirror, where the portal does not.
func (s *Service) pinned(ctx context.Context, team, reference string, runAs *int64) (Pinned, error) {
	if !catalog.Pinned(reference) {
		return s.inspected(ctx, team, reference, runAs)
	}
	asking, cancel := context.WithTimeout(ctx, pinnedWithin)
	defer cancel()
	m, err := s.resolve(asking, team, reference)
	if err != nil {
		return Pinned{Reference: reference}, ctx.Err()
	}
	return s.judged(m, reference, runAs)
}

func (s *Service) resolve(ctx context.Context, team, reference string) (registry.Manifest, error) {
	if s.o.Resolve == nil {
		return registry.Manifest{}, registry.ErrSilent
	}
	return s.o.Resolve(ctx, team, reference)
}

// inspected is what a registry says of a tag. Invalid where it has none, or one that cannot be started.
func (s *Service) inspected(ctx context.Context, team, reference string, runAs *int64) (Pinned, error) {
	m, err := s.resolve(ctx, team, reference)
	why := ""
	switch {
	case err == nil:
		return s.judged(m, reference+"@"+m.Digest, runAs)
	case errors.Is(err, registry.ErrMissing):
		why = "tenant.image_not_found"
	case errors.Is(err, registry.ErrRefused):
		why = "tenant.image_refused"
	case errors.Is(err, registry.ErrSilent):
		s.o.Logger.InfoContext(ctx, "a registry gave no digest", "registry", registry.HostOf(reference), "error", err)
		why = "tenant.image_silent"
	default:
		return Pinned{}, err
	}
	return Pinned{}, wrongReference(why, "Registry", registry.HostOf(reference))
}

// judged is an image that a registry knows. Invalid where no cluster would start it.
func (s *Service) judged(m registry.Manifest, pinned string, runAs *int64) (Pinned, error) {
	switch {
	case len(m.Platforms) > 0 && !slices.ContainsFunc(m.Platforms, onLinux):
		return Pinned{}, wrongReference("tenant.image_platform", "Platforms", strings.Join(m.Platforms, ", "))
	case m.Config == nil:
		return Pinned{Reference: pinned}, nil
	case runAs != nil || !s.o.ImageUsers || !m.Config.RootUser():
		return Pinned{Reference: pinned, Ports: m.Config.Ports}, nil
	case m.Config.User != "":
		return Pinned{}, wrongReference("tenant.image_user", "User", clip(m.Config.User))
	}
	return Pinned{}, wrongReference("tenant.image_root")
}

func wrongReference(why string, args ...any) error {
	return fault.InvalidFields([]fault.Field{{Name: "reference", Reason: i18n.T(why, args...)}})
}
func onLinux(platform string) bool { return strings.HasPrefix(platform, "linux/") }

// RetireImage keeps an image from being started anew, or offers it again.
func (s *Service) RetireImage(ctx context.Context, a identity.Actor, team, name string, retired bool) (Own, error) {
	now, err := s.permit(a, team, identity.ReadTenant, identity.ChangeAssets)
	if err != nil {
		return Own{}, err
	}
	image, err := imageOf(now.Tenant, name)
	if err != nil || image.Retired == retired {
		return s.Directory().own(now.Tenant, image, s.o.Catalog()), err
	}
	image.Retired = retired
	note := i18n.T("tenant.image_retired", "Title", image.Title)
	if !retired {
		note = i18n.T("tenant.image_offered", "Title", image.Title)
	}
	return s.writeImage(ctx, a, now, image, note)
}

func (s *Service) writeImage(ctx context.Context, a identity.Actor, now Entry, image Image,
	note i18n.Text) (Own, error) {
	var saved Saved
	if now.Newest != nil {
		saved = now.Newest.Saved
	}
	saved.Images = with(now.Images, image)
	e, err := s.write(ctx, a, now, now.Name, now.Version(), saved, note)
	if err != nil {
		return Own{}, err
	}
	return s.Directory().own(e.Tenant, image, s.o.Catalog()), nil
}

func imageOf(t Tenant, name string) (Image, error) {
	i := slices.IndexFunc(t.Images, func(i Image) bool { return i.Name == name })
	if i < 0 {
		return Image{}, fault.New(fault.NotFound, i18n.T("tenant.image_missing"))
	}
	return t.Images[i], nil
}
