package app

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/config"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/policy"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// shelf is registry.example.org as a team sees it: what its one tag leads to may change.
type shelf struct {
	digest, index string
	blob          string // configuration of the image, by whatever digest it is asked for
	status        int    // of every answer, 0 for the usual ones
	down          bool
	asked         atomic.Int32
}

func (s *shelf) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
	switch {
	case s.down:
		return nil, errors.New("connection refused")
	case s.status != 0:
		answer.StatusCode = s.status
	case strings.HasSuffix(r.URL.Path, "/manifests/1.4"):
		answer.Header.Set("Docker-Content-Digest", s.digest)
	case strings.HasSuffix(r.URL.Path, "/manifests/"+s.digest):
		answer.Body = io.NopCloser(strings.NewReader(s.index))
	case s.blob != "" && strings.Contains(r.URL.Path, "/blobs/"):
		answer.Body = io.NopCloser(strings.NewReader(s.blob))
	default:
		answer.StatusCode = http.StatusNotFound
	}
	return answer, nil
}

// registry puts a registry in the place of all that the portal would call.
func (w *world) registry() *shelf {
	s := &shelf{digest: oneDigest[1:]}
	w.secretService = secret.New(secret.Options{Store: w.store, Keys: w.keyring, Team: w.teamKnown,
		Client: &http.Client{Transport: s}, Now: w.now, NewID: w.newID})
	return s
}

// holds puts an image with this configuration behind the tag.
func (s *shelf) holds(config string) {
	digestOf := func(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }
	s.blob, s.index = config, `{"config":{"digest":"`+digestOf(config)+`"}}`
	s.digest = digestOf(s.index)
}

// TestAnImageThatExposesAnotherPort is said before it is sent, to people and programs, and hinders nothing: what an
// image exposes is a hint. A job answers nobody.
func TestAnImageThatExposesAnotherPort(t *testing.T) {
	w := newWorld(t)
	r := w.registry()
	w.allowCustom(true)
	dora := w.signedIn(developer)
	r.holds(`{"os":"linux","architecture":"amd64","config":{"User":"0","ExposedPorts":{"9000/tcp":{}}}}`)
	form := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "customImage.reference": {visionImage("")}}
	const says = "exposes port 9000, not 8888"
	if a := dora.post("/start/summary", form); a.status != http.StatusOK || !strings.Contains(a.body, says) ||
		!strings.Contains(a.body, `data-test="note"`) {
		t.Errorf("want it beside the verdict, got %d %s", a.status, a.body)
	}
	draft := custom("cpu", visionImage(""))
	p, err := w.requests.Requests.Preview(t.Context(), w.actorOf(developer), draft)
	if err != nil || p.Note.ID != "request.image_port" || len(p.Fields) > 0 || !p.StartsNow() && p.Fit.Known {
		t.Errorf("want a note and no problem, got %+v %v %v", p.Note, p.Fields, err)
	}
	if _, err := w.requests.Requests.Submit(t.Context(), w.actorOf(developer), draft); err != nil {
		t.Errorf("it is refused: %v", err)
	}
	for name, config := range map[string]string{
		"the right port": `{"os":"linux","config":{"ExposedPorts":{"8888/tcp":{},"9000/tcp":{}}}}`,
		"no port":        `{"os":"linux","config":{}}`,
	} {
		w.clock.pass(2 * time.Minute) // previews remember an answer for one
		r.holds(config)
		p, err := w.requests.Requests.Preview(t.Context(), w.actorOf(developer), draft)
		if err != nil || !p.Note.IsZero() || len(p.Fields) > 0 {
			t.Errorf("%s: %+v %v %v", name, p.Note, p.Fields, err)
		}
	}
}

// TestAPinnedImageIsInspected: one that is named by its digest is refused where a cluster would refuse it, and started
// where the registry cannot be asked, for nodes may have another way to it.
func TestAPinnedImageIsInspected(t *testing.T) {
	w := newWorld(t)
	r := w.registry()
	w.allowCustom(true)
	start := func() (request.Request, error) {
		d := custom("cpu", visionImage("@"+r.digest))
		return w.requests.Requests.Submit(t.Context(), w.actorOf(developer), d)
	}
	r.holds(`{"os":"windows","architecture":"amd64","config":{"User":"1000"}}`)
	if _, err := start(); !slices.Equal(wrongFields(err), []string{"customImage.reference tenant.image_platform"}) {
		t.Errorf("an image for Windows: %v", err)
	}
	r.holds(`{"os":"linux","architecture":"amd64","config":{"User":"1000","ExposedPorts":{"9000/tcp":{}}}}`)
	d := custom("cpu", visionImage("@"+r.digest))
	p, err := w.requests.Requests.Preview(t.Context(), w.actorOf(developer), d)
	if err != nil || p.Note.ID != "request.image_port" || p.Spec.Image.Reference != visionImage("@"+r.digest) {
		t.Errorf("want its port, and the reference as it was: %+v %v", p.Note, err)
	}
	for name, change := range map[string]func(){
		"down":    func() { r.down = true },
		"private": func() { r.down, r.status = false, http.StatusForbidden },
	} {
		change()
		if _, err := start(); err != nil {
			t.Errorf("%s: it cannot be started: %v", name, err)
		}
	}
}

