package api

import (
	"context"
	"net/http"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/drift"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// Differences is what database and clusters do not agree on.
type Differences struct {
	Held  []HeldCluster       `json:"held" doc:"Clusters in which nothing is created, changed or deleted until an administrator has decided"`
	Items []ClusterDifference `json:"items"`
}

// HeldCluster is a cluster that carries more than the database knows.
type HeldCluster struct {
	Cluster string    `json:"cluster"`
	Since   time.Time `json:"since"`
	Cause   string    `json:"cause" enum:"older,diverged,other,no_checkpoint"`
	Reason  string    `json:"reason"`
	Seen    string    `json:"seen" doc:"Of all open differences; send it back to decide them together, or to let work go on"`
}

// ClusterDifference is one workload or storage.
type ClusterDifference struct {
	ID        string           `json:"id"`
	Cluster   string           `json:"cluster"`
	Resource  string           `json:"resource" enum:"workload,storage"`
	Key       string           `json:"key" doc:"Id of the workload, or name of the storage"`
	Kind      string           `json:"kind" enum:"cluster,database,different" doc:"In the cluster only, in the database only, or in both with different values"`
	Seen      string           `json:"seen" doc:"Version of what is shown; send it back to decide"`
	Name      string           `json:"name"`
	Namespace string           `json:"namespace"`
	Team      string           `json:"team"`
	Owner     string           `json:"owner,omitempty" doc:"Absent where it is not known"`
	Fields    []DifferentField `json:"fields"`
	Holds     []HeldResource   `json:"holds" doc:"What its pod asks for in the cluster"`
	Objects   []string         `json:"objects" doc:"In the cluster"`
	Since     time.Time        `json:"since" doc:"Creation of the oldest object, or of the row"`
	Decisions []string         `json:"decisions" doc:"Those that are possible"`
	Unknown   []string         `json:"unknown" doc:"What an adopted row would lack, in words"`
	Decision  string           `json:"decision,omitempty" enum:"adopt,release,apply" doc:"Absent while it is open"`
	By        string           `json:"by,omitempty"`
	DecidedAt *time.Time       `json:"decidedAt,omitempty"`
}

// DifferentField is one value on which the sides do not agree.
type DifferentField struct {
	Name     string `json:"name" enum:"generation,desired,size,lease,gib,tenant,cluster"`
	Database string `json:"database"`
	Cluster  string `json:"cluster"`
}

// HeldResource is an amount of an extended resource.
type HeldResource struct {
	Resource string `json:"resource"`
	Count    int64  `json:"count"`
}

func differenceView(l *i18n.Localizer, d drift.Difference) ClusterDifference {
	p := d.Owner()
	v := ClusterDifference{ID: d.ID, Cluster: d.Cluster, Resource: string(d.ResourceKind), Key: d.Key,
		Kind: string(d.Kind),
		Seen: d.Version, Name: p.Name, Namespace: p.Namespace, Team: p.Tenant, Owner: p.OwnerName, Fields: []DifferentField{},
		Holds: []HeldResource{}, Objects: []string{}, Decisions: []string{}, Unknown: []string{},
		Decision: string(d.Decision),
		By:       d.ByName, DecidedAt: known(d.DecidedAt)}
	for _, f := range d.Fields {
		v.Fields = append(v.Fields, DifferentField(f))
	}
	if d.Row != nil {
		v.Since = d.Row.Since.UTC()
	}
	if d.Live != nil {
		v.Since = d.Live.Since.UTC()
		for _, a := range d.Live.Holds {
			v.Holds = append(v.Holds, HeldResource(a))
		}
		for _, o := range d.Live.Objects {
			v.Objects = append(v.Objects, o.Kind+" "+o.Name)
		}
	}
	for _, decision := range drift.Decisions() {
		if d.Can(decision) {
			v.Decisions = append(v.Decisions, string(decision))
		}
	}
	for _, what := range d.Unknown() {
		v.Unknown = append(v.Unknown, l.Say(i18n.T("drift.unknown."+what)))
	}
	return v
}

func (a *API) differences(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[Differences], error) {
	r, err := a.deps.Drift.Report(ctx, actor)
	if err != nil {
		return nil, err
	}
	l := i18n.From(ctx)
	v := Differences{Held: []HeldCluster{}, Items: []ClusterDifference{}}
	for _, h := range r.Holds {
		v.Held = append(v.Held, HeldCluster{Cluster: h.Cluster, Since: h.Since.UTC(), Cause: string(h.Cause),
			Reason: l.Say(i18n.T("drift.cause."+string(h.Cause), "Cluster", h.Cluster)),
			Seen:   drift.Fingerprint(r.Of(h.Cluster))})
	}
	for _, d := range r.Differences {
		v.Items = append(v.Items, differenceView(l, d))
	}
	return reply(v, nil)
}

type differenceInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Seen string `json:"seen" minLength:"1" maxLength:"64" doc:"As the difference was shown; a Conflict when it has changed since"`
	}
}

