package blocks

import (
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
)

// ImageTitle is how an image stands in a list to choose from.
func ImageTitle(say page.Words, i catalog.Image) string {
	if i.OfTeam() {
		return say.S("team.image_own", "Title", say.ImageTitle(i))
	}
	return say.ImageTitle(i)
}

// TaggedReference leaves the digest out: a registry, a repository and a tag.
func TaggedReference(reference string) string {
	name, _, _ := strings.Cut(reference, "@")
	return name
}

// ShortReference leaves the digest out, and the registry: the copy button has it all.
func ShortReference(reference string) string {
	name, _, _ := strings.Cut(reference, "@")
	return name[strings.LastIndexByte(name, '/')+1:]
}
