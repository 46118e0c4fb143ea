package workload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// DataDir is where personal volumes are found, each in a directory of its name.
const DataDir = "/data"

// Personal is what a personal volume has that its owner has made; the zero value is a home volume or that of a team.
type Personal struct {
	Name string `json:"name,omitempty"` // DNS label, once for its owner in the team
	From string `json:"from,omitempty"` // PVC that it is a clone of
	// VolumeSnapshot that it is made from
	Snapshot string `json:"snapshot,omitempty"`
}

// IsPersonal reports whether its owner made it, and attaches it to workloads by name.
func (v Volume) IsPersonal() bool { return v.Personal.Name != "" }

// PersonalClaim is the PVC of a personal volume. It has two dots, so that it meets neither that of a team nor a home
// volume's. The owner's part tells people of one team apart; it stays when the volume is transferred.
func PersonalClaim(team string, owner identity.PersonID, name string) string {
	sum := sha256.Sum256([]byte(owner))
	return team + "." + name + "." + hex.EncodeToString(sum[:ownerDigits/2])
}

// ownerDigits are those of the owner in PersonalClaim, hexadecimal.
const ownerDigits = 8

// PersonalName is the name in what PersonalClaim has made for a team; false for any other PVC.
func PersonalName(team, claim string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(claim, team+".")
	name, owner, two := strings.Cut(rest, ".")
	return name, ok && two && len(owner) == ownerDigits && len(validation.IsDNS1123Label(name)) == 0
}

// personalMount is the entry of a personal volume in a workload's list of mounts.
func (v Volume) personalMount() Mount {
	return Mount{Claim: v.Name, GiB: v.GiB, Personal: true, From: v.Personal.From,
		Snapshot:  v.Personal.Snapshot,
		TeamShare: TeamShare{Name: v.Personal.Name, Access: OneNode}}
}

// Path is where the workload finds it.
func (m Mount) Path() string {
	switch {
	case m.Dataset != "":
		return path.Join(DatasetsDir, m.Dataset)
	case m.Personal:
		return path.Join(DataDir, m.Name)
	}
	return path.Join(SharedDir, m.Name)
}

// HasPersonal reports whether a workload has a personal volume, which only pods on one node can have at once.
func HasPersonal(mounts []Mount) bool {
	for _, m := range mounts {
		if m.Personal {
			return true
		}
	}
	return false
}

// RunningWith is the first of some workloads that has a volume and runs, or is on its way to, beside one: a volume of
// one node goes to one of them at a time.
func RunningWith(users []Workload, beside ID) (Workload, bool) {
	for _, w := range users {
		if w.ID != beside && (w.Desired == WantRunning || w.Observed.PodPresent) {
			return w, true
		}
	}
	return Workload{}, false
}

// PersonalDraft is a personal volume as typed or posted.
type PersonalDraft struct {
	Team, Name, Cluster string
	GiB                 int
	From                string // volume of one's own to clone; "" for none
	Snapshot            string // snapshot of one's own to begin with; "" for none
}

// OwnVolume is a volume of a person with the workloads that have it.
type OwnVolume struct {
	Volume
	Users []Workload
	Claim ClaimState // what its cluster said last
	// Snapshots are oldest first, without those that are being deleted.
	Snapshots []VolumeSnapshot
}

// Resizing reports whether the cluster has still to make it as large as it shall be.
func (v OwnVolume) Resizing() bool { return TeamVolume{Volume: v.Volume, Claim: v.Claim}.Resizing() }

// Held is why nobody can delete it for now; zero where nothing but a clone of it can be in the way.
func (v OwnVolume) Held() i18n.Text {
	switch {
	case v.OfTeam():
		return i18n.T("volume.of_team", "Name", v.Share.Name)
	case v.Workload != "":
		return i18n.T("volume.in_use")
	case len(v.Users) > 0:
		return i18n.T("volume.mounted", "Name", v.Personal.Name, "By", named(v.Users))
	}
	return i18n.Text{}
}