func (a *API) decideDifference(
	decision drift.Decision,
) func(context.Context, identity.Actor, *differenceInput) (*output[ClusterDifference],
	error) {
	return func(ctx context.Context, actor identity.Actor, in *differenceInput) (*output[ClusterDifference], error) {
		d, err := a.deps.Drift.Decide(ctx, actor, in.ID, decision, in.Body.Seen)
		if err != nil {
			return nil, err
		}
		return reply(differenceView(i18n.From(ctx), d), nil)
	}
}

type differencesInput struct {
	Body struct {
		Cluster  string `json:"cluster" minLength:"1" maxLength:"63"`
		Decision string `json:"decision" enum:"adopt,release,apply,resume" doc:"resume decides nothing and lets work go on"`
		Seen     string `json:"seen" minLength:"1" maxLength:"64" doc:"Of the held cluster; a Conflict when its differences have changed since"`
	}
}

func (a *API) decideDifferences(
	ctx context.Context,
	actor identity.Actor,
	in *differencesInput,
) (*output[Differences], error) {
	var err error
	if in.Body.Decision == "resume" {
		err = a.deps.Drift.Resume(ctx, actor, in.Body.Cluster, in.Body.Seen)
	} else {
		_, err = a.deps.Drift.DecideAll(ctx, actor, in.Body.Cluster, drift.Decision(in.Body.Decision), in.Body.Seen)
	}
	if err != nil {
		return nil, err
	}
	return a.differences(ctx, actor, nil)
}

// registerDifferences is the part of the surface that is about databases and clusters that do not agree.
func (a *API) registerDifferences() {
	const tag = "Differences"
	add(a, op(http.MethodGet, "/differences", "get-differences", "What the database and the clusters do not agree on, "+
		"such as after a restore, and objects that the database does not know; for admins and auditors", tag),
		identity.ReadDifferences, a.differences)
	add(a, op(http.MethodPost, "/differences/{id}/adopt", "adopt-difference", "The cluster is right: the database takes "+
		"over what the objects say", tag), identity.DecideDifferences, a.decideDifference(drift.Adopt))
	add(a, op(http.MethodPost, "/differences/{id}/release", "release-difference", "Let it go: the row ends, the objects "+
		"stay as they are and are not looked after any more", tag), identity.DecideDifferences,
		a.decideDifference(drift.Release))
	add(a, op(http.MethodPost, "/differences/{id}/apply", "apply-difference", "The database is right: the cluster is "+
		"changed to it. Objects that it does not know are deleted", tag), identity.DecideDifferences,
		a.decideDifference(drift.Apply))
	add(a, op(http.MethodPost, "/differences/decide", "decide-differences", "Decide all open differences of a cluster "+
		"in one way, or let work go on without", tag), identity.DecideDifferences, a.decideDifferences)
}
