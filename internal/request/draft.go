package request

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Limits bound the fields of a draft; the site may narrow them.
type Limits struct {
	MinLease      catalog.Duration `json:"minLease"`      // shortest lease; default 10m
	MaxStorageGiB int              `json:"maxStorageGiB"` // largest volume, in GiB; default 2048
	MaxReplicas   int              `json:"maxReplicas"`   // most replicas of one endpoint; default 32
}

// DefaultLimits are the bounds of a site that sets none.
func DefaultLimits() Limits {
	return Limits{MinLease: catalog.Duration(10 * time.Minute), MaxStorageGiB: 2048, MaxReplicas: 32}
}

const (
	maxReason = 500 // characters
	maxKey    = 100 // of an idempotency key
	// MaxName keeps room for what Kubernetes appends: a pod of a StatefulSet gets "-0", and its revision label "-" and ten
	// characters, within 63.
	MaxName = 40
)

// Offering is what a draft is checked against: catalog, tenant, clusters, limits.
type Offering struct {
	Catalog  catalog.Catalog
	Tenant   tenant.Tenant
	Clusters []string
	KServe   []string // clusters that endpoints may run on as InferenceServices of KServe
	JobSet   []string // clusters that jobs may run on as JobSets
	// LeaderWorkerSet are clusters that endpoints may run on in groups of pods
	LeaderWorkerSet []string
	KEDA            []string // clusters that endpoints may be scaled on by KEDA
	Proxied         []string // clusters whose workloads are reached by the API server's proxy
	Limits          Limits
	GitImage        string // that clones repositories; "" where the site has none
	// BucketImage copies data sets from object storage; "" where the site has none.
	BucketImage string
	External    bool // endpoints can be reached from outside the company network
	// CustomRefused is why the asker cannot start an image of their own with a reference; zero where they can
	CustomRefused func(reference string) i18n.Text
}

// Check turns a draft into a spec. Every problem is listed with its field and what can be changed; the spec is as
// complete as it can be, so that a summary can be shown while people are still typing.
func Check(d Draft, o Offering) (Spec, []fault.Field) {
	c := checker{offering: o}
	w := Spec{Tenant: d.Tenant, Kind: d.Kind, Volume: strings.TrimSpace(d.Volume)}
	if !slices.Contains(catalog.WorkloadKinds(), d.Kind) {
		c.problem("kind", i18n.T("request.kind_unknown"))
	}
	w.Size = c.size(d.Size)
	w.Image = c.imageOf(d)
	w.Cluster = c.cluster(d.Cluster, w.Size, w.Image)
	w.Lease = c.lease(d.Lease, w.Size)
	w.StorageGiB = c.storage(d.Storage)
	w.Reason = c.reason(d.Reason)
	w.Name = c.name(d.Name)
	c.kserve(w)
	c.jobSet(w)
	c.leaderWorkerSet(w)
	c.keda(w)
	c.proxied(w)
	w.Model = c.model(d, w)
	w.Mounts = slices.Concat(c.mounts(mountsWith(d.Mounts, w.Model)), c.volumes(d.Volumes), c.datasets(d.Datasets))
	w.Replicas = c.replicas(d, w)
	w.Scaling = c.scaling(d, w)
	w.Schedule = c.schedule(d)
	if w.Job = c.job(d, w); w.Job != nil {
		w.Image = w.Image.ForJob()
	}
	w.Git = c.git(d)
	w.Outside = c.outside(d, w)
	return w, c.fields
}

type checker struct {
	offering Offering
	fields   []fault.Field
}

func (c *checker) problem(field string, reason i18n.Text) {
	c.fields = append(c.fields, fault.Field{Name: field, Reason: reason})
}

func (c *checker) size(name string) catalog.Size {
	s, ok := c.offering.Catalog.Size(strings.TrimSpace(name))
	switch {
	case strings.TrimSpace(name) == "":
		c.problem("size", i18n.T("request.size_missing"))
	case ok && s.Hidden && offered(s.Tenants, c.offering.Tenant.Name):
		c.problem("size", i18n.T("request.no_longer", "Name", s.Title))
		return catalog.Size{}
	case !ok || !s.OfferedTo(c.offering.Tenant.Name):
		c.problem("size", i18n.T("request.size_unknown", "Size", clip(name)))
		return catalog.Size{}
	}
	return s
}

