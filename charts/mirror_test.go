package charts_test

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
)

// chartImages are those that a release with everything in it pulls.
func chartImages(t *testing.T, values string) (list []string) {
	t.Helper()
	objects := mustRender(t, values)
	for _, d := range deployments(t, objects) {
		list = append(list, d.Spec.Template.Spec.Containers[0].Image)
	}
	agent := the[appsv1.DaemonSet](t, objects, "DaemonSet", "gpu-portal-agent")
	return append(list, agent.Spec.Template.Spec.Containers[0].Image)
}

const withAgent = needed + "agent: {enabled: true, tokenSecret: {existingSecret: x}}\n"

// TestTheMirrorIsOneSetting: the chart's images go by the rules that the portal goes by with those of workloads, and
// the portal is told.
func TestTheMirrorIsOneSetting(t *testing.T) {
	for _, m := range []catalog.Mirror{{}, {Registry: "mirror.example.org/copies"}, {Registry: "mirror:5000"},
		{Registry: "mirror.example.org", Except: []string{"registry.example.org"}}} {
		setting := fmt.Sprintf("  imageMirror: {registry: %q, except: [%s]}\n", m.Registry, strings.Join(m.Except, ", "))
		for _, repository := range []string{"gpu-portal", "team/gpu-portal", "docker.io/gpu-portal",
			"index.docker.io/gpu-portal", "registry.example.org/gpu-portal", "registry.example.org:5000/a/gpu-portal",
			"localhost/gpu-portal", "mirror.example.org/gpu-portal"} {
			values := needed + setting + "image: {repository: " + repository + "}\nagent: {enabled: true, tokenSecret: " +
				"{existingSecret: x}, image: {repository: " + repository + "}}\n"
			for _, got := range chartImages(t, values) {
				if want := m.Of(repository + ":dev"); got != want {
					t.Errorf("%+v: want %s, got %s", m, want, got)
				}
			}
		}
	}
}

// TestTheListOfImagesIsWhole: images.txt is what a site without the Internet copies.
func TestTheListOfImagesIsWhole(t *testing.T) {
	want := chartImages(t, withAgent)
	for _, i := range catalog.Default().Images {
		want = append(want, i.Reference)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	file, err := os.Open("gpu-portal/images.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var got []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("images.txt (-what chart and catalog use +what it lists)\n%s", diff)
	}
}
