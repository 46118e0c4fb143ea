package e2e

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
)

// TestATeamsOwnImage: an owner adds an image in the browser, a member starts a notebook with it and the pod has it by
// its digest, then one with an image that the member names, once the owner has allowed that; another team neither sees
// nor starts the team's; when the owner retires it, what runs goes on and nothing new starts.
func TestATeamsOwnImage(t *testing.T) {
	// an image is retired and never removed, and the test may run again
	mark := strconv.FormatInt(time.Now().UnixMilli()%1e8, 36)
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
	dana.advanced()
	dana.busyBarIsReadable()
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

	own := strings.Replace(reference, "train:1.4", "mine:2", 1)
	dana.open("/start?tenant=vision&size=cpu&image=jupyterlab")
	dana.advanced()
	dana.reads("[data-test=custom-off]", "A team owner can allow it")
	otto.click("[data-test=custom-turn]")
	otto.reads("[data-test=custom-state]", "allowed")
	t.Cleanup(func() {
		as(t, "otto").ok(http.StatusOK, http.MethodPut, "/tenants/vision/custom-images", map[string]any{"allowed": false})
	})
	otto.accessible()
	dana.open("/start?tenant=vision&size=cpu&image=jupyterlab")
	dana.advanced()
	dana.fill("[data-test=custom-reference]", strings.Replace(own, "/vision/", "/speech/", 1))
	dana.fill("[name=name]", "mine-"+mark)
	dana.expecting("422")
	dana.click("[data-test=send]")
	dana.reads("[data-test=form-errors]", "registry.example.org/vision/*")
	dana.accessible()
	dana.fill("[data-test=custom-reference]", own)
	dana.shot("own")
	dana.click("[data-test=send]")
	dana.sees("[data-test=workload-head]")
	mine := dana.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(mine) })
	dana.reads("[data-test=workload-facts] [data-test=image]", "mine:2 (custom image, based on jupyterlab)")
	if got := podOf(t, as(t, "dana").reaches(mine, "running")).Spec.Containers[0].Image; got != own {
		t.Errorf("the pod has %s", got)
	}

	nora := as(t, "nora")
	if a := nora.call(http.MethodGet, "/tenants/vision/images", nil); a.Status != http.StatusNotFound {
		t.Errorf("another team reads the list: %d", a.Status)
	}
	if a := nora.call(http.MethodGet, "/images", nil); strings.Contains(string(a.Raw), name) {
		t.Error("another team is offered the image")
	}
	spec := map[string]any{"kind": "notebook", "tenant": "speech", "size": "cpu", "image": name, "lease": "1h"}
	if a := nora.call(http.MethodPost, "/requests", spec); a.Status != http.StatusUnprocessableEntity ||
		strings.Contains(string(a.Raw), title) {
		t.Errorf("another team starts it: %d %s", a.Status, a.Raw)
	}
	if a := as(t, "dana").call(http.MethodPost, "/tenants/vision/images/training-"+mark+"/retire",
		nil); a.Status != http.StatusForbidden {
		t.Errorf("a member retires it: %d", a.Status)
	}

	dana.open("/start?tenant=vision&size=cpu&image=" + name) // the form is open when the image goes
	dana.advanced()
	dana.fill("[name=name]", "late-"+mark)
	otto.click(row + " [data-test=image-menu] > summary")
	otto.click(row + " [data-test=retire]")
	otto.reads(row+" [data-test=state]", "retired")
	otto.accessible()
	dana.expecting("422")
	dana.click("[data-test=send]")
	dana.reads("[data-test=form-errors]", "“"+title+"” is no longer offered")
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

