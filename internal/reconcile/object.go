package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// HashAnnotation carries the hash of what was applied.
const HashAnnotation = kube.AppliedKey

// Key names an object within one cluster.
type Key struct{ Kind, Namespace, Name string }

// String is "Kind namespace/name", for logs.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Object is a desired object.
type Object struct {
	Key
	kube.Owner
	Hash    string
	content map[string]any // what is applied, with the hash in it
	// replicas, where it is above 0, are those that KEDA had set on the Deployment when this was rendered
	replicas int32
}

// body is what is sent. A uid makes the API server refuse when the object has been replaced by another of the same
// name, a version when it is another one.
func (o Object) body(uid, version string) ([]byte, error) {
	meta := copyMap(o.content["metadata"].(map[string]any))
	if uid != "" {
		meta["uid"] = uid
	}
	if version != "" {
		meta["resourceVersion"] = version
	}
	content := copyMap(o.content)
	content["metadata"] = meta
	return json.Marshal(content)
}

func copyMap(m map[string]any) map[string]any {
	c := make(map[string]any, len(m)+1)
	for k, v := range m {
		c[k] = v
	}
	return c
}

// newObject turns a rendered object into what is applied, with its hash.
func newObject(rendered kube.Object) (Object, error) {
	content, err := kube.Content(rendered)
	if err != nil {
		return Object{}, err
	}
	name, _ := content["kind"].(string)
	meta, ok := content["metadata"].(map[string]any)
	if !ok || rank(name) < 0 {
		return Object{}, fmt.Errorf("apply an object of kind %q: %w", name, errors.ErrUnsupported)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return Object{}, fmt.Errorf("write %s as JSON: %w", rendered.GetName(), err)
	}
	sum := sha256.Sum256(text)
	o := Object{
		Key:   Key{Kind: name, Namespace: rendered.GetNamespace(), Name: rendered.GetName()},
		Owner: kube.OwnerOf(rendered.GetAnnotations()),
		Hash:  hex.EncodeToString(sum[:12]), content: content,
	}
	notes, _ := meta["annotations"].(map[string]any)
	notes = copyMap(notes)
	notes[HashAnnotation] = o.Hash
	meta["annotations"] = notes
	return o, nil
}

func newObjects(rendered []kube.Object) ([]Object, error) {
	objects := make([]Object, 0, len(rendered))
	for _, r := range rendered {
		o, err := newObject(r)
		if err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// Existing is an object as last seen in a cache.
type Existing struct {
	kube.Owner
	UID      string
	Version  string // resourceVersion
	Hash     string
	Deleting bool
	Labelled bool // carries our managed-by label, so that the watches see it
	fields   []metav1.ManagedFieldsEntry
	object   metav1.Object
	edits    []Edit // of others, without what the cluster does itself; see loop.existing
}

func existing(o metav1.Object) Existing {
	notes := o.GetAnnotations()
	return Existing{
		Owner: kube.OwnerOf(notes), UID: string(o.GetUID()), Version: o.GetResourceVersion(), Hash: notes[HashAnnotation],
		Deleting: o.GetDeletionTimestamp() != nil, Labelled: o.GetLabels()[kube.ManagedByLabel] == kube.ManagedBy,
		fields: o.GetManagedFields(), object: o,
	}
}
