package workload

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Access is the access mode of a volume, in Kubernetes' words: ReadWriteOnce or ReadWriteMany.
type Access string

// The accesses that a team can share by.
const (
	ManyNodes Access = "ReadWriteMany"
	OneNode   Access = "ReadWriteOnce" // workloads on the same node; one that lands elsewhere waits
)

// Class is a StorageClass that administrators offer for volumes of teams.
type Class struct {
	Name      string `json:"name"`                // name of the StorageClass
	Access    Access `json:"access"`              // ReadWriteMany or ReadWriteOnce
	VolumeGiB int    `json:"volumeGiB,omitempty"` // most that one volume can have; default limits.maxStorageGiB
	// most that all volumes of a team can have together; default no limit
	TeamGiB int `json:"teamGiB,omitempty"`
}

// Offered is a StorageClass that team volumes may have on a cluster.
type Offered struct {
	Cluster string
	Class
}

// TeamShare is how a team shares a volume; the zero value is storage of one person.
type TeamShare struct {
	Name     string `json:"name,omitempty"` // DNS label, once in the team
	Class    string `json:"class,omitempty"`
	Access   Access `json:"access,omitempty"`
	ReadOnly bool   `json:"readOnly,omitempty"` // for everybody
	Note     string `json:"note,omitempty"`
}

// OfTeam reports whether it is a volume of a whole team.
func (v Volume) OfTeam() bool { return v.Share.Name != "" }

// Mount is a volume of a team that a workload has at SharedDir, a personal one at DataDir, or a data set at
// DatasetsDir; frozen when it is approved. A personal volume has a name and an access mode, and may be read-only for
// this workload. A data set is read-only, and has the name and class of the team's volume that it lies on, if it lies
// on one.
type Mount struct {
	Claim    string `json:"claim"` // name of the PVC
	GiB      int    `json:"gib"`
	Personal bool   `json:"personal,omitempty"`
	From     string `json:"from,omitempty"`     // of a personal volume: PVC that it is a clone of
	Snapshot string `json:"snapshot,omitempty"` // of a personal volume: VolumeSnapshot that it is made from
	Dataset  string `json:"dataset,omitempty"`  // name of the data set
	SubPath  string `json:"subPath,omitempty"`  // of a data set: directory on the volume
	Bucket   Bucket `json:"bucket,omitzero"`    // of a data set: object storage that it is copied from
	TeamShare
}

// Mounted is the entry of the volume in a workload's list of mounts.
func (v Volume) Mounted() Mount {
	if v.IsPersonal() {
		return v.personalMount()
	}
	return Mount{Claim: v.Name, GiB: v.GiB, TeamShare: v.Share}
}

// OfTeam reports whether it is a volume of the team by its own name.
func (m Mount) OfTeam() bool { return !m.Personal && m.Dataset == "" }

// Foreign reports whether the portal has not made the claim that it lies on.
func (m Mount) Foreign() bool { return m.Dataset != "" && m.Name == "" && !m.Copied() }

// SharedDir is where volumes of the team are found, each in a directory of its name.
const SharedDir = catalog.SharedDir

// ClaimOf is the PVC of a team's volume. Names of other storage have no dot, so that the two never meet.
func ClaimOf(team, name string) string { return team + "." + name }

// ShareDraft is a volume of a team as typed or posted.
type ShareDraft struct {
	Team, Name, Cluster, Class string
	GiB                        int
	ReadOnly                   bool
	Note                       string
}

const (
	maxShareName = 30
	maxLabel     = 63 // characters of team and name together: a label of the claim
	maxShareNote = 300
)

// Sharing has the settings of volumes: storage classes of teams, sizes, clusters, and the namespaces of teams.
type Sharing struct {
	Offered  []Offered
	MostGiB  int      // of one volume
	Clusters []string // that personal volumes can be made on
	// Snapshots are the clusters on which volumes can be kept as they are at a moment.
	Snapshots []string
	// BucketImage has rclone, which copies data sets from object storage; "" where the site names none.
	BucketImage string
	// Namespace of a team; ok is false for one that does not exist or is switched off.
	Namespace func(team string) (namespace string, ok bool)
}

func (s Sharing) check(d ShareDraft) (class Class, fields []fault.Field) {
	problem := func(name string, reason i18n.Text) { fields = append(fields, fault.Field{Name: name, Reason: reason}) }
	if most := min(maxShareName, maxLabel-len(d.Team)-1); len(validation.IsDNS1123Label(d.Name)) > 0 ||
		len(d.Name) > most {
		problem("name", i18n.T("tenant.name_wrong", "Most", most))
	}
	class, offered := s.Class(d.Cluster, d.Class)
	if !offered {
		problem("class", i18n.T("volume.class_unknown"))
	}
	if most := s.Most(class); d.GiB < 1 || d.GiB > most {
		problem("gib", i18n.T("volume.size_wrong", "Most", most))
	}
	if !utf8.ValidString(d.Note) || utf8.RuneCountInString(d.Note) > maxShareNote ||
		strings.ContainsFunc(d.Note, unicode.IsControl) {
		problem("note", i18n.T("tenant.text_too_long", "Most", maxShareNote))
	}
	return class, fields
}

