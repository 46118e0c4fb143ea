package app

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/registry"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
)

var (
	oneDigest     = "@sha256:" + strings.Repeat("1", 64)
	anotherDigest = "@sha256:" + strings.Repeat("2", 64)
)

// visionImage is a reference that team vision may take.
func visionImage(digest string) string { return "registry.example.org/vision/train:1.4" + digest }

func (w *world) imageForm(title string) url.Values {
	return url.Values{"title": {title}, "reference": {visionImage(oneDigest)}, "like": {"jupyterlab"}}
}

func (w *world) imageBody(name string) map[string]any {
	body := map[string]any{"title": "An image", "reference": visionImage(oneDigest), "like": "jupyterlab"}
	if name != "" {
		body["name"] = name
	}
	return body
}

// teamImage is an image that a team has.
func (w *world) teamImage(team string) string {
	w.t.Helper()
	d := tenant.ImageDraft{New: true, Image: tenant.Image{Name: "kept", Title: "Kept", Reference: "registry.example.org/" +
		team + "/train" + oneDigest, Like: "jupyterlab"}}
	if _, err := w.tenants.SaveImage(w.t.Context(), w.actorOf(admin), team, d); err != nil &&
		!fault.Is(err, fault.Invalid) {
		w.t.Fatal(err)
	}
	return d.Name
}

// asks is a start of the developer with an image.
func (w *world) asks(size, image string) (request.Request, error) {
	return w.requests.Requests.Submit(w.t.Context(), w.actorOf(developer),
		request.Draft{Kind: "notebook", Tenant: "vision",
			Size: size, Image: image, Lease: "1h", Reason: "a test"})
}

// TestATeamsOwnImage goes the whole way: an owner adds an image, a member starts it by its digest, nobody else sees it,
// and when it is retired it starts nothing new.
func TestATeamsOwnImage(t *testing.T) {
	w := newWorld(t)
	olga, dora := w.signedIn(owner), w.signedIn(developer)
	if a := olga.post("/team/vision/images", w.imageForm("Train 1.4")); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := dora.get("/start?tenant=vision"); !strings.Contains(a.body, "Train 1.4 (team image)") {
		t.Error("a member is not offered the image")
	}
	started := dora.post("/start", url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"},
		"image": {"vision.train-1-4"}, "lease": {"1h"}})
	if started.status != http.StatusSeeOther {
		t.Fatalf("%d %s", started.status, started.body)
	}
	r, err := w.asks("cpu", "vision.train-1-4")
	if err != nil || r.Spec.Image.Reference != visionImage(oneDigest) || r.Spec.Image.Home == "" ||
		r.Spec.Image.TokenEnv != "JUPYTER_TOKEN" {
		t.Fatalf("want the digest, started like JupyterLab: %+v %v", r.Spec.Image, err)
	}

	for name, path := range map[string]string{"the page": "/team/vision/images",
		"the API": "/api/v1/tenants/vision/images"} {
		if a := w.signedIn(other).get(path); a.status != http.StatusNotFound && a.status != http.StatusUnauthorized {
			t.Errorf("%s shows it to another team: %d", name, a.status)
		}
	}
	if a := w.call(w.token(other), http.MethodGet, "/api/v1/images", nil); strings.Contains(a.body, "vision.") {
		t.Error("another team is told of the image")
	}
	if a := w.call(w.token(developer), http.MethodGet, "/api/v1/images", nil); !strings.Contains(a.body,
		`"vision.train-1-4"`) {
		t.Error("the API does not tell a member of the image")
	}
	foreign := w.call(w.token(other), http.MethodPost, "/api/v1/requests", map[string]any{"kind": "notebook",
		"tenant": "speech", "size": "cpu", "image": "vision.train-1-4"})
	if foreign.status != http.StatusUnprocessableEntity || strings.Contains(foreign.body, "Train 1.4") {
		t.Errorf("another team's image: %d %s", foreign.status, foreign.body)
	}

	if a := olga.post("/team/vision/images/train-1-4/retire", nil); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := dora.get("/start?tenant=vision"); strings.Contains(a.body, "Train 1.4") {
		t.Error("a retired image is offered")
	}
	if _, err := w.asks("cpu", "vision.train-1-4"); !fault.Is(err, fault.Invalid) ||
		!strings.Contains(err.Error(), "no_longer") && !strings.Contains(err.Error(), "no longer") {
		t.Errorf("want the reason, got %v", err)
	}
	if a := dora.get(started.header.Get("Location")); a.status != http.StatusOK {
		t.Errorf("what runs is gone: %d", a.status)
	}
	saved := w.events(audit.TenantSaved)
	want := [][]audit.Change{
		{{Field: "images.train-1-4.retired", New: "true"}},
		{{Field: "images.train-1-4.like", New: "jupyterlab"}, {Field: "images.train-1-4.name", New: "train-1-4"},
			{Field: "images.train-1-4.reference", New: visionImage(oneDigest)},
			{Field: "images.train-1-4.title", New: "Train 1.4"}},
	}
	if diff := cmp.Diff(want, [][]audit.Change{saved[0].Changes, saved[1].Changes}); diff != "" {
		t.Error(diff)
	}
	// It was never in the catalog, so that an administrator who saves that is not warned of losing it.
	if c, err := w.offer.Check(t.Context(), w.actorOf(admin), string(catalog.DefaultYAML())); err != nil ||
		len(c.Removals) > 0 || len(c.Problems) > 0 {
		t.Error(c.Removals, c.Problems, err)
	}
}

