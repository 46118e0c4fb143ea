package drift

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// ResourceKind is what a difference is about.
type ResourceKind string

// The things.
const (
	Workload ResourceKind = "workload"
	Storage  ResourceKind = "storage"
)

// Kind says on which side something is.
type Kind string

// The kinds.
const (
	ClusterOnly  Kind = "cluster"   // the database does not know it
	DatabaseOnly Kind = "database"  // the cluster does not have it
	Different    Kind = "different" // both have it, and do not agree
)

// Kinds lists every kind.
func Kinds() []Kind { return []Kind{ClusterOnly, DatabaseOnly, Different} }

// Amount is how much of a resource the pods of a workload ask for.
type Amount struct {
	Resource string `json:"resource"`
	Count    int64  `json:"count"`
}

// Object names one Kubernetes object.
type Object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// ClusterState is what a cluster has of a workload, or a claim of storage, by the owner records.
type ClusterState struct {
	ResourceKind ResourceKind  `json:"resource"`
	Key          string        `json:"key"` // id of the workload, or name of the storage
	Tenant       string        `json:"tenant"`
	Namespace    string        `json:"namespace"`
	Name         string        `json:"name"`
	Kind         string        `json:"kind,omitempty"` // of what makes the pods; "" where only the rest is left
	Objects      []Object      `json:"objects"`
	Generation   int64         `json:"generation,omitempty"`
	Running      bool          `json:"running,omitempty"` // it has a replica
	Leaving      bool          `json:"leaving,omitempty"` // it is being deleted
	Size         string        `json:"size,omitempty"`
	Lease        time.Duration `json:"lease,omitempty"`
	Holds        []Amount      `json:"holds,omitempty"` // what one pod asks for
	Node         string        `json:"node,omitempty"`
	Placed       time.Time     `json:"placed,omitzero"` // when its pod got a node
	Since        time.Time     `json:"since"`           // creation of the oldest object
	GiB          int           `json:"gib,omitempty"`
	Class        string        `json:"class,omitempty"`
	Access       string        `json:"access,omitempty"`
	Spec         *kube.Spec    `json:"spec,omitempty"`      // nil where it is not on the object
	OwnerName    string        `json:"ownerName,omitempty"` // of the person in Spec, where the database knows them
}

// Row is what the database has, as far as it is compared and shown.
type Row struct {
	Tenant     string            `json:"tenant"`
	Owner      identity.PersonID `json:"owner"`
	OwnerName  string            `json:"ownerName"`
	Cluster    string            `json:"cluster"`
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	Desired    workload.Desired  `json:"desired,omitempty"`
	State      workload.State    `json:"state,omitempty"`
	Generation int64             `json:"generation,omitempty"`
	Size       string            `json:"size,omitempty"`
	Lease      time.Duration     `json:"lease,omitempty"`
	GiB        int               `json:"gib,omitempty"`
	Deleted    bool              `json:"deleted,omitempty"`
	Since      time.Time         `json:"since"`
	Version    int64             `json:"version"` // optimistic lock
}

// Field is one value on which both sides do not agree.
type Field struct {
	Name     string `json:"name"` // generation, desired, size, lease, gib, tenant, cluster
	Database string `json:"database"`
	Cluster  string `json:"cluster"`
}

// Decision is what an administrator makes of a difference.
type Decision string

// The decisions.
const (
	Adopt   Decision = "adopt"   // the cluster is right: the row becomes what the objects say
	Release Decision = "release" // the portal has no more to do with it: the row ends, the objects stay untouched
	Apply   Decision = "apply"   // the database is right: the cluster is changed to it
)

// Decisions lists every decision.
func Decisions() []Decision { return []Decision{Adopt, Release, Apply} }

// Difference is one workload or storage on which database and cluster do not agree.
type Difference struct {
	ID           string
	Cluster      string
	ResourceKind ResourceKind
	Key          string
	Kind         Kind
	Fields       []Field
	Live         *ClusterState // nil for DatabaseOnly
	Row          *Row          // nil for ClusterOnly
	Version      string
	FoundAt      time.Time

	Decision  Decision // "" while nobody has decided
	By        identity.PersonID
	ByName    string
	DecidedAt time.Time
}

// Open reports whether somebody still has to decide.
func (d Difference) Open() bool { return d.Decision == "" }

// Owner is whose it is: by the row where there is one, else by the owner record.
type Owner struct{ Tenant, Namespace, Name, OwnerName string }

