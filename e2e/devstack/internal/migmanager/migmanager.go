// Package migmanager plays NVIDIA's MIG manager: it follows the node label nvidia.com/mig.config, and after it the
// device plugin and GPU feature discovery, which come back with new resources and labels.
//
// The order of what can be seen is that of NVIDIA/mig-parted v0.15.0 (pkg/mig/reconfigure): an unknown name fails at
// once; a layout that is there already succeeds at once; else the state is pending, the operands are paused, the node
// has no GPU to give, and after some seconds the new resources and the state success appear. Pods are not sent away: a
// GPU in use whose layout would change makes the change fail, and the node comes back as it was.
package migmanager

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/gpus"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/nodes"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/seed"
	"github.com/gpu-portal/gpu-portal/e2e/devstack/internal/world"
)

const (
	configLabel = "nvidia.com/mig.config"
	stateLabel  = "nvidia.com/mig.config.state"
	paused      = "paused-for-mig-change"
	// OwnConfig is the ConfigMap that a site may write to replace the generated ones, as spec.migManager.config.name does.
	OwnConfig = "custom-mig-config"
)

// Manager follows all nodes, one change per node at a time.
type Manager struct {
	Cluster  *world.Cluster
	Hardware *gpus.Hardware
	// Takes is how long a change takes.
	Takes time.Duration
	busy  map[string]bool
}

// Run looks at the nodes until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	m.busy = map[string]bool{}
	done := make(chan string)
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case name := <-done:
			delete(m.busy, name)
		case <-tick.C:
			for _, node := range m.Cluster.Nodes() {
				if m.busy[node.Name] || !wantsChange(node) {
					continue
				}
				m.busy[node.Name] = true
				go func() {
					if err := m.change(ctx, node.Name); err != nil && ctx.Err() == nil {
						fmt.Fprintf(os.Stderr, "devstack: MIG manager on %s: %v\n", node.Name, err)
						time.Sleep(time.Second)
					}
					select {
					case done <- node.Name:
					case <-ctx.Done():
					}
				}()
			}
		}
	}
}

func wantsChange(node *corev1.Node) bool {
	wanted := node.Labels[configLabel]
	if wanted == "" || node.Annotations[nodes.KindAnnotation] == "" || node.Annotations[nodes.FailedAnnotation] != "" {
		return false
	}
	return node.Annotations[nodes.AppliedAnnotation] != wanted
}

// change acts on the label of one node. It asks the API server for the node: the cache may not know yet that the last
// change is done.
func (m *Manager) change(ctx context.Context, name string) error {
	node, err := m.Cluster.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil || !wantsChange(node) {
		return err
	}
	wanted := node.Labels[configLabel]
	kind, before, err := nodes.Read(node)
	if err != nil {
		return err
	}
	if kind.Model == nil || kind.DRA {
		return nil
	}
	after, err := m.wantedLayout(ctx, node, kind, wanted)
	if err != nil {
		fmt.Fprintf(os.Stderr, "devstack: MIG manager on %s: %v\n", node.Name, err)
		return m.write(ctx, node.Name, wanted, "failed", nil)
	}
	if same(before, after) {
		return m.write(ctx, node.Name, wanted, "success", nil)
	}
	if err := m.pause(ctx, node.Name); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(m.Takes):
	}
	if user := m.inUse(node, before, after); user != "" {
		fmt.Fprintf(os.Stderr, "devstack: MIG manager on %s: a GPU is in use by %s\n", node.Name, user)
		return m.write(ctx, node.Name, wanted, "failed", before)
	}
	return m.write(ctx, node.Name, wanted, "success", after)
}