// offered: what is hidden may still be named to those who could see it before.
func offered(tenants []string, tenant string) bool {
	return len(tenants) == 0 || slices.Contains(tenants, tenant)
}

// imageOf is the image that a draft names, of the catalog, the team or the asker. The reference of the last has no
// digest yet where none was typed.
func (c *checker) imageOf(d Draft) catalog.Image {
	if d.CustomImage == nil {
		return c.image("image", d.Image, d.Kind)
	}
	const field = "customImage.reference"
	if strings.TrimSpace(d.Image) != "" {
		c.problem("image", i18n.T("request.custom_or_image"))
	}
	like := c.image("customImage.like", d.CustomImage.Like, d.Kind)
	if like.OfTeam() {
		c.problem("customImage.like", i18n.T("tenant.image_like"))
	}
	reference := strings.TrimSpace(d.CustomImage.Reference)
	refused := i18n.T("request.custom_refused", "Why", i18n.T("tenant.custom_off"))
	if c.offering.CustomRefused != nil {
		refused = c.offering.CustomRefused(reference)
	}
	switch {
	case !catalog.Pinned(reference) && !catalog.Tagged(reference):
		c.problem(field, i18n.T("request.custom_reference", "Example", "registry.example.org/team/image:tag"))
	case !refused.IsZero():
		c.problem(field, refused)
	case like.Name != "" && !like.OfTeam():
		return like.Custom(reference)
	}
	return like
}

func (c *checker) image(field, name string, kind catalog.WorkloadKind) catalog.Image {
	i, ok := c.offering.Catalog.Image(strings.TrimSpace(name))
	switch {
	case strings.TrimSpace(name) == "":
		c.problem(field, i18n.T("request.image_missing"))
	case ok && i.Hidden && offered(i.Tenants, c.offering.Tenant.Name):
		c.problem(field, i18n.T("request.no_longer", "Name", i.Title))
		return catalog.Image{}
	case !ok || !i.OfferedTo(c.offering.Tenant.Name):
		c.problem(field, i18n.T("request.image_unknown", "Image", clip(name)))
		return catalog.Image{}
	case !i.RunsAs(kind) && slices.Contains(catalog.WorkloadKinds(), kind):
		c.problem(field, i18n.T("request.image_wrong_kind", "Image", i.Title, "Kind", i18n.T("kind."+string(kind))))
	}
	return i
}

func (c *checker) cluster(name string, size catalog.Size, image catalog.Image) string {
	if name = strings.TrimSpace(name); name != "" {
		for _, known := range c.offering.Clusters {
			if known == name && size.OfferedOn(name) {
				return name
			}
		}
		c.problem("cluster", i18n.T("request.cluster_unknown", "Cluster", clip(name)))
		return ""
	}
	usual := ""
	for _, known := range c.offering.Clusters {
		switch {
		case !size.OfferedOn(known):
		case c.mayHold(size, known) && c.opens(image, known) &&
			(!image.NeedsKServe() || slices.Contains(c.offering.KServe, known)) &&
			(!image.NeedsJobSet() || slices.Contains(c.offering.JobSet, known)) &&
			(!image.ScalesByKEDA() || slices.Contains(c.offering.KEDA, known)) &&
			(!image.NeedsLeaderWorkerSet() || slices.Contains(c.offering.LeaderWorkerSet, known)):
			return known
		case usual == "":
			usual = known
		}
	}
	return usual
}

// mayHold reports whether the quota of a cluster leaves a size there; of a size that is allowed nowhere none is better.
func (c *checker) mayHold(size catalog.Size, cluster string) bool {
	t := c.offering.Tenant
	return t.QuotaOf(size.Name) == 0 || t.QuotaOn(size.Name, cluster) > 0
}