// TestAnApprovalHoldsTheDigest: what was asked for is what is granted, whatever the owners wrote meanwhile; an image
// that they retired is granted no more.
func TestAnApprovalHoldsTheDigest(t *testing.T) {
	w := newWorld(t)
	image := tenant.ImageDraft{New: true, Image: tenant.Image{Name: "train", Title: "Train",
		Reference: visionImage(oneDigest), Like: "jupyterlab"}}
	save := func() {
		t.Helper()
		if _, err := w.tenants.SaveImage(t.Context(), w.actorOf(owner), "vision", image); err != nil {
			t.Fatal(err)
		}
	}
	save()
	first, err := w.asks("h100", "vision.train")
	if err != nil || first.State != request.Pending {
		t.Fatal(first.State, err)
	}
	second, err := w.asks("h100", "vision.train")
	if err != nil {
		t.Fatal(err)
	}
	image.New, image.Reference = false, visionImage(anotherDigest)
	save()
	granted, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), first, "")
	if err != nil {
		t.Fatal(err)
	}
	if item, err := w.store.Workload(t.Context(), granted.Workload); err != nil ||
		item.Image.Reference != visionImage(oneDigest) {
		t.Errorf("want the digest that was approved, got %s %v", item.Image.Reference, err)
	}
	if _, err := w.tenants.RetireImage(t.Context(), w.actorOf(owner), "vision", "train", true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), second, ""); !fault.Is(err,
		fault.Conflict) ||
		fault.As(err).Sentence.ID != "request.image_retired" {
		t.Errorf("want a conflict that says the image was retired, got %v", err)
	}
	if r, err := w.requests.Requests.Get(t.Context(), w.actorOf(developer), second.ID); err != nil ||
		r.State != request.Pending {
		t.Errorf("want it left as it is, got %s %v", r.State, err)
	}
	if _, err := w.tenants.RetireImage(t.Context(), w.actorOf(owner), "vision", "train", false); err != nil {
		t.Fatal(err)
	}
	if _, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), second, ""); err != nil {
		t.Errorf("offered again it can be granted: %v", err)
	}
}

