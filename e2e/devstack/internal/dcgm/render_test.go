package dcgm

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/expositiontest"
)

var anna = Share{Namespace: "red", Pod: "anna", UID: "u1", Container: "main", Busy: 0.4, UsedMiB: 100}

func parse(t *testing.T, entities ...Entity) map[string]*dto.MetricFamily {
	t.Helper()
	var page bytes.Buffer
	if err := Render(&page, "node", "580", entities); err != nil {
		t.Fatal(err)
	}
	return expositiontest.Parse(t, &page)
}

func TestWhichRowsThereAre(t *testing.T) {
	whole := Entity{UUID: "GPU-1", Model: "NVIDIA H100", MemoryMiB: 1000, UsedMiB: 110, Busy: 0.4, Shares: []Share{anna}}
	slice := whole
	slice.Profile, slice.InstanceID = "1g.10gb", 7
	guest := whole
	guest.Guest, guest.Licensed = true, 1
	timed := whole
	timed.Sharing, timed.Shares = "time-slicing", []Share{anna, {Namespace: "red", Pod: "omar", UID: "u2", Replica: 1}}
	mps := timed
	mps.Sharing = "mps"
	cases := map[string]struct {
		entity Entity
		rows   map[string]int // 0: the metric is missing
	}{
		"a whole GPU has everything": {whole, map[string]int{"DCGM_FI_DEV_GPU_UTIL": 1, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 1,
			"DCGM_FI_DEV_FB_USED": 1}},
		"a MIG instance has no utilization": {slice, map[string]int{"DCGM_FI_DEV_GPU_UTIL": 0, "DCGM_FI_DEV_MEM_COPY_UTIL": 0,
			"DCGM_FI_PROF_GR_ENGINE_ACTIVE": 1, "DCGM_FI_DEV_FB_USED": 1}},
		"a vGPU shows no power and no profiling": {guest, map[string]int{"DCGM_FI_DEV_POWER_USAGE": 0,
			"DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0,
			"DCGM_FI_DEV_GPU_UTIL":          1, "DCGM_FI_DEV_VGPU_LICENSE_STATUS": 1}},
		"shared in time: the device and each pod, or each pod": {timed, map[string]int{"DCGM_FI_DEV_GPU_UTIL": 3,
			"DCGM_FI_DEV_FB_USED": 3,
			"DCGM_FI_DEV_FB_FREE": 2, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 2}},
		"MPS has no value per process": {mps, map[string]int{"DCGM_FI_DEV_GPU_UTIL": 1, "DCGM_FI_DEV_FB_USED": 1,
			"DCGM_FI_DEV_FB_FREE": 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			families := parse(t, c.entity)
			for metric, want := range c.rows {
				if got := len(families[metric].GetMetric()); got != want {
					t.Errorf("%s: want %d rows, got %d", metric, want, got)
				}
			}
		})
	}
}

func TestRowsNameTheirPod(t *testing.T) {
	families := parse(t, Entity{UUID: "GPU-1", Profile: "1g.10gb", InstanceID: 9, Shares: []Share{anna}},
		Entity{GPU: 1, UUID: "GPU-2"})
	rows := families["DCGM_FI_DEV_FB_USED"].GetMetric()
	want := []string{"red", "anna", "main", "1g.10gb", "9", "node"}
	var got []string
	for _, name := range []string{"namespace", "pod", "container", "GPU_I_PROFILE", "GPU_I_ID", "hostname"} {
		got = append(got, expositiontest.Label(rows[0], name))
	}
	if !slices.Equal(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
	if pod := expositiontest.Label(rows[1], "pod"); pod != "" {
		t.Errorf("a free GPU has no pod, got %q", pod)
	}
}

// The exporter writes the blocks in the order of the field ids and the fixed labels in an order of their own.
func TestFormat(t *testing.T) {
	var page bytes.Buffer
	e := Entity{UUID: "GPU-1", Bus: "00000000:1B:00.0", Model: "NVIDIA H100 80GB HBM3", Shares: []Share{anna},
		Board: Board{Watts: 71.5}}
	if err := Render(&page, "node", "580", []Entity{e}); err != nil {
		t.Fatal(err)
	}
	want := `# HELP DCGM_FI_DEV_POWER_USAGE Power draw (W).
# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1",pci_bus_id="00000000:1B:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",hostname="node",DCGM_FI_DRIVER_VERSION="580",container="main",namespace="red",pod="anna"} 71.500000
`
	if !strings.Contains(page.String(), want) {
		t.Errorf("want a block\n%s\ngot\n%s", want, page.String())
	}
	if strings.Index(page.String(), "SM_CLOCK") > strings.Index(page.String(), "FB_FREE") {
		t.Error("the blocks are not in the order of the field ids")
	}
}
