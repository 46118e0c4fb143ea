package e2e

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestATeamsOwnImage: an owner adds an image in the browser, a member starts a notebook with it and the pod has it by its digest; another team neither sees nor starts
// it; when the owner retires it, what runs goes on and nothing new starts.
func TestATeamsOwnImage(t *testing.T) {
	mark := strconv.FormatInt(time.Now().UnixMilli()%1e8, 36) // an image is retired and never removed, and the test may run again
	title, name := "Training "+mark, "vision.training-"+mark
	reference := "registry.example.org/vision/train:1.4@sha256:" + strings.Repeat("1a2b3c4d", 8)
	otto, dana := signIn(t, "otto", look{}), signIn(t, "dana", look{})

	otto.open("/team/vision")
	otto.click("[data-test=tab-images]")
	otto.fill("[data-test=image-title]", title)
	otto.fill("[data-test=image-reference]", strings.Replace(reference, "/vision/", "/speech/", 1))
	otto.expecting("422")
	otto.click("[data-test=image-save]")
	otto.reads("[data-test=image-form]", "registry.example.org/vision/*")
	otto.accessible()
	otto.fill("[data-test=image-reference]", reference)
	otto.click("[data-test=image-save]")
	otto.sees("[data-test=flash]")
	row := "[data-test=image-row]:has-text('" + title + "')"
	otto.reads(row+" [data-test=state]", "offered")
	otto.accessible()
	otto.shot("added")

	dana.open("/start?tenant=vision&size=cpu&image=" + name)
	dana.reads("[data-test=image]", title)
	dana.fill("[name=name]", "own-"+mark)
	dana.accessible()
	dana.shot("start")
	dana.click("[data-test=send]")
	dana.sees("[data-test=workload-head]")
	id := dana.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	running := as(t, "dana").reaches(id, "running")
	if got := podOf(t, running).Spec.Containers[0].Image; got != reference {
		t.Errorf("the pod has %s", got)
	}

	nora := as(t, "nora")
	if a := nora.call(http.MethodGet, "/tenants/vision/images", nil); a.Status != http.StatusNotFound {
		t.Errorf("another team reads the list: %d", a.Status)
	}
	if a := nora.call(http.MethodGet, "/images", nil); strings.Contains(string(a.Raw), name) {
		t.Error("another team is offered the image")
	}
	wish := map[string]any{"kind": "notebook", "tenant": "speech", "size": "cpu", "image": name, "lease": "1h"}
	if a := nora.call(http.MethodPost, "/requests", wish); a.Status != http.StatusUnprocessableEntity || strings.Contains(string(a.Raw), title) {
		t.Errorf("another team starts it: %d %s", a.Status, a.Raw)
	}
	if a := as(t, "dana").call(http.MethodPost, "/tenants/vision/images/training-"+mark+"/retire", nil); a.Status != http.StatusForbidden {
		t.Errorf("a member retires it: %d", a.Status)
	}

	dana.open("/start?tenant=vision&size=cpu&image=" + name) // the form is open when the image goes
	dana.fill("[name=name]", "late-"+mark)
	otto.click(row + " [data-test=retire]")
	otto.reads(row+" [data-test=state]", "retired")
	otto.accessible()
	dana.expecting("422")
	dana.click("[data-test=send]")
	dana.reads("[data-test=form-errors]", "“"+title+"” is no longer on offer")
	dana.shot("refused")
	if got := as(t, "dana").ok(http.StatusOK, http.MethodGet, "/workloads/"+id, nil)["state"]; got != "running" {
		t.Errorf("want what runs to go on, got %v", got)
	}
	for name, l := range map[string]look{"dark": {Dark: true}, "phone-de": {Width: 360, Language: "de-DE"}} {
		p := signIn(t, "otto", l)
		p.open("/team/vision/images")
		p.accessible()
		p.shot(name)
	}
}