// custom is a start of the developer with an image of their own.
func custom(size, reference string) request.Draft {
	return request.Draft{Kind: "notebook", Tenant: "vision", Size: size, Lease: "1h", Reason: "a test",
		CustomImage: &request.CustomImage{Reference: reference, Like: "jupyterlab"}}
}

// allowCustom lets the members of vision start images of their own, or not any more.
func (w *world) allowCustom(allow bool) {
	w.t.Helper()
	if _, err := w.tenants.SaveCustomImages(w.t.Context(), w.actorOf(owner), "vision", allow); err != nil {
		w.t.Fatal(err)
	}
}

// wrongFields are the fields of an error and the texts that they say, "customImage.reference tenant.image_silent".
func wrongFields(err error) []string {
	var list []string
	if !fault.Is(err, fault.Invalid) {
		return []string{"no field error"}
	}
	for _, f := range fault.As(err).Fields {
		list = append(list, f.Name+" "+f.Reason.ID)
	}
	return list
}

// TestAMembersOwnImage goes the whole way: an owner allows it, a member names a tag in the form, and the pod has the
// digest that the tag had when it was sent.
func TestAMembersOwnImage(t *testing.T) {
	w := newWorld(t)
	r := w.registry()
	olga, dora := w.signedIn(owner), w.signedIn(developer)
	form := url.Values{"tenant": {"vision"}, "kind": {"notebook"}, "size": {"cpu"}, "image": {"jupyterlab"},
		"lease": {"1h"}, "customImage.reference": {visionImage("")}}
	if a := dora.post("/start", form); a.status != http.StatusUnprocessableEntity ||
		!strings.Contains(a.body, "A team owner can allow it") || !strings.Contains(a.body, visionImage("")) {
		t.Errorf("want it back with who can allow it, got %d", a.status)
	}
	if a := dora.get("/start?tenant=vision"); !strings.Contains(a.body, `data-test="custom-off"`) {
		t.Error("the form does not say who can allow it")
	}
	if n := r.asked.Load(); n != 0 {
		t.Errorf("a registry is asked %d times for what is not allowed", n)
	}

	if a := dora.post("/team/vision/custom-images", url.Values{"allowed": {"yes"}}); a.status != http.StatusForbidden {
		t.Errorf("a member allows it: %d", a.status)
	}
	if a := olga.post("/team/vision/custom-images", url.Values{"allowed": {"yes"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	saved := w.events(audit.TenantSaved)
	if diff := cmp.Diff([]audit.Change{{Field: "customImages", Old: "false", New: "true"}}, saved[0].Changes); diff != "" {
		t.Error(diff)
	}

	draft := custom("cpu", visionImage(""))
	p, err := w.requests.Requests.Preview(t.Context(), w.actorOf(developer), draft)
	if err != nil || len(p.Fields) > 0 || p.Planned == nil {
		t.Fatalf("want a preview of a workload: %v %v", p.Fields, err)
	}
	manifest, err := w.requests.Requests.Manifest(*p.Planned)
	if err != nil || !strings.Contains(manifest, visionImage(oneDigest)) {
		t.Fatalf("want the digest in the manifest: %v %s", err, manifest)
	}
	before := r.asked.Load()
	if _, err := w.requests.Requests.Preview(t.Context(), w.actorOf(developer), draft); err != nil ||
		r.asked.Load() != before {
		t.Errorf("each look at the form asks the registry: %d, then %d, %v", before, r.asked.Load(), err)
	}
	r.digest = anotherDigest[1:] // the tag moves between preview and submission
	started := dora.post("/start", form)
	if started.status != http.StatusSeeOther {
		t.Fatalf("%d %s", started.status, started.body)
	}
	path := started.header.Get("Location")
	item, err := w.store.Workload(t.Context(), workload.ID(path[strings.LastIndex(path, "/")+1:]))
	if err != nil || item.Image.Reference != visionImage(anotherDigest) || item.Image.Like() != "jupyterlab" ||
		!item.Image.IsCustom() || item.Image.TokenEnv != "JUPYTER_TOKEN" || item.Image.Port == 0 {
		t.Fatalf("want the digest of the submission, started like JupyterLab: %+v %v", item.Image, err)
	}
	if a := dora.get(path); !strings.Contains(a.body, "train:1.4 (custom image, based on jupyterlab)") ||
		!strings.Contains(a.body, visionImage(anotherDigest)) {
		t.Error("the page does not say which image it is")
	}
	if e := w.events(audit.RequestSubmitted); len(e) != 1 || !slices.ContainsFunc(e[0].Changes, func(c audit.Change) bool {
		return c.Field == "image" && c.New == visionImage(anotherDigest)
	}) {
		t.Errorf("the record does not hold the image: %+v", e)
	}
	a := w.call(w.token(developer), http.MethodGet, "/api/v1/workloads/"+string(item.ID), nil)
	if !strings.Contains(a.body, `"customImage":{"like":"jupyterlab","reference":"`+visionImage(anotherDigest)+`"}`) &&
		!strings.Contains(a.body, `"customImage":{"reference":"`+visionImage(anotherDigest)+`","like":"jupyterlab"}`) {
		t.Errorf("the API does not say which image it is: %s", a.body)
	}
	if again := dora.get("/start?kind=job&like=" + string(item.ID)); !strings.Contains(again.body,
		visionImage(anotherDigest)) {
		t.Error("a job like it does not have its image")
	}

	body := map[string]any{"kind": "job", "tenant": "vision", "size": "cpu", "lease": "1h", "command": []string{"true"},
		"customImage": map[string]any{"reference": visionImage(oneDigest), "like": "jupyterlab"}}
	if a := w.call(w.token(developer), http.MethodPost, "/api/v1/requests", body); a.status != http.StatusCreated ||
		!strings.Contains(a.body, "custom_jupyterlab") {
		t.Errorf("by the API: %d %s", a.status, a.body)
	}
	if a := w.call(w.token(developer), http.MethodPost, "/api/v1/requests/preview",
		body); a.status != http.StatusOK || !strings.Contains(a.body, visionImage(oneDigest)) {
		t.Errorf("dry run by the API: %d %s", a.status, a.body)
	}
}

// TestWhatIsWrongWithAMembersOwnImage: each is an error at its field.
func TestWhatIsWrongWithAMembersOwnImage(t *testing.T) {
	w := newWorld(t)
	w.allowCustom(true)
	r := w.registry()
	const sum = "sha256:0be6ecca4fc9a1fa10c2b1c2d6e6a9d0b6a7a0f4a5b1f9c1a4cbb1f9f7f6b1a0" // of another text
	for name, c := range map[string]struct {
		reference, like, image string
		change                 func(*shelf)
		want                   []string
		asks                   bool
	}{
		"no such tag": {reference: "registry.example.org/vision/train:9", asks: true,
			want: []string{"customImage.reference tenant.image_not_found"}},
		"private": {reference: visionImage(""), asks: true, change: func(s *shelf) { s.status = http.StatusForbidden },
			want: []string{"customImage.reference tenant.image_not_found"}},
		"broken": {reference: visionImage(""), asks: true, change: func(s *shelf) { s.status = http.StatusBadGateway },
			want: []string{"customImage.reference tenant.image_silent"}},
		"down": {reference: visionImage(""), asks: true, change: func(s *shelf) { s.down = true },
			want: []string{"customImage.reference tenant.image_silent"}},
		"no digest": {reference: visionImage(""), asks: true, change: func(s *shelf) { s.digest = "md5:1" },
			want: []string{"customImage.reference tenant.image_silent"}},
		"another team's": {reference: "registry.example.org/speech/train:1",
			want: []string{"customImage.reference tenant.custom_not_allowed"}},
		"another registry": {reference: "registry.example.org.evil.org/vision/train:1",
			want: []string{"customImage.reference tenant.custom_not_allowed"}},
		"huge": {reference: "registry.example.org/vision/" + strings.Repeat("a", 1<<20),
			want: []string{"customImage.reference request.custom_reference"}},
		"empty": {reference: " ", want: []string{"customImage.reference request.custom_reference"}},
		"no host": {reference: "train:1",
			want: []string{"customImage.reference request.custom_reference"}},
		"markup": {reference: "registry.example.org/vision/<script>:1",
			want: []string{"customImage.reference request.custom_reference"}},
		"like nothing": {reference: visionImage(oneDigest), like: "nothing",
			want: []string{"customImage.like request.image_unknown"}},
		"like a server": {reference: visionImage(oneDigest), like: "model-demo", asks: true,
			want: []string{"customImage.like request.image_wrong_kind"}},
		"beside another": {reference: visionImage(oneDigest), image: "jupyterlab", asks: true,
			want: []string{"image request.custom_or_image"}},
	} {
		r.digest, r.status, r.down = sum, 0, false
		r.asked.Store(0)
		if c.change != nil {
			c.change(r)
		}
		d := custom("cpu", c.reference)
		if d.Image = c.image; c.like != "" {
			d.CustomImage.Like = c.like
		}
		_, err := w.requests.Requests.Submit(t.Context(), w.actorOf(developer), d)
		if got := wrongFields(err); !slices.Equal(got, c.want) {
			t.Errorf("%s: want %v, got %v", name, c.want, got)
		}
		if asked := r.asked.Load() > 0; asked != c.asks {
			t.Errorf("%s: a registry was asked: %v", name, asked)
		}
		p, err := w.requests.Requests.Preview(t.Context(), w.actorOf(developer), d)
		if got := wrongFields(fault.InvalidFields(p.Fields)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("preview, %s: want %v, got %v, %v", name, c.want, got, err)
		}
	}
}

// TestWhatIsNotAllowedAnyMoreStartsNothing: what runs goes on; a resume, an approval and a new start say why not.
func TestWhatIsNotAllowedAnyMoreStartsNothing(t *testing.T) {
	w := newWorld(t)
	w.allowCustom(true)
	reference := visionImage(oneDigest)
	small, err := w.requests.Requests.Submit(t.Context(), w.actorOf(developer), custom("cpu", reference))
	if err != nil {
		t.Fatal(err)
	}
	large, err := w.requests.Requests.Submit(t.Context(), w.actorOf(developer), custom("h100", reference))
	if err != nil || large.State != request.Pending {
		t.Fatal(large.State, err)
	}
	if page := w.signedIn(approver).get("/requests/" + string(large.ID)); !strings.Contains(page.body, reference) ||
		!strings.Contains(page.body, "custom image, based on jupyterlab") {
		t.Error("an approver does not see which image it is")
	}
	w.allowCustom(false)
	id := small.Workload
	item, err := w.store.Workload(t.Context(), id)
	if err != nil || item.Desired != workload.WantRunning {
		t.Fatalf("what runs does not go on: %s %v", item.Desired, err)
	}
	if _, err := w.workloads.Stop(t.Context(), w.actorOf(developer), id); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !fault.Is(err, fault.Conflict) || fault.As(err).Sentence.ID != "request.custom_gone" {
			t.Errorf("%s: want a conflict that says why, got %v", what, err)
		}
	}
	_, err = w.workloads.Start(t.Context(), w.actorOf(developer), id)
	refused("a resume", err)
	_, err = w.requests.Requests.Resume(t.Context(), w.actorOf(developer), id, "more")
	refused("a resume that is asked for", err)
	_, err = w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), large, "")
	refused("an approval", err)
	w.allowCustom(true)
	if _, err := w.workloads.Start(t.Context(), w.actorOf(developer), id); err != nil {
		t.Errorf("allowed again it does not run: %v", err)
	}
	if _, err := w.requests.Approvals.Approve(t.Context(), w.actorOf(approver), large, ""); err != nil {
		t.Errorf("allowed again it cannot be granted: %v", err)
	}
}

// TestARuleOfMembersOwnImages: an administrator lets somebody look at them first.
func TestARuleOfMembersOwnImages(t *testing.T) {
	w := newWorld(t, func(c *config.Config) {
		c.Rules = []policy.Rule{{Name: "own", When: "request.custom_image", Outcome: policy.Approve, By: identity.Owner},
			{Name: "all", When: "true", Outcome: policy.Allow}}
	})
	w.allowCustom(true)
	for image, want := range map[string]policy.Outcome{"": policy.Approve, "jupyterlab": policy.Allow} {
		d := custom("cpu", visionImage(oneDigest))
		if d.Image = image; image != "" {
			d.CustomImage = nil
		}
		p, err := w.requests.Requests.Preview(t.Context(), w.actorOf(developer), d)
		if err != nil || p.Verdict.Outcome != want {
			t.Errorf("%q: want %s, got %+v %v", image, want, p.Verdict, err)
		}
	}
}
