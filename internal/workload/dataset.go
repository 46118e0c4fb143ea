package workload

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// DatasetsDir is where data sets are found, each in a directory of its name.
const DatasetsDir = "/datasets"

// Dataset is what a team offers its members to read; nobody writes to it by its name.
type Dataset struct {
	Team      string
	Name      string // DNS label, once in the team
	Title     string // in the words of its owner; "" for the name
	Note      string
	Source    DatasetSource
	By        identity.PersonID // who offered it
	ByName    string
	CreatedAt time.Time
	UpdatedAt time.Time
	Version   int64
}

// DatasetSource is where the files are: on a volume of the team, on a claim of the team's namespace that the portal has
// not made, or in object storage. The claim may be bound to whatever its administrator likes, such as NFS.
type DatasetSource struct {
	Volume  string `json:"volume,omitempty"`  // name of the team's volume
	Claim   string `json:"claim,omitempty"`   // name of the PVC
	Cluster string `json:"cluster"`           // "" for object storage, which every cluster reaches
	SubPath string `json:"subPath,omitempty"` // directory in it; "" for all of it
	Bucket  string `json:"bucket,omitempty"`  // s3://BUCKET[/PREFIX]
	Secret  string `json:"secret,omitempty"`  // name of the team's S3 secret that opens the bucket
	GiB     int    `json:"gib,omitempty"`     // of a bucket: most that a copy takes on the node
}

// Called is what people read.
func (d Dataset) Called() string {
	if d.Title != "" {
		return d.Title
	}
	return d.Name
}

// Path is where a workload finds it.
func (d Dataset) Path() string { return path.Join(DatasetsDir, d.Name) }

// PVC is the claim that its files are on.
func (d Dataset) PVC() string {
	if d.Source.Volume != "" {
		return ClaimOf(d.Team, d.Source.Volume)
	}
	return d.Source.Claim
}

// Mounted is the entry of the data set in a workload's list of mounts. V is the volume of the team that it lies on, the
// zero value for a claim of another.
func (d Dataset) Mounted(v Volume) Mount {
	if d.Source.Bucket != "" {
		return Mount{GiB: d.Source.GiB, Dataset: d.Name, TeamShare: TeamShare{ReadOnly: true},
			Bucket: Bucket{URL: d.Source.Bucket}}
	}
	m := Mount{Claim: d.PVC(), GiB: v.GiB, Dataset: d.Name, SubPath: d.Source.SubPath, TeamShare: v.Share}
	m.ReadOnly, m.Note = true, ""
	return m
}

// OfferedDataset is a data set with the workloads that have it.
type OfferedDataset struct {
	Dataset
	GiB   int // of the volume that it lies on, or that a copy takes at most; 0 where that is not known
	Users []Workload
}

// DatasetDraft is a data set as typed or posted. Without a cluster it is the only one.
type DatasetDraft struct {
	Team, Name, Title, Note         string
	Volume, Claim, Cluster, SubPath string
	Bucket, Secret                  string
	GiB                             int // of a bucket
}

const (
	maxDatasetTitle = 80
	maxDatasetNote  = maxShareNote
	maxSubPath      = 500 // characters
)

// Datasets lists the data sets of a team, for its members and those who see all.
func (s *Service) Datasets(ctx context.Context, a identity.Actor, team string) ([]OfferedDataset, error) {
	if err := s.permitTeam(a, team, identity.ReadTenant); err != nil {
		return nil, err
	}
	return s.datasets(ctx, []string{team})
}

// AllDatasets lists those of every team that the actor may see.
func (s *Service) AllDatasets(ctx context.Context, a identity.Actor) ([]OfferedDataset, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	if a.SeesAll() {
		return s.datasets(ctx, nil)
	}
	return s.datasets(ctx, a.TenantNames())
}