// Owner says whose it is. OwnerName is "" where it is not known.
func (d Difference) Owner() Owner {
	if d.Row != nil {
		return Owner{d.Row.Tenant, d.Row.Namespace, d.Row.Name, d.Row.OwnerName}
	}
	return Owner{d.Live.Tenant, d.Live.Namespace, d.Live.Name, d.Live.OwnerName}
}

// Rows is the database's side: what lives in the cluster, and every row that an object of the cluster names.
type Rows struct {
	Workloads map[workload.ID]workload.Workload
	Volumes   map[string]workload.Volume
}

// Compare lists what database and cluster do not agree on, in a steady order. A row that is to be deleted and has no
// object left is no difference: only its end is still to be written.
func Compare(cluster string, seen []ClusterState, rows Rows, now time.Time) []Difference {
	var list []Difference
	add := func(d Difference, ok bool) {
		if ok {
			d.Cluster, d.FoundAt = cluster, now
			d.ID, d.Version = idOf(cluster, d.ResourceKind, d.Key), versionOf(d)
			list = append(list, d)
		}
	}
	found, with := map[string]bool{}, storageOfUnknown(seen, rows)
	for _, s := range seen {
		found[string(s.ResourceKind)+s.Key] = true
		switch {
		case s.ResourceKind == Workload:
			add(compareWorkload(cluster, s, rows))
		case !with[s.Key]:
			add(compareStorage(cluster, s, rows))
		}
	}
	for id, w := range rows.Workloads {
		if !found[string(Workload)+string(id)] && w.Cluster == cluster && w.State != workload.Ended &&
			w.Desired != workload.WantDeleted && !w.Over() {
			row := rowOf(w)
			add(Difference{ResourceKind: Workload, Key: string(id), Kind: DatabaseOnly, Row: &row}, true)
		}
	}
	for name, v := range rows.Volumes {
		if !found[string(Storage)+name] && v.Cluster == cluster && !v.Deleted && !lives(rows, v.Workload) && !v.OfTeam() &&
			!v.IsPersonal() {
			row := rowOfVolume(v)
			add(Difference{ResourceKind: Storage, Key: name, Kind: DatabaseOnly, Row: &row}, true)
		}
	}
	slices.SortFunc(list, func(a, b Difference) int {
		return cmp.Or(strings.Compare(string(b.ResourceKind), string(a.ResourceKind)),
			strings.Compare(a.Owner().Name, b.Owner().Name),
			strings.Compare(a.ID, b.ID))
	})
	return list
}

// storageOfUnknown are the claims of workloads that the database does not know: they go with them.
func storageOfUnknown(seen []ClusterState, rows Rows) map[string]bool {
	with := map[string]bool{}
	for _, s := range seen {
		if _, known := rows.Workloads[workload.ID(s.Key)]; s.ResourceKind == Workload && !known && s.Spec != nil {
			if _, kept := rows.Volumes[s.Spec.Volume]; !kept {
				with[s.Spec.Volume] = true
			}
		}
	}
	return with
}

// lives reports whether a workload that uses storage has not ended: what is missing of it is told with the workload.
func lives(rows Rows, id workload.ID) bool {
	w, ok := rows.Workloads[id]
	return ok && w.State != workload.Ended
}

func compareWorkload(cluster string, s ClusterState, rows Rows) (Difference, bool) {
	w, known := rows.Workloads[workload.ID(s.Key)]
	d := Difference{ResourceKind: Workload, Key: s.Key, Kind: ClusterOnly, Live: &s}
	if !known {
		return d, true
	}
	row := rowOf(w)
	d.Row, d.Kind = &row, Different
	if s.Kind == "" && w.Desired != workload.WantDeleted && w.State != workload.Ended && !w.Over() {
		d.Kind = DatabaseOnly // what makes the pods is missing
		return d, true
	}
	d.Fields = workloadFields(cluster, s, row)
	return d, len(d.Fields) > 0
}

func workloadFields(cluster string, s ClusterState, r Row) []Field {
	var f fields
	f.add("tenant", r.Tenant, s.Tenant)
	f.add("cluster", r.Cluster, cluster)
	f.add("desired", string(desiredOf(r)), string(s.desired()))
	if s.Kind == "" {
		return f
	}
	f.add("generation", strconv.FormatInt(r.Generation, 10), strconv.FormatInt(s.Generation, 10))
	if s.Size != "" {
		f.add("size", r.Size, s.Size)
	}
	if s.Lease > 0 && r.Lease > 0 {
		f.add("lease", r.Lease.String(), s.Lease.String())
	}
	return f
}

