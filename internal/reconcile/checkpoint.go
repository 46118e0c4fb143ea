package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// checkpointManager owns the checkpoint alone: apply of the namespace would take the annotation away again.
const checkpointManager = FieldManager + "-checkpoint"

// checkpoints leaves in the cluster where the database is: an annotation on one of the tenants' namespaces, which the
// controller may write anyway. It is written before the first write that a change leads to, so that nothing in the
// cluster is newer than its checkpoint; what several workers wait for is one write.
type checkpoints struct {
	loop *loop

	mu      sync.Mutex
	written drift.Position
	home    string // namespace that has the checkpoint; "" until one is found
}

// errHeld says that the cluster carries more than the database knows.
var errHeld = errors.New("the cluster carries more than the database knows")

// cover makes sure that the checkpoint is not behind the database. Namespace is where it goes when there is none yet;
// "" to leave it at that.
func (m *checkpoints) cover(ctx context.Context, namespace string) error {
	if !m.loop.gate.open() {
		return nil // the old checkpoint is the evidence, until an administrator has decided
	}
	want, err := m.loop.o.Store.Position(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.written.Covers(want) {
		return nil
	}
	if want, err = m.loop.o.Store.Position(ctx); err != nil { // of all that waited meanwhile
		return err
	}
	for _, home := range m.homes(namespace) {
		err := m.write(ctx, home, want, false)
		if apierrors.IsNotFound(err) || errors.As(err, &foreignError{}) {
			continue
		}
		if err == nil {
			m.home = home
		}
		return err
	}
	return nil // there is no namespace of ours, and nothing in it that could be newer
}

// homes are where the checkpoint may be, the best first: where it is.
func (m *checkpoints) homes(otherwise string) []string {
	var checkpointed, others []string
	for _, ns := range m.loop.namespaces() {
		if ns.Annotations[kube.CheckpointKey] != "" {
			checkpointed = append(checkpointed, ns.Name)
		} else {
			others = append(others, ns.Name)
		}
	}
	all := slices.Concat([]string{m.home}, checkpointed, []string{otherwise}, others)
	return slices.DeleteFunc(all, func(name string) bool { return name == "" || m.loop.mayNothing(name) })
}

// namespaces are this portal's, as the caches have them.
func (l *loop) namespaces() []*corev1.Namespace {
	var list []*corev1.Namespace
	for _, ns := range listed[*corev1.Namespace](l.caches().ours["Namespace"]) {
		if l.isOurs(ns) && ns.DeletionTimestamp == nil {
			list = append(list, ns)
		}
	}
	return list
}

func (l *loop) isOurs(o metav1.Object) bool {
	instance := kube.OwnerOf(o.GetAnnotations()).Instance
	return instance != "" && instance == l.o.KubeSite(l.name).Instance
}

// write replaces the checkpoint as it was just seen. One that the database does not know is not replaced unless anew is
// true: another leader, on another history, has carried things out meanwhile.
func (m *checkpoints) write(ctx context.Context, namespace string, p drift.Position, anew bool) error {
	client := m.loop.cluster.Client.CoreV1().Namespaces()
	var err error
	for range updates {
		ns, getErr := client.Get(ctx, namespace, metav1.GetOptions{})
		if getErr != nil {
			return getErr
		}
		if !m.loop.isOurs(ns) {
			return foreignError{Key{Kind: "Namespace", Name: namespace}}
		}
		if cause, checkpoint, err := m.loop.judge(ctx, ns); err != nil {
			return err
		} else if cause != "" && !anew {
			return errors.Join(errHeld, m.loop.hold(ctx, cause, checkpoint))
		} else if cause == "" && checkpoint.Covers(p) {
			m.written = checkpoint.Position
			return nil
		}
		body, bodyErr := checkpointPatch(ns, drift.Checkpoint{Position: p, At: m.loop.o.Now().UTC().Truncate(time.Second)})
		if bodyErr != nil {
			return bodyErr
		}
		_, err = client.Patch(ctx, namespace, types.MergePatchType, body,
			metav1.PatchOptions{FieldManager: checkpointManager})
		if err == nil {
			m.written = p
			m.loop.writer.wrote(Update, "Namespace")
		}
		if !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func checkpointPatch(ns *corev1.Namespace, checkpoint drift.Checkpoint) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": ns.UID, "resourceVersion": ns.ResourceVersion,
		"annotations": map[string]string{kube.CheckpointKey: checkpoint.String()}}})
}

// judge says in which way the database is not the one that left the checkpoint of a namespace; "" where it is, and
// where there is no checkpoint.
func (l *loop) judge(ctx context.Context, ns *corev1.Namespace) (drift.Cause, drift.Checkpoint, error) {
	text := ns.Annotations[kube.CheckpointKey]
	if text == "" {
		return "", drift.Checkpoint{}, nil
	}
	checkpoint, err := drift.ParseCheckpoint(text)
	if err != nil {
		l.log.WarnContext(ctx, "the checkpoint of a namespace cannot be read, it is written anew", "namespace", ns.Name,
			"error", err)
		return "", drift.Checkpoint{}, nil
	}
	p, err := l.o.Store.Position(ctx)
	if err != nil {
		return "", checkpoint, err
	}
	link, err := l.o.Store.Link(ctx, checkpoint.Audit)
	return drift.Divergence(p, checkpoint, link), checkpoint, err
}

// renew writes every checkpoint anew that the database does not know: an administrator has decided that work goes on.
func (m *checkpoints) renew(ctx context.Context) error {
	p, err := m.loop.o.Store.Position(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ns := range m.loop.namespaces() {
		if ns.Annotations[kube.CheckpointKey] == "" {
			continue
		}
		if err := m.write(ctx, ns.Name, p, true); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		m.home = ns.Name
	}
	return nil
}

// checkpointAlways covers what was never carried out in the cluster, such as requests that wait for somebody.
func (l *loop) checkpointAlways(ctx context.Context) {
	beat := l.o.Watchdog.Begin(ctx, "cluster/"+l.name+"/checkpoint", passWithin+jobs.Overrun)
	defer beat.End()
	for jobs.Sleep(ctx, beat, jitter(l.o.Every.Checkpoint)) {
		if !l.acts() {
			continue
		}
		beat.Beat(ctx, passWithin+jobs.Overrun)
		err := bounded(ctx, func(ctx context.Context) error { return l.checkpoints.cover(ctx, "") })
		if err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "leave a checkpoint in the cluster", "error", err)
		}
	}
}
