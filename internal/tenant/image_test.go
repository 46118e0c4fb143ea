package tenant

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

func TestImagesFromProblem(t *testing.T) {
	for pattern, fine := range map[string]bool{
		"registry.example.org/{team}/*": true, "quay.io/jupyter/*": true, "localhost:5000/a": true,
		"": false, "quay.io": false, "quay.io/": false, "/a": false, "quay.io//a": false, "*": false, "*/a": false,
		"quay.*/a": false, "quay.io*/a": false, "{team}.example.org/a": false, "quay.io/a b": false,
		"quay.io/a@sha256:1": false,
	} {
		if err := ImagesFromProblem(pattern); (err == nil) != fine {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// TestOwnImages: what an image is started like comes from the catalog as it is now, and what is not allowed any more
// is not offered.
func TestOwnImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	group := int64(100)
	c := catalog.Catalog{Images: []catalog.Image{
		{Name: "lab", Title: "Lab", Kind: catalog.Notebook, Port: 8888, Home: "/home/x", FSGroup: &group, Hidden: true,
			Deprecated: &catalog.Deprecation{Message: "old"}},
		{Name: "theirs", Kind: catalog.Notebook, Tenants: []string{"speech"}},
	}}
	d := Directory{ImagesFrom: []string{"reg.example.org/{team}/*"}, Tenants: []Tenant{{Name: "vision", Images: []Image{
		{Name: "good", Title: "Good", Reference: "reg.example.org/vision/a:1" + digest, Like: "lab"},
		{Name: "old", Reference: "reg.example.org/vision/a" + digest, Like: "lab", Retired: true},
		{Name: "far", Reference: "reg.example.org/speech/a" + digest, Like: "lab"},
		{Name: "prefix", Reference: "reg.example.org/visions/a" + digest, Like: "lab"},
		{Name: "unlike", Reference: "reg.example.org/vision/a" + digest, Like: "theirs"},
		{Name: "gone", Reference: "reg.example.org/vision/a" + digest, Like: "gone"},
	}}}}
	want := map[string]ImageState{"good": ImageOffered, "old": ImageRetired, "far": ImageNotAllowed,
		"prefix": ImageNotAllowed, "unlike": ImageUnlike, "gone": ImageUnlike}
	own := d.Own("vision", c)
	for _, o := range own {
		if o.State != want[o.Name] || o.Offer.OfferedTo("vision") != (o.State == ImageOffered) ||
			o.Offer.OfferedTo("speech") {
			t.Errorf("%s: %s, offered to vision %v, to speech %v", o.Name, o.State, o.Offer.OfferedTo("vision"),
				o.Offer.OfferedTo("speech"))
		}
		if !o.Offer.OfTeam() || o.Offer.Deprecated != nil {
			t.Errorf("%s: %+v", o.Name, o.Offer)
		}
	}
	if first := own[0].Offer; len(own) != len(want) || first.Name != "vision.good" || first.Port != 8888 ||
		first.FSGroup == nil || first.Reference != "reg.example.org/vision/a:1"+digest {
		t.Errorf("%+v", first)
	}
	if got := d.Own("speech", c); got != nil {
		t.Errorf("another team has them: %v", got)
	}
}
