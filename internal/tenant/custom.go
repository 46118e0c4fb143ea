package tenant

import (
	"context"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// CustomOff is why members of a team cannot start images of their own, and who can change that; zero where they can.
func (d Directory) CustomOff(team string) i18n.Text {
	t, _ := d.ByName(team)
	switch {
	case len(d.ImagesFrom) == 0:
		return i18n.T("tenant.custom_none_allowed")
	case !t.CustomImages:
		return i18n.T("tenant.custom_off")
	}
	return i18n.Text{}
}

// CustomRefused is why a member cannot start an image of their own with this reference; zero where they can. It is
// asked at each start, for what was allowed once may be so no more.
func (d Directory) CustomRefused(team, reference string) i18n.Text {
	if off := d.CustomOff(team); !off.IsZero() {
		return i18n.T("request.custom_refused", "Why", off)
	}
	if !d.allows(team, reference) {
		return i18n.T("tenant.custom_not_allowed", "Allowed", strings.Join(d.Allowed(team), ", "))
	}
	return i18n.Text{}
}

// SaveCustomImages lets members start images of their own, or not any more. What runs goes on.
func (s *Service) SaveCustomImages(ctx context.Context, a identity.Actor, team string, allow bool) (Entry, error) {
	now, err := s.permit(a, team, identity.ReadTenant, identity.ChangeAssets)
	if err != nil || now.CustomImages == allow {
		return now, err
	}
	var saved Saved
	if now.Newest != nil {
		saved = now.Newest.Saved
	}
	note := i18n.T("tenant.custom_forbidden")
	if saved.CustomImages = allow; allow {
		note = i18n.T("tenant.custom_allowed")
	}
	return s.write(ctx, a, now, team, now.Version(), saved, note)
}

// PinImage asks a registry about an image: the digest that its tag has now, and what it exposes. A pod starts it as a
// user, or for nil as the one that the image names. A reference with a digest stays as it is; where its registry says
// nothing of it, the nodes may know more. The team must be allowed to take images from there: nobody else's registry is
// called. Invalid for the field "reference" where there is none, none that runs on Linux, or one that a cluster would
// refuse as root.
func (s *Service) PinImage(ctx context.Context, team, reference string, runAs *int64) (Pinned, error) {
	return s.pinned(ctx, team, reference, runAs)
}