// TestSharedStorageOfATeam: an owner makes storage in the browser, a member's notebook has it at /shared as the API server says, another team does not see it, it cannot be
// deleted while the notebook has it, and afterwards it goes with its claim.
func TestSharedStorageOfATeam(t *testing.T) {
	name := "data-" + strconv.FormatInt(time.Now().UnixMilli()%1e8, 36)
	claim := "vision." + name
	otto, dana := signIn(t, "otto", look{}), signIn(t, "dana", look{})
	otto.open("/team/vision")
	otto.click("[data-test=tab-volumes]")
	otto.fill("[data-test=volume-name]", name)
	otto.fill("[data-test=volume-gib]", "20")
	otto.click("[data-test=volume-save]")
	otto.sees("[data-test=flash]")
	row := "[data-test=team-volume]:has-text('/shared/" + name + "')"
	otto.reads(row, "many at once")
	otto.accessible()
	otto.shot("made")

	dana.open("/start?tenant=vision&size=cpu&image=jupyterlab")
	dana.do(dana.at("[data-test=mount-" + name + "]").Check())
	dana.fill("[name=name]", "with-"+name)
	dana.accessible()
	dana.shot("start")
	dana.click("[data-test=send]")
	dana.sees("[data-test=workload-head]")
	id := dana.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	running := as(t, "dana").reaches(id, "running")
	pod := podOf(t, running)
	has := false
	for i, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			for _, m := range pod.Spec.Containers[0].VolumeMounts {
				has = has || m.Name == pod.Spec.Volumes[i].Name && m.MountPath == "/shared/"+name && !m.ReadOnly
			}
		}
	}
	if !has || pod.Spec.SecurityContext.FSGroup == nil || *pod.Spec.SecurityContext.FSGroup != 100 {
		t.Errorf("the pod does not have it: %+v, group %v", pod.Spec.Containers[0].VolumeMounts, pod.Spec.SecurityContext.FSGroup)
	}
	claims := kube(t).CoreV1().PersistentVolumeClaims(str(running["namespace"]))
	if made, err := claims.Get(context.Background(), claim, metav1.GetOptions{}); err != nil || made.Spec.AccessModes[0] != corev1.ReadWriteMany {
		t.Fatal(made, err)
	}

	nora := as(t, "nora")
	if a := nora.call(http.MethodGet, "/tenants/vision/volumes", nil); a.Status != http.StatusNotFound {
		t.Errorf("another team reads the list: %d", a.Status)
	}
	wish := map[string]any{"kind": "notebook", "tenant": "speech", "size": "cpu", "image": "jupyterlab", "lease": "1h", "mounts": []string{name}}
	if a := nora.call(http.MethodPost, "/requests", wish); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("another team has it: %d %s", a.Status, a.Raw)
	}

	otto.open("/team/vision/volumes")
	otto.reads(row, "with-"+name)
	otto.click(row + " [data-test=delete]")
	otto.fill("[data-test=volume-confirm]", name)
	otto.expecting("409")
	otto.click("[data-test=volume-delete-confirm]")
	otto.reads("[data-test=form-errors]", "with-"+name+" (Dana")
	otto.accessible()
	otto.shot("in-use")
	as(t, "dana").remove(id)
	eventually(t, "the notebook has let it go", 3*time.Minute, func() bool {
		return len(find(t, items(as(t, "otto").ok(http.StatusOK, http.MethodGet, "/tenants/vision/volumes", nil)), "name", name)["usedBy"].([]any)) == 0
	})
	otto.fill("[data-test=volume-confirm]", name)
	otto.click("[data-test=volume-delete-confirm]")
	otto.sees("[data-test=flash]")
	eventually(t, "the claim is gone", 3*time.Minute, func() bool {
		_, err := claims.Get(context.Background(), claim, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	for name, l := range map[string]look{"dark": {Dark: true}, "phone-de": {Width: 360, Language: "de-DE"}} {
		p := signIn(t, "otto", l)
		p.open("/team/vision/volumes")
		p.accessible()
		p.shot(name)
	}
}