func (m *Manager) wantedLayout(ctx context.Context, node *corev1.Node, kind nodes.Kind,
	name string) (nodes.Layout, error) {
	configs := m.Cluster.Client.CoreV1().ConfigMaps(seed.OperatorNamespace)
	own, err := configs.Get(ctx, OwnConfig, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		own, err = configs.Get(ctx, node.Name+"-mig-config", metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("read the config: %w", err)
	}
	return layoutOf([]byte(own.Data["config.yaml"]), name, kind)
}

func same(a, b nodes.Layout) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// inUse names a pod that holds a GPU whose layout would change.
func (m *Manager) inUse(node *corev1.Node, before, after nodes.Layout) string {
	kind, _, err := nodes.Read(node)
	if err != nil {
		return ""
	}
	held, err := m.Hardware.Holders(node)
	if err != nil {
		return ""
	}
	for _, d := range kind.Devices(node.Name, before) {
		holder, taken := held[d.ID]
		if taken && !same(before[d.GPU:d.GPU+1], after[d.GPU:d.GPU+1]) {
			return holder.Namespace + "/" + holder.Pod
		}
	}
	return ""
}

// pause sends the operands away: the node has no GPU to give.
func (m *Manager) pause(ctx context.Context, name string) error {
	return m.update(ctx, name, func(node *corev1.Node) {
		node.Labels[stateLabel] = "pending"
		for key, value := range node.Labels {
			if pausable(key) && value == "true" {
				node.Labels[key] = paused
			}
		}
	}, func(node *corev1.Node) {
		for key := range node.Status.Allocatable {
			if strings.HasPrefix(string(key), "nvidia.com/") {
				zero := node.Status.Allocatable[key]
				zero.Set(0)
				node.Status.Allocatable[key], node.Status.Capacity[key] = zero, zero
			}
		}
	})
}

func pausable(label string) bool {
	operand, ok := strings.CutPrefix(label, "nvidia.com/gpu.deploy.")
	return ok && strings.Contains(" device-plugin gpu-feature-discovery dcgm-exporter dcgm nvsm client ", " "+operand+" ")
}

// write ends a change: the state and, when there is one, the layout with all that follows from it.
func (m *Manager) write(ctx context.Context, name, config, state string, layout nodes.Layout) error {
	return m.update(ctx, name, func(node *corev1.Node) {
		node.Annotations[nodes.AppliedAnnotation] = config
		if layout != nil {
			text, _ := json.Marshal(layout)
			node.Annotations[nodes.LayoutAnnotation] = string(text)
			kind, _, err := nodes.Read(node)
			if err == nil {
				maps.DeleteFunc(node.Labels, func(key, _ string) bool { return layoutLabel(key) })
				maps.Copy(node.Labels, kind.AllLabels(name, layout))
			}
		}
		// Last: the labels of the table would say success, and the name may have been changed again meanwhile.
		node.Labels[stateLabel] = state
	}, func(node *corev1.Node) {
		if layout == nil {
			return
		}
		if kind, _, err := nodes.Read(node); err == nil {
			resources := kind.Resources(name, layout)
			node.Status.Capacity, node.Status.Allocatable = resources, resources
		}
	})
}

// layoutLabel: labels that describe instances and must go when the instances do.
func layoutLabel(key string) bool {
	if strings.HasPrefix(key, configLabel) || key == "nvidia.com/mig.capable" || key == "nvidia.com/mig.strategy" {
		return false
	}
	return strings.HasPrefix(key, "nvidia.com/mig-") || strings.HasPrefix(key, "nvidia.com/gpu.slices.") ||
		strings.HasPrefix(key, "nvidia.com/gpu.engines.") || key == "nvidia.com/gpu.multiprocessors"
}

// update changes the status first and then the labels, for labels announce what the status has.
func (m *Manager) update(ctx context.Context, name string, meta, status func(*corev1.Node)) error {
	api := m.Cluster.Client.CoreV1().Nodes()
	change := func(f func(*corev1.Node), put func(context.Context, *corev1.Node,
		metav1.UpdateOptions) (*corev1.Node, error)) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			node, err := api.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			f(node)
			_, err = put(ctx, node, metav1.UpdateOptions{})
			return err
		})
	}
	if err := change(status, api.UpdateStatus); err != nil {
		return err
	}
	return change(meta, api.Update)
}

// WriteConfigs writes the generated configs of all nodes that can have MIG.
func WriteConfigs(ctx context.Context, cluster *world.Cluster) error {
	api := cluster.Client.CoreV1().ConfigMaps(seed.OperatorNamespace)
	for _, node := range cluster.Nodes() {
		kind, _, err := nodes.Read(node)
		if err != nil || kind.Model == nil || kind.Model.Profiles == nil || kind.DRA || kind.VGPU {
			continue
		}
		table, _ := nodes.FindKind(kind.Pool)
		text, err := Generated(table)
		if err != nil {
			return err
		}
		config := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name + "-mig-config"}, Data: map[string]string{"config.yaml": string(text)},
		}
		if _, err := api.Create(ctx, config, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("write the MIG config of %s: %w", node.Name, err)
		}
	}
	return nil
}