// kserve refuses what KServe cannot do: it is not on every cluster, and it calls its own Deployments after endpoints.
func (c *checker) kserve(w Spec) {
	if w.Image.NeedsKServe() && w.Cluster != "" && !slices.Contains(c.offering.KServe, w.Cluster) {
		c.problem("image", i18n.T("request.no_kserve", "Image", w.Image.Title, "Cluster", w.Cluster))
	}
	if w.Kind == catalog.Endpoint && slices.Contains(c.offering.KServe, w.Cluster) &&
		strings.HasSuffix(w.Name, workload.PredictorSuffix) {
		c.problem("name", i18n.T("request.kserve_name", "Suffix", workload.PredictorSuffix))
	}
}

// keda refuses an endpoint that nothing could scale.
func (c *checker) keda(w Spec) {
	if w.Image.ScalesByKEDA() && w.Cluster != "" && !slices.Contains(c.offering.KEDA, w.Cluster) {
		c.problem("image", i18n.T("request.no_keda", "Image", w.Image.Title, "Cluster", w.Cluster))
	}
}

// leaderWorkerSet refuses what LeaderWorkerSet cannot do: it is not on every cluster, and what it makes has the names
// that a notebook's StatefulSet or an endpoint would have.
func (c *checker) leaderWorkerSet(w Spec) {
	offered := slices.Contains(c.offering.LeaderWorkerSet, w.Cluster)
	if w.Image.NeedsLeaderWorkerSet() && w.Cluster != "" && !offered {
		c.problem("image", i18n.T("request.no_leaderworkerset", "Image", w.Image.Title, "Cluster", w.Cluster))
	}
	if offered && groupName.MatchString(w.Name) {
		c.problem("name", i18n.T("request.leaderworkerset_name", "Suffix", workload.GroupSuffix))
	}
}

var groupName = regexp.MustCompile(workload.GroupSuffix + `(-[0-9]+)?$`)

// opens reports whether the gateway can show an image's server its secret there: an API server takes the header with it
// out of what it passes on.
func (c *checker) opens(image catalog.Image, cluster string) bool {
	return image.Auth == "" || !slices.Contains(c.offering.Proxied, cluster)
}

// proxied refuses what would run and could never be opened. A job is opened by nobody.
func (c *checker) proxied(w Spec) {
	if w.Kind != catalog.Job && w.Cluster != "" && !c.opens(w.Image, w.Cluster) {
		c.problem("image", i18n.T("request.proxied", "Image", w.Image.Title, "Cluster", w.Cluster))
	}
}

func (c *checker) lease(text string, size catalog.Size) catalog.Duration {
	if strings.TrimSpace(text) == "" && size.DefaultLease > 0 {
		return size.DefaultLease
	}
	lease, err := catalog.ParseDuration(text)
	least := c.offering.Limits.MinLease
	switch {
	case err != nil:
		c.problem("lease", i18n.T("request.lease_unreadable", "Example", "8h"))
	case lease < least || lease == 0:
		c.problem("lease", i18n.T("request.lease_too_short", "Least", least.String()))
	case size.MaxLease > 0 && lease > size.MaxLease:
		c.problem("lease", i18n.T("request.lease_too_long", "Most", size.MaxLease.String(), "Size", size.Title))
	}
	return lease
}

func (c *checker) storage(text string) int {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	unit := 1
	number := text
	for suffix, factor := range map[string]int{"Gi": 1, "Ti": 1024} {
		if head, found := strings.CutSuffix(text, suffix); found {
			number, unit = head, factor
		}
	}
	n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 20)
	gib := int(n) * unit
	switch {
	case err != nil:
		c.problem("storage", i18n.T("request.storage_unreadable", "Example", "10Gi"))
		return 0
	case gib > c.offering.Limits.MaxStorageGiB:
		c.problem("storage", i18n.T("request.storage_too_much", "Most", strconv.Itoa(c.offering.Limits.MaxStorageGiB)+"Gi"))
	}
	return gib
}