// desiredOf is what a row wants; one that has ended wants nothing to be there.
func desiredOf(r Row) workload.Desired {
	switch {
	case r.State == workload.Ended:
		return workload.WantDeleted
	case r.Desired == workload.Finished: // its object stands as it was while it ran
		return workload.WantRunning
	}
	return r.Desired
}

// desired is the spec that the objects are the outcome of.
func (s ClusterState) desired() workload.Desired {
	switch {
	case s.Leaving:
		return workload.WantDeleted
	case s.Running:
		return workload.WantRunning
	}
	return workload.WantStopped
}

func compareStorage(cluster string, s ClusterState, rows Rows) (Difference, bool) {
	v, known := rows.Volumes[s.Key]
	d := Difference{ResourceKind: Storage, Key: s.Key, Kind: ClusterOnly, Live: &s}
	if !known {
		return d, !s.Leaving
	}
	row := rowOfVolume(v)
	d.Row, d.Kind = &row, Different
	var f fields
	f.add("tenant", row.Tenant, s.Tenant)
	f.add("cluster", row.Cluster, cluster)
	f.add("desired", there(!row.Deleted), there(!s.Leaving))
	if s.GiB > row.GiB { // a claim never shrinks, and a smaller one is about to grow
		f.add("gib", strconv.Itoa(row.GiB), strconv.Itoa(s.GiB))
	}
	d.Fields = f
	return d, len(f) > 0
}

func there(yes bool) string {
	if yes {
		return "kept"
	}
	return string(workload.WantDeleted)
}

type fields []Field

func (f *fields) add(name, database, cluster string) {
	if database != cluster {
		*f = append(*f, Field{Name: name, Database: database, Cluster: cluster})
	}
}

func rowOf(w workload.Workload) Row {
	r := Row{Tenant: w.Tenant, Owner: w.Owner, OwnerName: w.OwnerName, Cluster: w.Cluster, Namespace: w.Namespace,
		Name: w.Name, Desired: w.Desired, State: w.State, Generation: w.Generation, Size: w.Size.Name, GiB: w.StorageGiB,
		Since: w.CreatedAt, Version: w.Version}
	if !w.Lease.Until.IsZero() {
		r.Lease = w.Lease.Until.Sub(w.Lease.From).Round(time.Second)
	}
	return r
}

func rowOfVolume(v workload.Volume) Row {
	return Row{Tenant: v.Tenant, Owner: v.Owner, OwnerName: v.OwnerName, Cluster: v.Cluster, Namespace: v.Namespace,
		Name: v.Name, GiB: v.GiB, Deleted: v.Deleted, Since: v.CreatedAt, Version: v.Version}
}

// idOf is safe in a path, whatever somebody wrote into an annotation.
func idOf(cluster string, t ResourceKind, key string) string {
	sum := sha256.Sum256([]byte(cluster + "\x00" + string(t) + "\x00" + key))
	return "d-" + hex.EncodeToString(sum[:8])
}

// versionOf changes with everything that a decision rests on. Where a pod runs is not part of it.
func versionOf(d Difference) string {
	if d.Live != nil {
		s := *d.Live
		s.Node, s.Placed, s.OwnerName = "", time.Time{}, ""
		d.Live = &s
	}
	text, _ := json.Marshal([]any{d.Kind, d.Fields, d.Live, d.Row}) // plain values, which cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Fingerprint is the version of what is still to be decided, for those who decide all of it at once.
func Fingerprint(list []Difference) string {
	sum := sha256.New()
	for _, d := range list {
		if d.Open() {
			sum.Write([]byte(d.ID + d.Version))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// ClusterAhead reports whether objects carry what the database cannot have asked for: the evidence where there is no
// checkpoint.
func ClusterAhead(list []Difference) bool {
	return slices.ContainsFunc(list, func(d Difference) bool {
		return d.Kind == ClusterOnly || d.Row != nil && d.Live != nil && d.Live.Generation > d.Row.Generation
	})
}

// Lasting are the differences that are shown while a cluster is not held: objects that the database does not know, and
// what was let go. All others are work in hand.
func Lasting(list []Difference, released map[string]bool) []Difference {
	return slices.DeleteFunc(slices.Clone(list), func(d Difference) bool {
		return d.Kind != ClusterOnly && !released[d.ID]
	})
}