// OwnVolumes lists the storage that the actor may see, each with the workloads that have it.
func (s *Service) OwnVolumes(ctx context.Context, a identity.Actor, mine bool) ([]OwnVolume, error) {
	volumes, err := s.Volumes(ctx, a, mine)
	if err != nil {
		return nil, err
	}
	claims, err := s.Store.Claims(ctx, namesOf(volumes)...)
	if err != nil {
		return nil, err
	}
	snapshots, err := s.snapshotsOf(ctx, volumes)
	if err != nil {
		return nil, err
	}
	list := make([]OwnVolume, len(volumes))
	for i, v := range volumes {
		list[i] = OwnVolume{Volume: v, Claim: claims[v.Name], Snapshots: snapshots[v.Name]}
		if !v.IsPersonal() {
			continue
		}
		if list[i].Users, err = s.Store.Mounting(ctx, v); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// AddVolume makes a personal volume, of the storage class that home volumes have. The controller makes its claim. It is
// metered from now on.
func (s *Service) AddVolume(ctx context.Context, a identity.Actor, d PersonalDraft) (OwnVolume, error) {
	if err := s.permitOwn(a, d.Team); err != nil {
		return OwnVolume{}, err
	}
	d.Name, d.From = strings.TrimSpace(d.Name), strings.TrimSpace(d.From)
	d.Snapshot = strings.TrimSpace(d.Snapshot)
	sharing := s.Sharing()
	namespace, ok := sharing.Namespace(d.Team)
	if !ok {
		return OwnVolume{}, fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", d.Team))
	}
	if d.Cluster == "" && len(sharing.Clusters) == 1 {
		d.Cluster = sharing.Clusters[0]
	}
	fields := sharing.checkPersonal(d)
	v := Volume{Name: PersonalClaim(d.Team, a.Person.ID, d.Name), Tenant: d.Team, Owner: a.Person.ID,
		OwnerName: a.Person.Name, Cluster: d.Cluster, Namespace: namespace, GiB: d.GiB, CreatedAt: s.Now(),
		UpdatedAt: s.Now(), Personal: Personal{Name: d.Name, From: d.From, Snapshot: d.Snapshot}}
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		wrong, err := s.source(ctx, tx, a, v)
		if err != nil {
			return err
		}
		if err := fault.InvalidFields(append(fields, wrong...)); err != nil {
			return err
		}
		switch _, err := tx.Volume(ctx, v.Name); {
		case err == nil:
			return fault.InvalidFields([]fault.Field{{Name: "name", Reason: i18n.T("volume.own_name_taken", "Name", d.Name)}})
		case !fault.Is(err, fault.NotFound):
			return err
		}
		if err := tx.SaveVolume(ctx, v); err != nil {
			return err
		}
		if err := s.affordStorage(ctx, tx, v); err != nil {
			return err
		}
		e := audit.By(a, audit.VolumeAdded, s.Now())
		e.Tenant, e.Volume = v.Tenant, v.Name
		e.Changes = audit.Diff(map[string]any{}, map[string]any{"gib": v.GiB, "cluster": v.Cluster, "personal": v.Personal})
		return tx.Append(ctx, e)
	})
	v.Version++
	return OwnVolume{Volume: v}, err
}

// permitOwn: volumes are made by those who start workloads; a team that somebody may not read does not exist for them.
func (s *Service) permitOwn(a identity.Actor, team string) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	thing := identity.Resource{Tenant: team, Owner: a.Person.ID}
	switch {
	case identity.Can(a, identity.AddVolume, thing):
		return nil
	case !identity.Can(a, identity.ReadTenant, thing):
		return fault.New(fault.NotFound, i18n.T("tenant.not_found"))
	}
	return fault.New(fault.Forbidden, i18n.T("volume.developers_only"))
}

func (s Sharing) checkPersonal(d PersonalDraft) (fields []fault.Field) {
	problem := func(name string, reason i18n.Text) { fields = append(fields, fault.Field{Name: name, Reason: reason}) }
	if most := min(maxShareName, maxLabel-len(d.Team)-2-ownerDigits); len(validation.IsDNS1123Label(d.Name)) > 0 ||
		len(d.Name) > most {
		problem("name", i18n.T("tenant.name_wrong", "Most", most))
	}
	if !s.HasCluster(d.Cluster) {
		problem("cluster", i18n.T("volume.cluster_unknown"))
	}
	if d.GiB < 1 || d.GiB > s.MostGiB {
		problem("gib", i18n.T("volume.size_wrong", "Most", s.MostGiB))
	}
	return fields
}

// HasCluster reports whether volumes can be made there.
func (s Sharing) HasCluster(name string) bool {
	for _, c := range s.Clusters {
		if c == name {
			return true
		}
	}
	return false
}

