package request

import (
	"context"
	"slices"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// mounted fills in what the volumes are that a spec names: the team's, personal ones of the asker, and data sets. One
// of another team or person is one that does not exist.
func mounted(ctx context.Context, in Reader, asker identity.PersonID, w *Spec) (fields []fault.Field, err error) {
	var mounts []workload.Mount
	for _, m := range w.Mounts {
		if m.Personal {
			own, wrong, err := ownVolume(ctx, in, asker, *w, m)
			if err != nil {
				return nil, err
			}
			same := func(have workload.Mount) bool { return have.Personal && have.Name == own.Name }
			if wrong == nil && slices.ContainsFunc(mounts, same) {
				wrong = &fault.Field{Name: "volumes", Reason: i18n.T("request.own_volume_twice", "Volume", own.Name)}
			}
			if wrong != nil {
				fields = append(fields, *wrong)
				continue
			}
			mounts = append(mounts, own)
			continue
		}
		if m.Dataset != "" {
			set, wrong, err := dataset(ctx, in, *w, m)
			if err != nil {
				return nil, err
			}
			if wrong.IsZero() {
				mounts = append(mounts, set)
			} else {
				fields = append(fields, fault.Field{Name: "datasets", Reason: wrong})
			}
			continue
		}
		v, err := in.Volume(ctx, workload.ClaimOf(w.Tenant, m.Name))
		switch {
		case err != nil && !fault.Is(err, fault.NotFound):
			return nil, err
		case err != nil || v.Deleted || !v.OfTeam() || v.Tenant != w.Tenant:
			fields = append(fields, fault.Field{Name: w.mountField(m.Name), Reason: i18n.T("request.mount_unknown", "Volume",
				clip(m.Name))})
		case v.PendingDeletion():
			fields = append(fields, fault.Field{Name: w.mountField(m.Name), Reason: i18n.T("request.mount_pending_deletion",
				"Volume", clip(m.Name))})
		case w.Cluster != "" && v.Cluster != w.Cluster:
			fields = append(fields, fault.Field{Name: w.mountField(m.Name), Reason: i18n.T("request.mount_elsewhere",
				"Volume", m.Name, "Cluster", v.Cluster, "Here", w.Cluster)})
		default:
			mounts = append(mounts, v.Mounted())
		}
	}
	w.Mounts = slices.Clip(mounts)
	return fields, nil
}

// ownVolume looks up a personal volume of the asker: by its full name, or by what its owner calls it in the tenant. One
// that runs in another workload is refused: pods on one node alone can have it, and nothing brings the two together.
func ownVolume(ctx context.Context, in Reader, asker identity.PersonID, w Spec,
	m workload.Mount) (workload.Mount, *fault.Field, error) {
	claim := m.Name
	if !strings.Contains(claim, ".") {
		claim = workload.PersonalClaim(w.Tenant, asker, claim)
	}
	wrong := func(reason i18n.Text) (workload.Mount, *fault.Field, error) {
		return m, &fault.Field{Name: "volumes", Reason: reason}, nil
	}
	v, err := in.Volume(ctx, claim)
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return m, nil, err
	case err != nil || v.Deleted || !v.IsPersonal() || v.Owner != asker || v.Tenant != w.Tenant:
		return wrong(i18n.T("request.own_volume_unknown", "Volume", clip(m.Name)))
	case w.Cluster != "" && v.Cluster != w.Cluster:
		return wrong(i18n.T("request.own_volume_elsewhere", "Volume", v.Personal.Name, "Cluster", v.Cluster, "Here",
			w.Cluster))
	}
	users, err := in.Mounting(ctx, v)
	if err != nil {
		return m, nil, err
	}
	if other, runs := workload.RunningWith(users, ""); runs {
		return wrong(i18n.T("request.own_volume_in_use", "Volume", v.Personal.Name, "By", other.Name))
	}
	own := v.Mounted()
	own.ReadOnly = m.ReadOnly
	return own, nil, nil
}

// dataset looks up a data set that the team offers, and why a workload cannot have it; zero where it can.
func dataset(ctx context.Context, in Reader, w Spec, asked workload.Mount) (m workload.Mount, wrong i18n.Text,
	err error) {
	name := asked.Dataset
	d, err := in.Dataset(ctx, w.Tenant, name)
	switch {
	case fault.Is(err, fault.NotFound):
		return m, i18n.T("request.dataset_unknown", "Dataset", clip(name)), nil
	case err != nil:
		return m, wrong, err
	case d.Source.Bucket != "":
		return bucket(ctx, in, d, asked.Bucket.Image)
	case w.Cluster != "" && d.Source.Cluster != w.Cluster:
		return m, i18n.T("request.dataset_elsewhere", "Dataset", name, "Cluster", d.Source.Cluster, "Here", w.Cluster), nil
	case d.Source.Volume == "":
		ours, err := workload.OurClaim(ctx, in, d.Source.Claim)
		if ours {
			wrong = i18n.T("request.dataset_gone", "Dataset", name)
		}
		return d.Mounted(workload.Volume{}), wrong, err
	}
	v, err := in.Volume(ctx, d.PVC())
	switch {
	case err != nil && !fault.Is(err, fault.NotFound):
		return m, wrong, err
	case err != nil || v.Deleted || v.PendingDeletion() || !v.OfTeam() || v.Tenant != w.Tenant:
		return m, i18n.T("request.dataset_gone", "Dataset", name), nil
	}
	return d.Mounted(v), wrong, nil
}

// bucket is a data set that is copied from object storage, with the secret of the team that opens it.
func bucket(ctx context.Context, in Reader, d workload.Dataset, image string) (m workload.Mount, wrong i18n.Text,
	err error) {
	if image == "" {
		return m, i18n.T("dataset.bucket_off"), nil
	}
	ofTeam, err := in.SecretsOf(ctx, secret.Owner{Tenant: d.Team})
	if err != nil {
		return m, wrong, err
	}
	m = d.Mounted(workload.Volume{})
	for _, item := range ofTeam {
		if item.Kind == secret.S3 && item.Name == d.Source.Secret {
			m.Bucket.Secret, m.Bucket.Image = item.ID, image
			return m, wrong, nil
		}
	}
	return m, i18n.T("request.dataset_secret_gone", "Dataset", d.Name, "Secret", d.Source.Secret), nil
}
