package e2e

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

// TestAPersonalVolume is made on the page, chosen in the form of a start, found in the pod at its place, made larger
// while it is there, snapshotted in use, and made a clone of once nobody has it; a colleague can do nothing of it.
func TestAPersonalVolume(t *testing.T) {
	dana, devi := as(t, "dana"), as(t, "devi")
	name := "corpus-" + strconv.FormatInt(time.Now().UnixMilli()%1e8, 36)
	p := signIn(t, "dana", look{})
	p.open("/storage")
	p.click("[data-test=volume-new]")
	p.fill("[data-test=volume-name]", name)
	p.fill("[data-test=volume-gib]", "5")
	p.accessible()
	p.shot("new")
	p.click("[data-test=volume-save]")
	p.reads("[data-test=volume-row]:has-text('"+name+"')", "/data/"+name)
	t.Cleanup(func() { // the volume and what was made of it
		for _, v := range items(dana.ok(http.StatusOK, http.MethodGet, "/volumes?scope=mine", nil)) {
			if at := str(v["path"]); strings.HasPrefix(at, "/data/"+name) {
				dana.call(http.MethodDelete, "/volumes/"+str(v["name"]), nil)
			}
		}
	})
	p.fitsTheWindow()
	p.shot("made")

	p.open("/start?tenant=vision&size=cpu&image=jupyterlab")
	p.advanced()
	choice := p.at("[data-test=volumes]:has(option[value*='" + name + "'])")
	_, err := choice.SelectOption(playwright.SelectOptionValues{Labels: playwright.StringSlice("read and write")})
	p.do(err)
	p.fill("[name=lease]", "1h")
	p.fill("[name=name]", "with-"+name)
	p.accessible()
	p.shot("start")
	p.click("[data-test=send]")
	p.sees("[data-test=workload-head]")
	id := p.workloadAt()
	t.Cleanup(func() { dana.remove(id) })
	running := dana.reaches(id, "running")
	p.reads("main", "/data/"+name)
	p.shot("attached")
	pod, claim := podOf(t, running), ""
	for i, v := range pod.Spec.Volumes {
		for _, m := range pod.Spec.Containers[0].VolumeMounts {
			if m.Name == pod.Spec.Volumes[i].Name && m.MountPath == "/data/"+name && !m.ReadOnly {
				claim = v.PersistentVolumeClaim.ClaimName
			}
		}
	}
	claims := kube(t).CoreV1().PersistentVolumeClaims(str(running["namespace"]))
	has := func(claim, size string) func() bool {
		return func() bool {
			made, err := claims.Get(context.Background(), claim, metav1.GetOptions{})
			return err == nil && made.Spec.Resources.Requests.Storage().String() == size
		}
	}
	if claim == "" || !has(claim, "5Gi")() {
		t.Fatalf("want a claim of 5Gi at its place, got %q of %+v", claim, pod.Spec.Containers[0].VolumeMounts)
	}

	volume := volumeAt(dana, "/data/"+name)
	at := "/volumes/" + str(volume["name"])
	if got := devi.call(http.MethodPost, at+"/expand", map[string]any{"from": 5, "gib": 9}); got.Status < 403 ||
		got.Status > 404 {
		t.Errorf("a colleague makes it larger: %d %s", got.Status, got.Raw)
	}
	p.open("/storage")
	row := "[data-test=volume-row]:has-text('" + name + "') "
	p.click(row + "[data-test=more] > summary")
	p.click(row + "[data-test=volume-grow]")
	p.fill("[data-test=volume-gib]", "8")
	p.accessible()
	p.click("[data-test=volume-grow-confirm]")
	p.reads("[data-test=volume-row]:has-text('"+name+"')", "8 GiB")
	dana.until("/volumes?scope=mine", "the claim is larger", time.Minute, func(map[string]any) bool {
		return has(claim, "8Gi")()
	})

	clone := map[string]any{"name": name + "-copy", "tenant": "vision", "gib": 8, "from": str(volume["name"])}
	if got := dana.call(http.MethodPost, "/volumes", clone); got.Status != http.StatusConflict &&
		got.Status != http.StatusUnprocessableEntity {
		t.Errorf("a volume in use is cloned: %d %s", got.Status, got.Raw)
	}
	if got := devi.call(http.MethodPost, at+"/snapshots", map[string]any{"name": "theirs"}); got.Status < 403 ||
		got.Status > 404 {
		t.Errorf("a colleague takes a snapshot: %d %s", got.Status, got.Raw)
	}
	aSnapshotInUse(p, dana, name, claims)
	dana.remove(id)
	dana.until("/volumes?scope=mine", "a clone", time.Minute, func(map[string]any) bool {
		return dana.call(http.MethodPost, "/volumes", clone).Status == http.StatusCreated
	})
	made := volumeAt(dana, "/data/"+name+"-copy")
	dana.until("/volumes?scope=mine", "the claim of the clone", time.Minute, func(map[string]any) bool {
		c, err := claims.Get(context.Background(), str(made["name"]), metav1.GetOptions{})
		return err == nil && c.Spec.DataSource != nil && c.Spec.DataSource.Name == claim
	})
}

