package kube

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/endpointkey"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

var update = flag.Bool("update", false, "rewrite the golden manifests")

// golden is an input.yaml: a workload of the first catalog's size and image, or a tenant when it names no size.
type golden struct {
	Every    bool                 `json:"every"` // the size is one of catalog.EveryRow
	Size     string               `json:"size"`
	Image    string               `json:"image"`
	Own      *catalog.Image       `json:"own"`     // in place of one of the catalog
	Backend  catalog.Backend      `json:"backend"` // of the image, or of its runtime
	Name     string               `json:"name"`
	Kind     catalog.WorkloadKind `json:"kind"`
	Desired  workload.Desired     `json:"desired"`
	Volume   string               `json:"volume"`
	GiB      int                  `json:"gib"`
	Mounts   []workload.Mount     `json:"mounts"`
	Job      *workload.Job        `json:"job"`
	Waited   string               `json:"waited"` // of a job: for how long until it was placed; "" while it waits
	Replicas workload.Replicas    `json:"replicas"`
	Scaled   int                  `json:"scaled"` // by KEDA
	Model    *catalog.Model       `json:"model"`  // the usual one of the image's runtime where absent
	Secrets  []workload.SecretUse `json:"secrets"`
	Values   map[string]string    `json:"values"` // of secrets, by their keys
	Git      *workload.Git        `json:"git"`
	// its pods are made for the gateway of the site
	Published bool                    `json:"published"`
	Guarded   bool                    `json:"guarded"` // by Kuadrant
	Limits    endpointkey.LimitValues `json:"limits"`  // of its keys
	Tenant    tenant.Tenant           `json:"tenant"`
	Site      goldenSite              `json:"site"`
}

type goldenSite struct {
	Cluster        string         `json:"cluster"`
	OpenShift      bool           `json:"openShift"`
	StorageClass   string         `json:"storageClass"`
	InternetEgress bool           `json:"internetEgress"`
	Gateway        string         `json:"gateway"` // namespace
	Mirror         catalog.Mirror `json:"mirror"`
	ModelGateway   ModelGateway   `json:"modelGateway"`
	KEDA           KEDA           `json:"keda"`
}

// TestGolden renders every testdata/<case>/input.yaml and compares the whole of objects.yaml.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no cases", err)
	}
	sizes := map[string]bool{}
	for _, path := range inputs {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			g := readGolden(t, path)
			sizes[setOf(g.Every)+g.Size] = true
			got := render(t, g)
			want, err := os.ReadFile(filepath.Join(dir, "objects.yaml"))
			if *update {
				err = os.WriteFile(filepath.Join(dir, "objects.yaml"), []byte(got), 0o644)
				want = []byte(got)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("objects.yaml (-want +got):\n%s", diff)
			}
		})
	}
	for _, every := range []bool{false, true} {
		for _, s := range catalogOf(every).Sizes {
			if !sizes[setOf(every)+s.Name] {
				t.Errorf("no case renders size %s%s", setOf(every), s.Name)
			}
		}
	}
}

// catalogOf is the first catalog, or the one with every row.
func catalogOf(every bool) catalog.Catalog {
	if every {
		return catalog.EveryRow()
	}
	return catalog.Default()
}

func setOf(every bool) string {
	if every {
		return "every/"
	}
	return ""
}

func readGolden(t *testing.T, path string) golden {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := yaml.UnmarshalStrict(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func render(t *testing.T, g golden) string {
	t.Helper()
	site := Site{Cluster: g.Site.Cluster, Instance: "default", OpenShift: g.Site.OpenShift,
		StorageClass: g.Site.StorageClass, InternetEgress: g.Site.InternetEgress, Mirror: g.Site.Mirror,
		ModelGateway: g.Site.ModelGateway, KEDA: g.Site.KEDA}
	if g.Site.Gateway != "" {
		site.GatewayFrom = []Peer{InNamespace(g.Site.Gateway, nil)}
	}
	var objects []Object
	var err error
	if g.Size == "" {
		objects, err = TenantObjects(g.Tenant, catalogOf(g.Every), site)
	} else {
		in := inputOf(catalogOf(g.Every), g.Size, g.Image)
		if g.Own != nil {
			in.Workload.Image, in.Workload.Kind = *g.Own, g.Own.Kind
		}
		if g.Backend != "" {
			in.Workload.Image = onBackend(in.Workload.Image, g.Backend)
		}
		in.Scaled = g.Scaled
		in.Published, in.Guarded, in.Limits = g.Published, g.Guarded, g.Limits
		in.Workload.Name, in.Workload.Volume, in.Workload.StorageGiB = g.Name, g.Volume, g.GiB
		in.Workload.Mounts, in.Workload.Job, in.Workload.Replicas = g.Mounts, g.Job, g.Replicas
		in.Workload.Secrets, in.Workload.Git = g.Secrets, g.Git
		for key, value := range g.Values {
			if in.Secrets == nil {
				in.Secrets = map[string][]byte{}
			}
			in.Secrets[key] = []byte(value)
		}
		if in.Workload.Model = g.Model; g.Model == nil && in.Workload.Image.Runtime != nil {
			in.Workload.Model = in.Workload.Image.Runtime.Default
		}
		if g.Kind != "" {
			in.Workload.Kind = g.Kind
		}
		if in.Workload.IsJob() {
			in.Workload.Image = in.Workload.Image.ForJob()
		}
		if g.Waited != "" {
			waited, err := time.ParseDuration(g.Waited)
			if err != nil {
				t.Fatal(err)
			}
			in.JobStarted = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			in.Workload.PlacedAt = in.JobStarted.Add(waited)
		}
		if g.Desired != "" {
			in.Workload.Desired, in.Workload.Generation = g.Desired, 2
		}
		in.Site = site
		objects, err = Objects(in)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text(t, objects)
}

// onBackend is an image whose pods something else makes.
func onBackend(i catalog.Image, b catalog.Backend) catalog.Image {
	if i.Kind == catalog.Job {
		i.Backend = b
		return i
	}
	r := *i.Runtime
	r.Backend = b
	i.Runtime = &r
	return i
}

// text writes objects unmasked, for a golden file shall show every byte that is applied.
func text(t *testing.T, objects []Object) string {
	t.Helper()
	var b strings.Builder
	for _, o := range objects {
		content, err := Content(o)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "---\n%s", doc)
	}
	return b.String()
}

// input is a running workload of the first catalog.
func input(size, image string) Input { return inputOf(catalog.Default(), size, image) }

func inputOf(c catalog.Catalog, size, image string) Input {
	s, ok := c.Size(size)
	i, ok2 := c.Image(image)
	if !ok || !ok2 {
		panic("no such size or image: " + size + ", " + image)
	}
	return Input{
		Workload: workload.Workload{
			ID: "w-4k7q2m9x5c3d", Name: "nb-anna-7f3c", Kind: i.Kind, Tenant: "vision", Owner: "anna", OwnerName: "Anna Ö.",
			Size: s, Image: i, Cluster: "main",
			Namespace: "gpu-vision", Desired: workload.WantRunning, Generation: 1,
		},
		Tenant: tenant.Tenant{Name: "vision"}, Site: Site{Instance: "default"}, Token: "not-a-secret",
		LoadToken: "not-a-secret-either",
	}
}