// TeamVolume is a volume of a team with the workloads that mount it.
type TeamVolume struct {
	Volume
	Users []Workload
	Claim ClaimState // what its cluster said last
}

// TeamVolumes lists the volumes of a team, for its members and those who see all.
func (s *Service) TeamVolumes(ctx context.Context, a identity.Actor, team string) ([]TeamVolume, error) {
	if err := s.permitTeam(a, team, identity.ReadTenant); err != nil {
		return nil, err
	}
	volumes, err := s.Store.Volumes(ctx, VolumeFilter{Tenants: []string{team}, Shared: true})
	if err != nil {
		return nil, err
	}
	var list []TeamVolume
	claims, err := s.Store.Claims(ctx, namesOf(volumes)...)
	if err != nil {
		return nil, err
	}
	for _, v := range volumes {
		users, err := s.Store.Mounting(ctx, v)
		if err != nil {
			return nil, err
		}
		list = append(list, TeamVolume{Volume: v, Users: users, Claim: claims[v.Name]})
	}
	return list, nil
}

func namesOf(volumes []Volume) []string {
	names := make([]string, len(volumes))
	for i, v := range volumes {
		names[i] = v.Name
	}
	return names
}

// permitTeam: a team that somebody may not read does not exist for them.
func (s *Service) permitTeam(a identity.Actor, team string, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	thing := identity.Resource{Tenant: team}
	switch {
	case !identity.Can(a, identity.ReadTenant, thing):
		return fault.New(fault.NotFound, i18n.T("tenant.not_found"))
	case !identity.Can(a, action, thing):
		return fault.New(fault.Forbidden, i18n.T("tenant.owners_only"))
	}
	return nil
}

// ShareVolume makes a volume for a team. The cluster makes it with the first workload that has it. It is metered from
// now on, for the team, under the name of who made it.
func (s *Service) ShareVolume(ctx context.Context, a identity.Actor, d ShareDraft) (Volume, error) {
	if err := s.permitTeam(a, d.Team, identity.ChangeAssets); err != nil {
		return Volume{}, err
	}
	d.Name, d.Note = strings.TrimSpace(d.Name), strings.TrimSpace(d.Note)
	sharing := s.Sharing()
	namespace, ok := sharing.Namespace(d.Team)
	if !ok {
		return Volume{}, fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", d.Team))
	}
	class, fields := sharing.check(d)
	if err := fault.InvalidFields(fields); err != nil {
		return Volume{}, err
	}
	v := Volume{Name: ClaimOf(d.Team, d.Name), Tenant: d.Team, Owner: a.Person.ID, OwnerName: a.Person.Name,
		Cluster: d.Cluster, Namespace: namespace, GiB: d.GiB, CreatedAt: s.Now(), UpdatedAt: s.Now(),
		Share: TeamShare{Name: d.Name, Class: class.Name, Access: class.Access, ReadOnly: d.ReadOnly, Note: d.Note}}
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		switch was, err := tx.Volume(ctx, v.Name); {
		case err == nil && (was.Deleted || was.PendingDeletion()):
			return fault.InvalidFields([]fault.Field{{Name: "name", Reason: i18n.T("volume.name_pending_deletion", "Name",
				d.Name)}})
		case err == nil:
			return fault.InvalidFields([]fault.Field{{Name: "name", Reason: i18n.T("volume.name_taken", "Name", d.Name)}})
		case !fault.Is(err, fault.NotFound):
			return err
		}
		if err := roomFor(ctx, tx, v.Tenant, v.Cluster, class, v.GiB); err != nil {
			return err
		}
		if err := tx.SaveVolume(ctx, v); err != nil {
			return err
		}
		if err := s.affordStorage(ctx, tx, v); err != nil {
			return err
		}
		e := audit.By(a, audit.VolumeShared, s.Now())
		e.Tenant, e.Volume = v.Tenant, v.Name
		e.Changes = audit.Diff(map[string]any{}, map[string]any{"gib": v.GiB, "cluster": v.Cluster, "share": v.Share})
		return tx.Append(ctx, e)
	})
	v.Version++
	return v, err
}

// mostNamed is how many workloads a sentence names.
const mostNamed = 5

func named(users []Workload) string {
	var names []string
	for _, w := range users {
		if len(names) == mostNamed {
			names = append(names, "…")
			break
		}
		names = append(names, w.Name+" ("+w.OwnerName+")")
	}
	return strings.Join(names, ", ")
}