// rigid is a storage class like the standard one that lets nothing grow.
func rigid(t *testing.T) string {
	t.Helper()
	classes := kube(t).StorageV1().StorageClasses()
	class, err := classes.Get(context.Background(), "standard", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	name := "rigid-" + runID
	made := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: class.Provisioner,
		VolumeBindingMode: class.VolumeBindingMode, AllowVolumeExpansion: new(false)}
	if _, err := classes.Create(context.Background(), made, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = classes.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	return name
}

// TestSharedStorageOfATeam: an owner makes storage in the browser, a member's notebook has it at /shared as the API
// server says, another team does not see it. It grows, as far as its class lets it. It cannot be deleted while the
// notebook has it; afterwards that can be taken back, until the time of grace is over and it goes with its claim. The
// portal is one of its own, whose time of grace is changed.
func TestSharedStorageOfATeam(t *testing.T) {
	const long, short = "3h", "1s"
	own := ownPortal(t, "volumes", func(o *stack.PortalOptions) {
		stiff := rigid(t)
		o.Change = func(c map[string]any) {
			c["storage"] = map[string]any{"grace": long}
			c["clusters"].([]any)[0].(map[string]any)["sharedStorage"] = []any{map[string]any{"name": "standard",
				"access": "ReadWriteMany", "volumeGiB": 60, "teamGiB": 100},
				map[string]any{"name": stiff, "access": "ReadWriteMany"}}
		}
	})
	common := portal
	portal = own
	t.Cleanup(func() { portal = common })
	name := "data-" + strconv.FormatInt(time.Now().UnixMilli()%1e8, 36)
	claim, stiff := "vision."+name, "stiff-"+name
	otto, dana := signIn(t, "otto", look{}), signIn(t, "dana", look{})
	otto.open("/team/vision")
	otto.click("[data-test=tab-volumes]")
	otto.fill("[data-test=volume-name]", name)
	otto.fill("[data-test=volume-gib]", "20")
	otto.click("[data-test=volume-save]")
	otto.sees("[data-test=flash]")
	row := "[data-test=team-volume]:has-text('/shared/" + name + "')"
	otto.reads(row, "many nodes")
	otto.reads(row, "not in use")
	otto.accessible()
	otto.shot("made")
	as(t, "otto").ok(http.StatusCreated, http.MethodPost, "/tenants/vision/volumes",
		map[string]any{"name": stiff, "cluster": "main", "class": "rigid-" + runID, "gib": 5})
	set := "set-" + name
	otto.click("[data-test=tab-datasets]")
	otto.fill("[data-test=dataset-name]", set)
	otto.fill("[data-test=dataset-title]", "Street scenes")
	_, err := otto.at("[data-test=dataset-source]").SelectOption(playwright.SelectOptionValues{
		Values: playwright.StringSlice("volume/" + name)})
	otto.do(err)
	otto.fill("[data-test=dataset-sub-path]", "images/../2012")
	otto.expecting("422")
	otto.click("[data-test=dataset-save]")
	otto.sees("[data-test=form-errors]")
	otto.accessible()
	otto.fill("[data-test=dataset-sub-path]", "images/2012")
	otto.click("[data-test=dataset-save]")
	otto.reads("[data-test=dataset]:has-text('/datasets/"+set+"')", "/shared/"+name+"/images/2012")
	otto.accessible()
	otto.fitsTheWindow()
	otto.shot("dataset")

	dana.open("/start?tenant=vision&size=cpu&image=jupyterlab")
	ticked := func() { // neither the way to the questions and back nor an error loses it
		t.Helper()
		for _, n := range []string{name, stiff} {
			dana.do(dana.assert.Locator(dana.at("[data-test=mount-" + n + "]")).ToBeChecked())
		}
		dana.do(dana.assert.Locator(dana.at("[data-test=dataset-" + set + "]")).ToBeChecked())
	}
	dana.advanced()
	dana.do(dana.at("[data-test=mount-" + name + "]").Check())
	dana.do(dana.at("[data-test=mount-" + stiff + "]").Check())
	dana.do(dana.at("[data-test=dataset-" + set + "]").Check())
	dana.click("[data-test=sizing-open]")
	dana.sees("[data-test=sizing]")
	dana.click("[data-test=ask]")
	dana.click("[data-test=take]")
	dana.sees("[data-test=start-form]")
	ticked()
	dana.open("/start?tenant=vision&size=cpu&image=jupyterlab&mounts=" + name + "&mounts=" + stiff +
		"&datasets=" + set)
	dana.fill("[name=lease]", "soon")
	dana.expecting("422")
	dana.click("[data-test=send]")
	dana.sees("[data-test=form-errors]")
	ticked()
	dana.fill("[name=lease]", "1h")
	dana.fill("[name=name]", "with-"+name)
	dana.accessible()
	dana.shot("start")
	dana.click("[data-test=send]")
	dana.sees("[data-test=workload-head]")
	id := dana.workloadAt()
	t.Cleanup(func() { as(t, "dana").remove(id) })
	running := as(t, "dana").reaches(id, "running")
	pod := podOf(t, running)
	has, reads := false, false
	for i, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim {
			for _, m := range pod.Spec.Containers[0].VolumeMounts {
				has = has || m.Name == pod.Spec.Volumes[i].Name && m.MountPath == "/shared/"+name && !m.ReadOnly
				reads = reads || m.Name == pod.Spec.Volumes[i].Name && m.MountPath == "/datasets/"+set && m.ReadOnly &&
					m.SubPath == "images/2012"
			}
		}
	}
	if !reads {
		t.Errorf("the pod does not have the data set: %+v", pod.Spec.Containers[0].VolumeMounts)
	}
	dana.reads("main", "/datasets/"+set)
	if a := as(t, "otto").call(http.MethodDelete, "/tenants/vision/datasets/"+set, nil); a.Status !=
		http.StatusConflict || !strings.Contains(string(a.Raw), "with-"+name) {
		t.Errorf("a data set goes while a workload has it: %d %s", a.Status, a.Raw)
	}
	if !has || pod.Spec.SecurityContext.FSGroup == nil || *pod.Spec.SecurityContext.FSGroup != 100 {
		t.Errorf("the pod does not have it: %+v, group %v", pod.Spec.Containers[0].VolumeMounts,
			pod.Spec.SecurityContext.FSGroup)
	}
	claims := kube(t).CoreV1().PersistentVolumeClaims(str(running["namespace"]))
	if made, err := claims.Get(context.Background(), claim, metav1.GetOptions{}); err != nil ||
		made.Spec.AccessModes[0] != corev1.ReadWriteMany {
		t.Fatal(made, err)
	}

	nora := as(t, "nora")
	for _, list := range []string{"volumes", "datasets"} {
		if a := nora.call(http.MethodGet, "/tenants/vision/"+list, nil); a.Status != http.StatusNotFound {
			t.Errorf("another team reads the list of %s: %d", list, a.Status)
		}
	}
	spec := map[string]any{"kind": "notebook", "tenant": "speech", "size": "cpu", "image": "jupyterlab", "lease": "1h",
		"mounts": []string{name}}
	if a := nora.call(http.MethodPost, "/requests", spec); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("another team has it: %d %s", a.Status, a.Raw)
	}

	volume := func(name string) map[string]any {
		return find(t, items(as(t, "otto").ok(http.StatusOK, http.MethodGet, "/tenants/vision/volumes", nil)), "name", name)
	}
	state := func(name string) map[string]any { return volume(name)["state"].(map[string]any) }
	eventually(t, "both are there as large as they were made", 3*time.Minute, func() bool {
		return state(name)["hasGiB"] == 20.0 && state(stiff)["hasGiB"] == 5.0 && len(volume(name)["mountedBy"].([]any)) == 1
	})
	otto.open("/team/vision/volumes")
	otto.reads(row, "with-"+name)
	otto.reads(row+" [data-test=state]", "ready")
	otto.click(row + " [data-test=grow]")
	otto.fill("[data-test=volume-gib]", "61")
	otto.expecting("422")
	otto.click("[data-test=volume-grow-confirm]")
	otto.reads("[data-test=form-errors]", "At most 60 GiB")
	otto.accessible()
	otto.shot("grow")
	// somebody else is faster
	as(t, "otto").ok(http.StatusOK, http.MethodPost, "/tenants/vision/volumes/"+name+"/expand",
		map[string]any{"from": 20, "gib": 30})
	otto.fill("[data-test=volume-gib]", "40")
	otto.expecting("409")
	otto.click("[data-test=volume-grow-confirm]")
	otto.reads("[data-test=form-errors]", "it now has 30 GiB")
	otto.fill("[data-test=volume-gib]", "40")
	otto.click("[data-test=volume-grow-confirm]")
	otto.sees("[data-test=flash]")
	eventually(t, "the claim and its volume are larger", 3*time.Minute, func() bool {
		made, err := claims.Get(context.Background(), claim, metav1.GetOptions{})
		return err == nil && made.Spec.Resources.Requests.Storage().String() == "40Gi" &&
			made.Status.Capacity.Storage().String() == "40Gi"
	})
	eventually(t, "so the portal says", 3*time.Minute, func() bool {
		return state(name)["hasGiB"] == 40.0 &&
			state(name)["resizing"] == false
	})
	as(t, "otto").ok(http.StatusOK, http.MethodPost, "/tenants/vision/volumes/"+stiff+"/expand",
		map[string]any{"from": 5, "gib": 9})
	eventually(t, "the API server's refusal is told, and the volume is as large as it was", 3*time.Minute, func() bool {
		v := volume(stiff)
		refused, ok := v["notExpanded"].(map[string]any)
		return ok && refused["gib"] == 9.0 && strings.Contains(str(refused["detail"]), "must support resize") &&
			v["storage"] == "5Gi"
	})
	otto.open("/team/vision/volumes")
	otto.reads("[data-test=team-volume]:has-text('/shared/"+stiff+"') [data-test=not-grown]", "does not support expansion")
	otto.accessible()
	otto.shot("grown")
	for name, l := range map[string]look{"dark": {Dark: true}, "phone-de": {Width: 360, Language: "de-DE"}} {
		p := signIn(t, "otto", l)
		p.open("/team/vision/volumes")
		p.accessible()
		p.shot(name)
	}
	otto.click(row + " [data-test=delete]")
	otto.fill("[data-test=volume-confirm]", name)
	otto.expecting("409")
	otto.click("[data-test=volume-delete-confirm]")
	otto.reads("[data-test=form-errors]", "with-"+name+" (Dana")
	otto.accessible()
	otto.shot("in-use")
	as(t, "dana").remove(id)
	eventually(t, "the notebook has let it go", 3*time.Minute, func() bool {
		return len(find(t, items(as(t, "otto").ok(http.StatusOK, http.MethodGet, "/tenants/vision/volumes", nil)), "name",
			name)["usedBy"].([]any)) == 0
	})
	dana.open("/storage")
	dana.reads("[data-test=dataset]:has-text('/datasets/"+set+"')", "Street scenes")
	dana.shot("datasets")
	otto.open("/team/vision/datasets")
	otto.click("[data-test=dataset]:has-text('" + set + "') [data-test=dataset-withdraw]")
	otto.accessible()
	otto.click("[data-test=dataset-withdraw-confirm]")
	otto.reads("[data-test=flash]", "The files are kept")
	deletes := func() {
		otto.open("/team/vision/volumes")
		otto.click(row + " [data-test=delete]")
		otto.fill("[data-test=volume-confirm]", name)
		otto.click("[data-test=volume-delete-confirm]")
		otto.sees("[data-test=flash]")
	}
	deletes()
	otto.reads(row+" [data-test=pending-deletion]", "permanently")
	otto.accessible()
	otto.shot("going")
	dana.open("/start?tenant=vision&size=cpu&image=jupyterlab")
	if dana.count("[data-test=mount-"+name+"]") != 0 {
		t.Error("what goes is offered for a start")
	}
	otto.click(row + " [data-test=restore]")
	otto.reads("[data-test=flash]", "Restored")
	if _, err := claims.Get(context.Background(), claim, metav1.GetOptions{}); err != nil ||
		volume(name)["deleteAfter"] != nil {
		t.Errorf("it was taken back: %v %v", err, volume(name))
	}
	_, err = dana.page.Goto("about:blank") // whose page would miss the portal
	dana.do(err)
	own.Stop() // with another time of grace; deleting counts from now on
	again(t, own, "grace: "+long, "grace: "+short)
	deletes()
	eventually(t, "the claim is gone", 5*time.Minute, func() bool {
		_, err := claims.Get(context.Background(), claim, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "so is its row", 3*time.Minute, func() bool {
		return !strings.Contains(string(as(t, "otto").call(http.MethodGet, "/tenants/vision/volumes", nil).Raw), `"`+name+`"`)
	})
}

// again starts a portal that was stopped, with a line of its configuration changed.
func again(t *testing.T, p *stack.Portal, from, to string) {
	t.Helper()
	file := filepath.Join(p.Dir, "portal.yaml")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), from) {
		t.Fatalf("%s lacks %q: %v", file, from, err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
}

// busyBarIsReadable: the figures of before stay readable while the bar computes new ones.
func (p *person) busyBarIsReadable() {
	p.t.Helper()
	for _, act := range []string{"setAttribute('aria-busy', 'true')", "removeAttribute('aria-busy')"} {
		_, err := p.page.Evaluate("document.querySelector('.gp-start__bar')." + act)
		p.do(err)
		p.contrasts()
	}
}