func (c *checker) reason(text string) string {
	text = strings.TrimSpace(text)
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, hidden):
		c.problem("reason", i18n.T("request.reason_characters"))
	case utf8.RuneCountInString(text) > maxReason:
		c.problem("reason", i18n.T("request.reason_too_long", "Most", maxReason))
	}
	return text
}

// schedule is whose hours it follows; a job has none.
func (c *checker) schedule(d Draft) *Scheduled {
	if d.Schedule == nil || d.Kind == catalog.Job || d.Schedule.Mode == workload.TeamHours {
		return nil
	}
	c.fields = append(c.fields, workload.CheckSchedule(d.Schedule.Mode, d.Schedule.Hours)...)
	return d.Schedule
}

// maxMounts is how many of the team's volumes one workload can have, how many personal ones, and how many data sets.
const maxMounts = 10

// mounts are the volumes by name; what they are is looked up where the spec is granted.
func (c *checker) mounts(names []string) []workload.Mount {
	var mounts []workload.Mount
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" &&
			!slices.ContainsFunc(mounts, func(m workload.Mount) bool { return m.Name == name }) {
			mounts = append(mounts, workload.Mount{TeamShare: workload.TeamShare{Name: name}})
		}
	}
	if len(mounts) > maxMounts {
		c.problem("mounts", i18n.T("request.mounts_many", "Most", maxMounts))
		return nil
	}
	return mounts
}

// volumes are personal volumes by name; whose they are is looked up where the spec is granted.
func (c *checker) volumes(uses []VolumeUse) []workload.Mount {
	var mounts []workload.Mount
	for _, u := range uses {
		if name := strings.TrimSpace(u.Name); name != "" {
			mounts = append(mounts, workload.Mount{Personal: true,
				TeamShare: workload.TeamShare{Name: name, ReadOnly: u.ReadOnly}})
		}
	}
	if len(mounts) > maxMounts {
		c.problem("volumes", i18n.T("request.volumes_many", "Most", maxMounts))
		return nil
	}
	return mounts
}

// datasets are data sets by name; where they lie is looked up where the spec is granted.
func (c *checker) datasets(names []string) []workload.Mount {
	var mounts []workload.Mount
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" &&
			!slices.ContainsFunc(mounts, func(m workload.Mount) bool { return m.Dataset == name }) {
			mounts = append(mounts, workload.Mount{Dataset: name,
				Bucket: workload.Bucket{Image: c.offering.BucketImage}})
		}
	}
	if len(mounts) > maxMounts {
		c.problem("datasets", i18n.T("request.datasets_many", "Most", maxMounts))
		return nil
	}
	return mounts
}

func (c *checker) name(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	slug := Slug(text)
	switch slug {
	case "":
		c.problem("name", i18n.T("request.name_unusable"))
	case workload.ModelsHost:
		c.problem("name", i18n.T("request.name_reserved", "Name", slug))
	}
	return slug
}

// hidden is a character that a person cannot see and that could make a text look like another: control characters
// except line feed and tab, and the marks that change the direction of writing.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\r' || r == '\t':
		return false
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F:
		return true
	}
	return unicode.IsControl(r)
}

// Slug makes a name that is safe as a DNS label and a Kubernetes name: lower case letters, digits and single dashes,
// beginning with a letter, at most MaxName long. Accents fall away. What has no letter at all gives "". Slug of a slug
// is the same slug.
func Slug(text string) string {
	var b strings.Builder
	if len(text) > 1000 {
		text = text[:1000]
	}
	for _, r := range norm.NFKD.String(strings.ToLower(text)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		default:
			if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
				b.WriteByte('-')
			}
		}
	}
	slug := strings.TrimLeft(b.String(), "-0123456789")
	if len(slug) > MaxName {
		slug = slug[:MaxName]
	}
	return strings.TrimRight(slug, "-")
}

// clip keeps what a person typed short enough to repeat it to them.
func clip(text string) string {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) <= 60 {
		return text
	}
	return string([]rune(text)[:60]) + "…"
}
