package e2e

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
)

// TestDatasetFromABucket: an owner offers a bucket in the browser, and a member's notebook has a copy of it below
// /datasets as the API server says, with a key that its program does not have. The portal is one of its own, for it
// takes an image that copies.
func TestDatasetFromABucket(t *testing.T) {
	const image = "registry.example.org/rclone@sha256:0000000000000000000000000000000000000000000000000000000000000000"
	own := ownPortal(t, "buckets", func(o *stack.PortalOptions) {
		o.Change = func(c map[string]any) { c["secrets"] = map[string]any{"rcloneImage": image} }
	})
	common := portal
	portal = own
	t.Cleanup(func() { portal = common })
	tail := strconv.FormatInt(time.Now().UnixMilli()%1e8, 36)
	set, keys := "corpus-"+tail, "keys-"+tail
	as(t, "otto").ok(http.StatusCreated, http.MethodPost, "/secrets", map[string]any{"name": keys, "tenant": "vision",
		"kind": "s3", "values": map[string]any{"accessKey": "corpus-reader", "secretKey": "canary-" + tail,
			"endpoint": "https://s3.example.org"}})

	otto := signIn(t, "otto", look{Width: 1366})
	otto.open("/team/vision/datasets")
	otto.fill("[data-test=dataset-name]", set)
	_, err := otto.at("[data-test=dataset-source]").SelectOption(playwright.SelectOptionValues{
		Values: playwright.StringSlice("bucket")})
	otto.do(err)
	otto.fill("[data-test=dataset-bucket]", "corpus")
	_, err = otto.at("[data-test=dataset-secret]").SelectOption(playwright.SelectOptionValues{
		Values: playwright.StringSlice(keys)})
	otto.do(err)
	otto.fill("[data-test=dataset-gib]", "50")
	otto.expecting("422")
	otto.click("[data-test=dataset-save]")
	otto.reads("[data-test=form-errors]", "s3://corpus/2026")
	otto.accessible()
	otto.shot("wrong")
	otto.fill("[data-test=dataset-bucket]", "s3://corpus/2026")
	otto.click("[data-test=dataset-save]")
	row := "[data-test=dataset]:has-text('/datasets/" + set + "')"
	otto.reads(row, "s3://corpus/2026")
	otto.reads(row, "50")
	otto.accessible()
	otto.fitsTheWindow()
	otto.shot("offered")
	for name, l := range map[string]look{"dark": {Dark: true}, "phone-de": {Width: 390, Language: "de-DE"}} {
		p := signIn(t, "otto", l)
		p.open("/team/vision/datasets")
		p.accessible()
		p.shot(name)
	}

	dana := signIn(t, "dana", look{})
	dana.open("/start?tenant=vision&size=cpu&image=jupyterlab&lease=1h&datasets=" + set)
	dana.click("[data-test=send]")
	dana.sees("[data-test=workload-head]")
	id := dana.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	running := as(t, "dana").reaches(id, "running")
	if got := running["secrets"]; got != nil {
		t.Errorf("want the team's key among no secrets of the notebook, got %v", got)
	}
	dana.reads("main", "/datasets/"+set)
	pod := podOf(t, running)
	at := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Image == image })
	if at < 0 {
		t.Fatalf("nothing copies: %+v", pod.Spec.InitContainers)
	}
	place := pod.Spec.InitContainers[at].VolumeMounts[0].Name
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == place && v.EmptyDir != nil && v.EmptyDir.SizeLimit.String() == "50Gi"
	}) {
		t.Errorf("want the copy within 50Gi, got %+v", pod.Spec.Volumes)
	}
	program := pod.Spec.Containers[0]
	if !slices.ContainsFunc(program.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == place && m.ReadOnly && m.MountPath == "/datasets/"+set
	}) {
		t.Errorf("the program does not read it: %+v", program.VolumeMounts)
	}
	for _, e := range program.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.Name != "JUPYTER_TOKEN" {
			t.Errorf("the program has a key: %s", e.Name)
		}
	}
}