func (s *Service) datasets(ctx context.Context, teams []string) ([]OfferedDataset, error) {
	sets, err := s.Store.Datasets(ctx, teams)
	if err != nil || len(sets) == 0 {
		return nil, err
	}
	volumes, err := s.Store.Volumes(ctx, VolumeFilter{Tenants: teams, Shared: true})
	if err != nil {
		return nil, err
	}
	sizes := map[string]int{}
	for _, v := range volumes {
		sizes[v.Name] = v.GiB
	}
	list := make([]OfferedDataset, len(sets))
	for i, d := range sets {
		list[i] = OfferedDataset{Dataset: d, GiB: max(sizes[d.PVC()], d.Source.GiB)}
		if list[i].Users, err = s.Store.WithDataset(ctx, d.Team, d.Name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// OfferDataset offers a data set to a team. Nothing is made in the cluster, and it costs nothing by itself.
func (s *Service) OfferDataset(ctx context.Context, a identity.Actor, in DatasetDraft) (Dataset, error) {
	in = in.trimmed()
	d := Dataset{Team: in.Team, Name: in.Name, By: a.Person.ID, ByName: a.Person.Name, CreatedAt: s.Now()}
	var fields []fault.Field
	if len(validation.IsDNS1123Label(in.Name)) > 0 || len(in.Name) > maxShareName {
		fields = append(fields, fault.Field{Name: "name", Reason: i18n.T("tenant.name_wrong", "Most", maxShareName)})
	}
	return s.saveDataset(ctx, a, in, fields, func(tx Tx) (Dataset, error) {
		_, err := tx.Dataset(ctx, in.Team, in.Name)
		switch {
		case err == nil:
			taken := i18n.T("dataset.name_taken", "Name", in.Name)
			return d, fault.InvalidFields([]fault.Field{{Name: "name", Reason: taken}})
		case !fault.Is(err, fault.NotFound):
			return d, err
		}
		return d, nil
	})
}

// ChangeDataset changes everything of a data set but its name. Workloads that have it already go on with what they were
// started with.
func (s *Service) ChangeDataset(ctx context.Context, a identity.Actor, in DatasetDraft) (Dataset, error) {
	in = in.trimmed()
	return s.saveDataset(ctx, a, in, nil, func(tx Tx) (Dataset, error) { return tx.Dataset(ctx, in.Team, in.Name) })
}

// saveDataset checks a draft and writes it over what begin gives: a new one, or the one that is there.
func (s *Service) saveDataset(ctx context.Context, a identity.Actor, in DatasetDraft, fields []fault.Field,
	begin func(Tx) (Dataset, error)) (Dataset, error) {
	if err := s.permitTeam(a, in.Team, identity.ChangeAssets); err != nil {
		return Dataset{}, err
	}
	sharing := s.Sharing()
	if _, ok := sharing.Namespace(in.Team); !ok {
		return Dataset{}, fault.New(fault.Conflict, i18n.T("request.tenant_disabled", "Tenant", in.Team))
	}
	fields = append(fields, in.wrongTexts()...)
	var d Dataset
	err := s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		was, err := begin(tx)
		if err != nil && !fault.Is(err, fault.Invalid) {
			return err
		}
		wrong := append(slices.Clone(fields), fault.As(err).Fields...)
		source, more, err := s.datasetSource(ctx, tx, sharing, in)
		if err != nil {
			return err
		}
		if err := fault.InvalidFields(append(wrong, more...)); err != nil {
			return err
		}
		d = was
		d.Title, d.Note, d.Source, d.UpdatedAt = in.Title, in.Note, source, s.Now()
		if err := tx.SaveDataset(ctx, d); err != nil {
			return err
		}
		d.Version++
		e := audit.By(a, audit.DatasetChanged, s.Now())
		before := was.recorded()
		if was.Version == 0 {
			e.Kind, before = audit.DatasetOffered, map[string]any{}
		}
		e.Tenant, e.Volume, e.Detail = d.Team, d.PVC(), i18n.T("dataset.detail", "Name", d.Name)
		e.Changes = audit.Diff(before, d.recorded())
		return tx.Append(ctx, e)
	})
	return d, err
}

// recorded is what the record has of it.
func (d Dataset) recorded() map[string]any {
	return map[string]any{"title": d.Title, "note": d.Note, "source": d.Source}
}

func (in DatasetDraft) trimmed() DatasetDraft {
	for _, text := range []*string{&in.Name, &in.Title, &in.Note, &in.Volume, &in.Claim, &in.SubPath, &in.Bucket,
		&in.Secret} {
		*text = strings.TrimSpace(*text)
	}
	in.SubPath = strings.TrimSuffix(in.SubPath, "/")
	return in
}

func (in DatasetDraft) wrongTexts() (fields []fault.Field) {
	for _, f := range []struct {
		name, text string
		most       int
	}{{"title", in.Title, maxDatasetTitle}, {"note", in.Note, maxDatasetNote}} {
		if !utf8.ValidString(f.text) || utf8.RuneCountInString(f.text) > f.most ||
			strings.ContainsFunc(f.text, unicode.IsControl) {
			fields = append(fields, fault.Field{Name: f.name, Reason: i18n.T("tenant.text_too_long", "Most", f.most)})
		}
	}
	return fields
}

// datasetSource is where a draft says that the files are.
func (s *Service) datasetSource(ctx context.Context, tx Tx, sharing Sharing, in DatasetDraft) (at DatasetSource,
	fields []fault.Field, err error) {
	if in.Bucket != "" && in.Volume+in.Claim == "" {
		return s.bucketSource(ctx, sharing, in)
	}
	problem := func(name string, reason i18n.Text) { fields = append(fields, fault.Field{Name: name, Reason: reason}) }
	at = DatasetSource{Volume: in.Volume, Claim: in.Claim, Cluster: in.Cluster, SubPath: in.SubPath}
	if !ValidSubPath(at.SubPath) {
		problem("subPath", i18n.T("dataset.sub_path_wrong", "Most", maxSubPath))
	}
	switch {
	case (at.Volume == "") == (at.Claim == "") || in.Bucket != "":
		problem("source", i18n.T("dataset.source_wrong"))
	case at.Volume != "":
		v, err := teamVolume(ctx, tx, in.Team, at.Volume)
		switch {
		case fault.Is(err, fault.NotFound):
			problem("volume", i18n.T("dataset.volume_unknown"))
		case err != nil:
			return at, nil, err
		case v.PendingDeletion():
			problem("volume", i18n.T("volume.goes", "Name", at.Volume))
		}
		at.Cluster = v.Cluster
	default:
		if at.Cluster == "" && len(sharing.Clusters) == 1 {
			at.Cluster = sharing.Clusters[0]
		}
		if !sharing.HasCluster(at.Cluster) {
			problem("cluster", i18n.T("volume.cluster_unknown"))
		}
		ours, err := OurClaim(ctx, tx, at.Claim)
		if err != nil {
			return at, nil, err
		}
		if ours {
			problem("claim", i18n.T("dataset.claim_wrong"))
		}
	}
	return at, fields, nil
}

// OurClaim reports whether a claim is storage of the portal, or could become so: a home of somebody, a personal volume
// or a team's. A data set must not open the first two to others, and has the third by its name.
func OurClaim(ctx context.Context, in interface {
	Volume(ctx context.Context, name string) (Volume, error)
}, claim string) (bool, error) {
	if len(validation.IsDNS1123Label(claim)) > 0 { // those with a dot are volumes by name, see ClaimOf
		return true, nil
	}
	_, err := in.Volume(ctx, claim)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return true, err
}

// ValidSubPath reports whether Kubernetes takes it as the sub-path of a mount.
func ValidSubPath(p string) bool {
	if p == "" {
		return true
	}
	return utf8.ValidString(p) && utf8.RuneCountInString(p) <= maxSubPath && !path.IsAbs(p) && path.Clean(p) == p &&
		p != "." && p != ".." && !strings.HasPrefix(p, "../") && !strings.ContainsFunc(p, unicode.IsControl)
}

// WithdrawDataset takes a data set away. While a workload has it, running or stopped, that is a Conflict that names
// them. The files stay where they are.
func (s *Service) WithdrawDataset(ctx context.Context, a identity.Actor, team, name string) error {
	if err := s.permitTeam(a, team, identity.ChangeAssets); err != nil {
		return err
	}
	return s.Store.ChangeExclusively(ctx, func(tx Tx) error {
		d, err := tx.Dataset(ctx, team, name)
		if err != nil {
			return err
		}
		users, err := tx.WithDataset(ctx, team, name)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return fault.New(fault.Conflict, i18n.T("dataset.in_use", "Name", name, "By", named(users)))
		}
		if err := tx.DeleteDataset(ctx, d); err != nil {
			return err
		}
		e := audit.By(a, audit.DatasetWithdrawn, s.Now())
		e.Tenant, e.Volume, e.Detail = d.Team, d.PVC(), i18n.T("dataset.detail", "Name", d.Name)
		return tx.Append(ctx, e)
	})
}

// lieOn are the names of the data sets that a volume of a team has.
func lieOn(ctx context.Context, tx Tx, v Volume) (string, error) {
	sets, err := tx.Datasets(ctx, []string{v.Tenant})
	var names []string
	for _, d := range sets {
		if d.PVC() == v.Name {
			names = append(names, d.Name)
		}
	}
	return strings.Join(names, ", "), err
}