// TestATagIsWrittenDownWithItsDigest: an owner may name a tag, the registry says which digest it has, and only
// registries that the team may take images from are asked.
func TestATagIsWrittenDownWithItsDigest(t *testing.T) {
	w := newWorld(t)
	windows := registry.Manifest{Digest: oneDigest[1:], Platforms: []string{"windows/amd64"}}
	as := func(user string) registry.Manifest {
		return registry.Manifest{Digest: oneDigest[1:], Config: &registry.Config{User: user}}
	}
	offered := func() catalog.Catalog { // with an image that is started as the user that it names
		c := w.offer.Catalog()
		i, _ := c.Image("jupyterlab")
		i.Name, i.RunAsUser = "as-it-says", nil
		c.Images = append(slices.Clone(c.Images), i)
		return c
	}
	var asked []string
	var found registry.Manifest
	var why error
	teams := tenant.NewService(tenant.Options{Store: w.store, Initial: w.site.Directory, Catalog: offered,
		ImageUsers: true, Now: w.now, Resolve: func(_ context.Context, team, reference string) (registry.Manifest, error) {
			asked = append(asked, team+" "+reference)
			return found, why
		}})
	like := "as-it-says"
	save := func(reference string) (tenant.Own, error) {
		return teams.SaveImage(t.Context(), w.actorOf(owner), "vision", tenant.ImageDraft{New: true, Image: tenant.Image{
			Name: "train", Title: "Train", Reference: reference, Like: like}})
	}
	for name, c := range map[string]struct {
		reference, want string
		found           registry.Manifest
		why             error
	}{
		"no such tag":        {visionImage(""), "tenant.image_not_found", registry.Manifest{}, registry.ErrMissing},
		"a wrong password":   {visionImage(""), "tenant.image_refused", registry.Manifest{}, registry.ErrRefused},
		"no answer":          {visionImage(""), "tenant.image_silent", registry.Manifest{}, registry.ErrSilent},
		"for Windows alone":  {visionImage(""), "tenant.image_platform", windows, nil},
		"of root":            {visionImage(""), "tenant.image_root", as(""), nil},
		"of a named user":    {visionImage(""), "tenant.image_user", as("jovyan"), nil},
		"of another team":    {"registry.example.org/speech/train:1", "tenant.image_not_allowed", registry.Manifest{}, nil},
		"a host without dot": {"train:1", "tenant.image_reference", registry.Manifest{}, nil},
	} {
		found, why, asked = c.found, c.why, nil
		_, err := save(c.reference)
		if !fault.Is(err, fault.Invalid) || len(fault.As(err).Fields) != 1 || fault.As(err).Fields[0].Reason.ID != c.want {
			t.Errorf("%s: want %s, got %v", name, c.want, err)
		}
		if may := strings.HasPrefix(c.reference, "registry.example.org/vision/"); may != (len(asked) == 1) {
			t.Errorf("%s: asked %v", name, asked)
		}
	}
	found, why, asked = windows, nil, nil
	found.Platforms = append(found.Platforms, "linux/arm64")
	own, err := save(visionImage(""))
	if want := []string{"vision " + visionImage("")}; err != nil || own.Reference != visionImage(oneDigest) ||
		!slices.Equal(asked, want) {
		t.Errorf("want the digest written down, got %q %v after %v", own.Reference, err, asked)
	}
	found = as("root")
	if p, err := teams.PinImage(t.Context(), "vision", visionImage(""), new(int64(1000))); err != nil ||
		p.Reference != visionImage(oneDigest) {
		t.Errorf("an image of root that is started as somebody else: %v %v", p, err)
	}
}

// TestAnImageIsCheckedAsTheCatalogs: a wrong one comes back with what was typed and what is allowed.
func TestAnImageIsCheckedAsTheCatalogs(t *testing.T) {
	w := newWorld(t, func(c *config.Config) { c.WorkloadSecrets.RegistryHosts = []string{"ghcr.io"} })
	olga := w.signedIn(owner)
	for name, c := range map[string]struct {
		field, value, says string
	}{
		"a tag of a registry that may not be asked": {"reference", "registry.example.org/vision/train:1.4",
			"registry.example.org returned no digest"},
		"a tag alone of another team": {"reference", "registry.example.org/speech/train:1", "registry.example.org/vision/*"},
		"another team's": {"reference", "registry.example.org/speech/train" + oneDigest,
			"registry.example.org/vision/*"},
		"another registry": {"reference", "registry.example.org.evil.org/vision/train" + oneDigest,
			"registry.example.org/vision/*"},
		"like nothing":          {"like", "nothing", "Choose the catalog image"},
		"like a team's":         {"like", "vision.train", "Choose the catalog image"},
		"no title":              {"title", " ", "Enter a title"},
		"a title without name":  {"title", "…", "Use at most"},
		"a note of two lines":   {"note", "a\nb", "on one line"},
		"a user in the address": {"reference", "me@registry.example.org/vision/train" + oneDigest, "digest"},
	} {
		form := w.imageForm("Train")
		form.Set(c.field, c.value)
		if a := olga.post("/team/vision/images", form); a.status != http.StatusUnprocessableEntity ||
			!strings.Contains(a.body, c.says) || c.field == "reference" && !strings.Contains(a.body, c.value) {
			t.Errorf("%s: want it back with %q, got %d", name, c.says, a.status)
		}
	}
	if own, err := w.tenants.Images(w.actorOf(owner), "vision"); err != nil || len(own) != 0 {
		t.Errorf("something was saved: %v %v", own, err)
	}
}
