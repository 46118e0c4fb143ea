package tenant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// Image is one of a team's own: another reference for an image of the catalog, which says how it is started and where
// it answers. So owners choose what runs, and the administrator how: command, variables, port and user stay those that
// were looked at once.
type Image struct {
	Name      string `json:"name"` // DNS label, once in the team, never changed: requests and workloads go by it
	Title     string `json:"title"`
	Reference string `json:"reference"` // pinned by digest
	Like      string `json:"like"`      // the catalog's image that it is started like
	Note      string `json:"note,omitempty"`
	Retired   bool   `json:"retired,omitempty"` // starts nothing new; what runs goes on
}

const (
	maxImages    = 100 // of one team, retired ones among them
	maxImageName = 40
	maxFull      = 63 // characters of team and name together, which is a label of pods
)

// fullName is the image's name among all images.
func (i Image) fullName(team string) string { return catalog.TeamImage(team, i.Name) }

// ImageState says whether an image can be started.
type ImageState string

// The states.
const (
	ImageOffered    ImageState = "offered"
	ImageRetired    ImageState = "retired"
	ImageNotAllowed ImageState = "not_allowed" // the administrator does not allow its repository any more
	ImageUnlike     ImageState = "unlike"      // the catalog has nothing any more that it could be started like
)

// Own is an image of a team in effect.
type Own struct {
	Image
	State ImageState
	// as it is offered to the members, hidden where it is not; without a kind where the catalog has nothing like it
	Offer catalog.Image
}

// Own are the images of a team as they count with a catalog.
func (d Directory) Own(team string, c catalog.Catalog) []Own {
	t, _ := d.ByName(team)
	var list []Own
	for _, i := range t.Images {
		list = append(list, d.own(t, i, c))
	}
	return list
}

func (d Directory) own(t Tenant, i Image, c catalog.Catalog) Own {
	o := Own{Image: i, State: ImageOffered}
	like, known := likeOf(c, i.Like, t.Name)
	switch {
	case !known:
		o.State = ImageUnlike
	case !d.allows(t.Name, i.Reference):
		o.State = ImageNotAllowed
	case i.Retired:
		o.State = ImageRetired
	}
	o.Offer = like
	o.Offer.Name, o.Offer.Title, o.Offer.Reference = i.fullName(t.Name), i.Title, i.Reference
	o.Offer.Tenants, o.Offer.Hidden, o.Offer.Deprecated = []string{t.Name}, o.State != ImageOffered, nil
	return o
}

// likeOf finds an image of the catalog that a team's may be started like. One that is hidden will do: it says how,
// not what.
func likeOf(c catalog.Catalog, name, team string) (catalog.Image, bool) {
	i, ok := c.Image(name)
	if !ok || len(i.Tenants) > 0 && !slices.Contains(i.Tenants, team) {
		return catalog.Image{}, false
	}
	return i, true
}

// ImagesFor are a team's own images, as those of the catalog.
func (d Directory) ImagesFor(team string, c catalog.Catalog) []catalog.Image {
	var images []catalog.Image
	for _, o := range d.Own(team, c) {
		images = append(images, o.Offer)
	}
	return images
}

// Allowed are the patterns of repositories from which a team's owners may take images.
func (d Directory) Allowed(team string) []string {
	list := make([]string, len(d.ImagesFrom))
	for i, pattern := range d.ImagesFrom {
		list[i] = strings.ReplaceAll(pattern, TeamHole, team)
	}
	return list
}

func (d Directory) allows(team, reference string) bool {
	repository := catalog.Repository(reference)
	return slices.ContainsFunc(d.Allowed(team), func(pattern string) bool { return Matches(pattern, repository) })
}

// ImagesFromProblem says what is wrong with a pattern of repositories; nil for nothing. The registry is named in full,
// for "*" there would allow one that somebody else made for the purpose.
func ImagesFromProblem(pattern string) error {
	registry, rest, found := strings.Cut(pattern, "/")
	switch {
	case !found || registry == "" || rest == "" || strings.HasPrefix(rest, "/") || !readable(pattern, maxGroup) ||
		strings.ContainsAny(pattern, " @"):
		return fmt.Errorf("%q must be a registry, a slash, and a repository or a pattern of some, such as "+
			"registry.example.org/{team}/*", pattern)
	case strings.ContainsAny(registry, "*{}"):
		return fmt.Errorf("%q must name its registry in full", pattern)
	}
	return nil
}

// ImageDraft is an image as it was typed or posted.
type ImageDraft struct {
	New bool // make one; else change the one of that name
	Image
}

func (f ImageDraft) trimmed() ImageDraft {
	for _, text := range []*string{&f.Name, &f.Title, &f.Reference, &f.Like, &f.Note} {
		*text = strings.TrimSpace(*text)
	}
	return f
}

// check lists what is wrong with a draft for a team. A tag alone is enough where a registry may be asked.
func (f ImageDraft) check(t Tenant, d Directory, c catalog.Catalog, asks bool) []fault.Field {
	var fields []fault.Field
	problem := func(name string, reason i18n.Text) { fields = append(fields, fault.Field{Name: name, Reason: reason}) }
	if f.New {
		fields = append(fields, f.checkNew(t)...)
	}
	if f.Title == "" || !readable(f.Title, maxTitle) {
		problem("title", i18n.T("tenant.image_title", "Most", maxTitle))
	}
	switch {
	case !catalog.Pinned(f.Reference) && !(asks && catalog.Tagged(f.Reference)):
		problem("reference", i18n.T("tenant.image_reference", "Example", "registry.example.org/team/image:tag@sha256:…"))
	case !d.allows(t.Name, f.Reference):
		problem("reference", notAllowed(d.Allowed(t.Name)))
	}
	if _, known := likeOf(c, f.Like, t.Name); !known {
		problem("like", i18n.T("tenant.image_like"))
	}
	if !readable(f.Note, maxNote) {
		problem("note", i18n.T("tenant.text_too_long", "Most", maxNote))
	}
	return fields
}

func (f ImageDraft) checkNew(t Tenant) []fault.Field {
	most := min(maxImageName, maxFull-len(t.Name)-1)
	switch {
	case !Label(f.Name, most):
		return []fault.Field{{Name: "name", Reason: i18n.T("tenant.name_wrong", "Most", most)}}
	case slices.ContainsFunc(t.Images, func(i Image) bool { return i.Name == f.Name }):
		return []fault.Field{{Name: "name", Reason: i18n.T("tenant.image_taken", "Name", f.Name)}}
	case len(t.Images) >= maxImages:
		return []fault.Field{{Name: "name", Reason: i18n.T("tenant.image_many", "Most", maxImages)}}
	}
	return nil
}

// notAllowed names what is allowed.
func notAllowed(patterns []string) i18n.Text {
	if len(patterns) == 0 {
		return i18n.T("tenant.image_none_allowed")
	}
	return i18n.T("tenant.image_not_allowed", "Allowed", strings.Join(patterns, ", "))
}

// with puts an image into a list, in the place of the one of its name.
func with(list []Image, image Image) []Image {
	list = slices.Clone(list)
	if i := slices.IndexFunc(list, func(has Image) bool { return has.Name == image.Name }); i >= 0 {
		list[i] = image
		return list
	}
	return append(list, image)
}
