package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// What makes the pods carries what a row of the database can be rebuilt from, and its storage whose it is.
func TestSpecOnObjects(t *testing.T) {
	for name, kind := range map[string]string{"notebook": "StatefulSet", "endpoint": "Deployment"} {
		t.Run(name, func(t *testing.T) {
			in := input("mig-1g.10gb", "jupyterlab")
			if name == "endpoint" {
				in = input("cpu", "vllm")
			}
			w := &in.Workload
			w.Volume, w.StorageGiB = "nb-anna-home", 10
			w.Owner, w.Request, w.LicenseSeats = "p-1", "r-1", 2
			w.Grants = []workload.Grant{{ID: "g-1", To: workload.ToPerson, Person: "p-2", Name: "Otto",
				Permission: workload.MayUse},
				{ID: "g-2", To: workload.ToLink, SecretHash: "00ff", Permission: workload.MayUse}}
			w.CreatedAt = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
			w.Lease = workload.Lease{From: w.CreatedAt, Until: w.CreatedAt.Add(8*time.Hour + time.Microsecond)}
			objects, err := Objects(in)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objects {
				s, ok := SpecOf(o.GetAnnotations())
				switch o.GetObjectKind().GroupVersionKind().Kind {
				case kind:
					if want := specOf(*w); !ok || !cmp.Equal(want, s) {
						t.Errorf("spec (-want +got):\n%s", cmp.Diff(want, s))
					}
					if got := LeaseOf(o.GetAnnotations()); got != 8*time.Hour {
						t.Errorf("want a lease of 8 h, got %s", got)
					}
				case "PersistentVolumeClaim":
					if !ok || s.Owner != "p-1" {
						t.Errorf("want the owner on %T, got %+v", o.(*corev1.PersistentVolumeClaim), s)
					}
				default:
					if ok {
						t.Errorf("want no spec on %T", o)
					}
				}
			}
		})
	}
}

func TestSpecThatSomebodyBroke(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"owner":1}`} {
		if s, ok := SpecOf(map[string]string{SpecKey: text}); ok {
			t.Errorf("%q: want none, got %+v", text, s)
		}
	}
	for _, text := range []string{"", "-1h", "long"} {
		if got := LeaseOf(map[string]string{LeaseKey: text}); got != 0 {
			t.Errorf("%q: want none, got %s", text, got)
		}
	}
}
