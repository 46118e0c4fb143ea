package gpumetrics

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recordedSite is a cluster as its API server lists it: nodes with a host name and addresses, exporters, a pod that
// holds a card, and two cards that agents or ResourceSlices name.
func recordedSite() NodeIndex {
	x := NewNodeIndex()
	x.AddNode("aks-gpunp-66230965-vmss000000", "10.224.0.5")
	x.AddNode("aks-gpunp-66230965-vmss000001", "10.224.0.6")
	x.AddNode("ip-172-31-54-152.ec2.internal", "172.31.54.152")
	x.AddNode("dgx-01.lab", "10.1.0.1")
	x.AddNode("dgx-01.edge", "10.2.0.1")
	x.AddExporter("ip-172-31-54-152.ec2.internal", Pod{"gpu-operator", "nvidia-dcgm-exporter-cwbcm"}, "192.168.9.4")
	x.AddExporter("dgx-01.lab", Pod{"monitoring", "my-dcgm-exporter-8w2s6"}, "10.244.1.77")
	x.AddHolder("dgx-01.edge", Pod{"gpu-vision", "nb-0"})
	x.AddCard("dgx-01.lab", "GPU-4c226d4d-8129-a7cf-fecd-daa9018b4b48", "0000:1b:00.0")
	x.AddCard("dgx-01.edge", "", "0000:3d:00.0")
	return x
}

// TestNodeOfACard: the labels are those that clusters were seen to have. Sources: gpu-operator issue 472 (AKS, node by
// relabelling), dcgm-exporter pull request 129 (Hostname is the exporter's pod; with NODE_NAME the short host name),
// issue 188 (no pods), issue 27 (honor_labels false and no Hostname); a container id is what docker run gives.
func TestNodeOfACard(t *testing.T) {
	const aks, ec2, lab, edge = "aks-gpunp-66230965-vmss000000", "ip-172-31-54-152.ec2.internal", "dgx-01.lab",
		"dgx-01.edge"
	for sentence, c := range map[string]struct {
		labels string
		want   string
		alone  string // where the cluster tells nothing of its nodes
	}{
		"the target's node label comes before the exporter's Hostname": {`node="aks-gpunp-66230965-vmss000000",` +
			`Hostname="nvidia-dcgm-exporter-57pvc",instance="10.244.1.9:9400",UUID="GPU-c89b14a3"`, aks, aks},
		"a short host name": {`Hostname="ip-172-31-54-152",UUID="GPU-1"`, ec2, "ip-172-31-54-152"},
		"a short host name that two nodes have": {`Hostname="dgx-01",instance="10.2.0.1:9400",UUID="GPU-1"`, edge,
			"dgx-01"},
		"Hostname is the exporter's pod": {`Hostname="nvidia-dcgm-exporter-cwbcm",UUID="GPU-1"`, ec2, ""},
		"the exporter's pod by another name": {`Hostname="my-dcgm-exporter-8w2s6",UUID="GPU-1",namespace="monitoring",` +
			`pod="my-dcgm-exporter-8w2s6"`, lab, ""},
		"Hostname is a container's id, the target's address is the node's": {
			`Hostname="6ce41e2c54a1",instance="10.224.0.6:9400",UUID="GPU-1"`, "aks-gpunp-66230965-vmss000001", ""},
		"the target's address is the exporter's pod's": {`instance="10.244.1.77:9400",UUID="GPU-1"`, lab, ""},
		"service discovery names the exporter's pod": {`instance="172.16.0.1:9400",UUID="GPU-1",namespace="gpu-operator",` +
			`pod="nvidia-dcgm-exporter-cwbcm"`, ec2, ""},
		"and beside it the pod that holds the card": {`UUID="GPU-1",namespace="gpu-operator",` +
			`pod="nvidia-dcgm-exporter-cwbcm",exported_namespace="gpu-vision",exported_pod="gone-0"`, ec2, ""},
		"an agent or a ResourceSlice names the card": {`Hostname="6ce41e2c54a1",` +
			`UUID="GPU-4c226d4d-8129-a7cf-fecd-daa9018b4b48",pci_bus_id="00000000:3D:00.0"`, lab, ""},
		"the pod that holds the card": {`Hostname="6ce41e2c54a1",UUID="GPU-1",namespace="gpu-vision",pod="nb-0"`, edge,
			""},
		"a lost card by its PCI address": {`Hostname="6ce41e2c54a1",UUID="GPU-1",pci_bus_id="00000000:3D:00.0"`, edge, ""},
		"a PCI address alone is no place where the UUID there is another": {
			`UUID="GPU-1",pci_bus_id="00000000:1B:00.0"`, "", ""},
		"nothing leads to a node that there is": {`Hostname="gpu-77",node="gpu-77",UUID="GPU-1"`, "", "gpu-77"},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFake(t, newClock().Now)
			f.scrape("DCGM_FI_DEV_FB_USED{"+c.labels+"} 1\n", true)
			var row labels
			for name, value := range f.rows[0] {
				row = append(row, label{name, value})
			}
			l := DefaultLabels()
			o := l.origin(row)
			if got := recordedSite().nodeOf(o, row.first(l.UUID)); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
			if got := o.believed(); got != c.alone {
				t.Errorf("without the cluster: want %q, got %q", c.alone, got)
			}
		})
	}
}

// TestNoPhantomNode: what an exporter calls itself is nobody's node; its cards stand where one of them is known to be.
func TestNoPhantomNode(t *testing.T) {
	rows := strings.Join([]string{
		`DCGM_FI_DEV_FB_USED{UUID="GPU-a",Hostname="6ce41e2c54a1",instance="172.16.0.1:9400",namespace="gpu-vision",pod="nb-0"} 1`,
		`DCGM_FI_DEV_FB_USED{UUID="GPU-b",Hostname="6ce41e2c54a1",instance="172.16.0.1:9400"} 1`,
		`DCGM_FI_DEV_FB_USED{UUID="GPU-c",Hostname="deadbeef0000",instance="172.16.0.2:9400"} 1`,
		`DCGM_FI_DEV_XID_ERRORS{UUID="GPU-b",Hostname="6ce41e2c54a1",instance="172.16.0.1:9400"} 79`}, "\n") + "\n"
	c := newClock()
	f := newFake(t, c.Now)
	f.scrape(rows, true)
	p, err := New(Config{URL: f.URL, Now: c.Now, Nodes: recordedSite})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{" GPU-c  1.00 ? []", "dgx-01.edge GPU-a  1.00 ? [{gpu-vision nb-0}]", "dgx-01.edge GPU-b  1.00 ? []"}
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	if diff := cmp.Diff(want, sketch(p.Fleet())); diff != "" {
		t.Error(diff)
	}
	cards := p.Report().Health
	if i := slices.IndexFunc(cards, func(c Card) bool { return c.UUID == "GPU-b" }); i < 0 ||
		cards[i].Node != "dgx-01.edge" || len(cards[i].Issues) == 0 {
		t.Errorf("want the trouble of GPU-b on its node, got %+v", cards)
	}
	for _, f := range p.Report().Findings {
		if f.ID == "twice" {
			t.Errorf("want no card on two nodes: %v", f)
		}
	}
}