// source checks what a volume is to be a clone of. Kubernetes clones a bound claim of the same namespace that is not in
// use into one that is as large at least.
func (s *Service) source(ctx context.Context, tx Tx, a identity.Actor, v Volume) ([]fault.Field, error) {
	switch {
	case v.Personal.Snapshot != "" && v.Personal.From != "":
		return []fault.Field{{Name: "snapshot", Reason: i18n.T("snapshot.or_from")}}, nil
	case v.Personal.Snapshot != "":
		return s.snapshotSource(ctx, tx, a, v)
	case v.Personal.From == "":
		return nil, nil
	}
	wrong := func(field string, reason i18n.Text) ([]fault.Field, error) {
		return []fault.Field{{Name: field, Reason: reason}}, nil
	}
	from, err := tx.Volume(ctx, v.Personal.From)
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return nil, err
	case err != nil || from.Deleted || from.OfTeam() || from.Owner != a.Person.ID:
		return wrong("from", i18n.T("volume.from_unknown"))
	case from.Cluster != v.Cluster || from.Tenant != v.Tenant || from.Namespace != v.Namespace:
		return wrong("from", i18n.T("volume.from_elsewhere", "Tenant", from.Tenant, "Cluster", from.Cluster))
	case v.GiB < from.GiB:
		return wrong("gib", i18n.T("volume.from_larger", "Least", from.GiB))
	}
	runs, err := runningWith(ctx, tx, from)
	if err != nil {
		return nil, err
	}
	if runs != "" {
		return wrong("from", i18n.T("volume.from_in_use", "By", runs))
	}
	claims, err := tx.Claims(ctx, from.Name)
	if c := claims[from.Name]; err == nil && !c.At.IsZero() && c.Phase != ClaimBound {
		return wrong("from", i18n.T("volume.from_unbound"))
	}
	return nil, err
}

// runningWith is the name of a workload that has a volume and runs; "" for none.
func runningWith(ctx context.Context, tx Tx, v Volume) (string, error) {
	if v.Workload != "" {
		w, use, err := user(ctx, tx.Workload, v)
		if err != nil || w == nil || !use.Wanted && !w.Observed.PodPresent {
			return "", err
		}
		return w.Name, nil
	}
	users, err := tx.Mounting(ctx, v)
	w, _ := RunningWith(users, "")
	return w.Name, err
}

// uncloned refuses to change what a clone is still to be made of.
func uncloned(ctx context.Context, tx Tx, v Volume, of func(Personal) bool) error {
	volumes, err := tx.Volumes(ctx, VolumeFilter{Tenants: []string{v.Tenant}, Cluster: v.Cluster})
	if err != nil {
		return err
	}
	for _, clone := range volumes {
		if !of(clone.Personal) {
			continue
		}
		claims, err := tx.Claims(ctx, clone.Name)
		if err != nil {
			return err
		}
		if claims[clone.Name].Phase != ClaimBound {
			return fault.New(fault.Conflict, i18n.T("volume.being_cloned", "Clone", clone.Personal.Name))
		}
	}
	return nil
}

// ExpandOwnVolume makes a home volume or a personal one larger; it never becomes smaller again. From is the size that
// was seen. The controller has the cluster do it; see NotExpanded for one that will not.
func (s *Service) ExpandOwnVolume(ctx context.Context, a identity.Actor, name string,
	from, gib int) (OwnVolume, error) {
	var out OwnVolume
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		v, err := tx.Volume(ctx, name)
		if err != nil {
			return err
		}
		switch {
		case !identity.Can(a, identity.ReadVolume, v.Resource()):
			return fault.New(fault.NotFound, i18n.T("volume.not_found"))
		case !identity.Can(a, identity.ExpandVolume, v.Resource()):
			return fault.New(fault.Forbidden, i18n.T("volume.not_yours_to_expand", "Owner", v.OwnerName))
		case v.OfTeam():
			return fault.New(fault.Conflict, i18n.T("volume.of_team_to_expand", "Name", v.Share.Name))
		case v.Deleted:
			return fault.New(fault.Conflict, i18n.T("volume.gone"))
		}
		sharing := s.Sharing()
		if _, ok := sharing.Namespace(v.Tenant); !ok {
			return fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", v.Tenant))
		}
		if err := sharing.mayExpand(v, Expansion{Name: v.Name, From: from, GiB: gib}, Class{}, true); err != nil {
			return err
		}
		if err := uncloned(ctx, tx, v, func(p Personal) bool { return p.From == v.Name }); err != nil {
			return err
		}
		out.Volume, err = s.expand(ctx, tx, a, v, gib)
		return err
	})
	return out, err
}