// TestSeveralVolumesAreDeletedAtOnce: two of three are ticked, what is lost is read, and only they go, here and in the
// cluster; what a workload has cannot be ticked, and who sends its name all the same reads why it stays.
func TestSeveralVolumesAreDeletedAtOnce(t *testing.T) {
	dana := as(t, "dana")
	dana.running("cpu", nil) // the claims of a team are made in its namespace, which its first workload brings
	name := "spare-" + strconv.FormatInt(time.Now().UnixMilli()%1e8, 36)
	var made []string
	for _, end := range []string{"-a", "-b", "-c"} {
		v := dana.ok(http.StatusCreated, http.MethodPost, "/volumes", map[string]any{"name": name + end, "tenant": "vision",
			"gib": 2})
		made = append(made, str(v["name"]))
		t.Cleanup(func() { dana.call(http.MethodDelete, "/volumes/"+str(v["name"]), nil) })
	}
	claims := kube(t).CoreV1().PersistentVolumeClaims(spaces("e2e") + "vision")
	there := func(want int) func() bool {
		return func() bool {
			n := 0
			for _, claim := range made {
				if _, err := claims.Get(context.Background(), claim, metav1.GetOptions{}); err == nil {
					n++
				}
			}
			return n == want
		}
	}
	eventually(t, "the claims of all three", time.Minute, there(3))
	p := signIn(t, "dana", look{})
	p.open("/storage?scope=mine&q=" + name)
	row := func(end string) string { return "[data-test=volume-row]:has-text('" + name + end + "') " }
	p.do(p.at(row("-a") + "[data-test=tick]").Check())
	p.do(p.at(row("-b") + "[data-test=tick]").Check())
	p.reads("[data-test=ticked]", "2 selected · 4 GiB")
	p.accessible()
	p.shot("ticked")
	p.click("[data-test=bulk-delete]")
	p.reads("h1", "Delete 2 volumes?")
	p.reads("[data-test=bulk-row]:has-text('"+name+"-b')", "2 GiB")
	p.accessible()
	p.fitsTheWindow()
	p.shot("asks")
	p.click("[data-test=volumes-delete-confirm]")
	p.sees("[data-test=flash]")
	p.sees(row("-c"))
	p.goes(row("-a"))
	eventually(t, "their claims go, and that of the third stays", time.Minute, there(1))
}

// aSnapshotInUse takes a snapshot of a volume that a workload has, makes a volume from it, and deletes both.
func aSnapshotInUse(p *person, c client, name string, claims typed.PersistentVolumeClaimInterface) {
	c.t.Helper()
	p.open("/storage")
	volume := "[data-test=volume-row]:has-text('" + name + "') "
	p.click(volume + "[data-test=more] > summary")
	p.click(volume + "[data-test=snapshot-take]")
	p.fill("[data-test=snapshot-name]", "before")
	p.accessible()
	p.shot("snapshot")
	p.click("[data-test=snapshot-save]")
	row := "[data-test=snapshot-row]:has-text('" + name + "')"
	p.sees(row + " [data-test=snapshot-use]") // once it is ready, by itself
	p.accessible()
	p.shot("snapshots")
	p.click(row + " [data-test=snapshot-use]")
	p.fill("[data-test=volume-name]", name+"-back")
	p.accessible()
	p.shot("from-snapshot")
	p.click("[data-test=volume-save]")
	p.reads("[data-test=volume-row]:has-text('"+name+"-back')", "before")
	source, back := str(volumeAt(c, "/data/"+name)["name"])+".before", volumeAt(c, "/data/"+name+"-back")
	c.until("/volumes?scope=mine", "the claim of what is made from it", time.Minute, func(map[string]any) bool {
		made, err := claims.Get(context.Background(), str(back["name"]), metav1.GetOptions{})
		return err == nil && made.Spec.DataSource != nil && made.Spec.DataSource.Kind == "VolumeSnapshot" &&
			made.Spec.DataSource.Name == source
	})
	c.ok(http.StatusOK, http.MethodDelete, "/volumes/"+str(back["name"]), nil)
	p.open("/storage")
	p.click(row + " [data-test=snapshot-delete]")
	p.accessible()
	p.click("[data-test=snapshot-delete-confirm]")
	p.sees("[data-test=storage]") // before anything is loaded again: the page that asked is gone with the snapshot
	p.goes(row)
}

// volumeAt is one's own volume that workloads have at a path.
func volumeAt(c client, path string) map[string]any {
	c.t.Helper()
	for _, v := range items(c.ok(http.StatusOK, http.MethodGet, "/volumes?scope=mine", nil)) {
		if str(v["path"]) == path {
			return v
		}
	}
	c.t.Fatalf("there is no volume at %s", path)
	return nil
}
