package reconcile

import "slices"

// Verb is the kind of write: create, update, delete, or none where the object is not the portal's.
type Verb string

// The verbs. Refuse stops everything: an object of the name exists and is not ours.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
	Refuse Verb = "refuse"
)

// Step is one write to the API server.
type Step struct {
	Verb Verb
	Object
	UID     string // of the object as it was seen; "" for one that was not
	Version string // its resourceVersion
	Was     string // the hash that it carried
	Repair  bool   // somebody else has changed what we own; done less often than an own change
	Edits   []Edit // what a repair takes back, as it was seen
}

// DesiredObjects are the rendered objects of one workload or tenant.
type DesiredObjects struct {
	Objects []Object
	Gone    bool     // they should not be there; kept kinds stay
	Old     []Object // ownedObjects for an earlier spec under another name; they go when the new ones are there
}

// Diff gives the writes that make observed objects as desired, in order. What is right needs nothing; what is being
// deleted is waited for.
func Diff(desired DesiredObjects, observed map[Key]Existing) []Step {
	objects := slices.SortedStableFunc(slices.Values(desired.Objects),
		func(a, b Object) int { return rank(a.Kind) - rank(b.Kind) })
	var steps []Step
	if desired.Gone {
		slices.Reverse(objects)
		return removeAll(slices.Concat(objects, desired.Old), observed)
	}
	for _, o := range objects {
		if step, due := planStep(o, observed); due {
			steps = append(steps, step)
		}
	}
	return append(steps, removeAll(desired.Old, observed)...)
}

func removeAll(objects []Object, observed map[Key]Existing) []Step {
	var steps []Step
	for _, o := range objects {
		if step, due := remove(o, observed); due {
			steps = append(steps, step)
		}
	}
	return steps
}

func remove(o Object, observed map[Key]Existing) (Step, bool) {
	e, exists := observed[o.Key]
	if !exists || e.Deleting || kinds[rank(o.Kind)].kept || !o.mayTouch(e) {
		return Step{}, false
	}
	return Step{Verb: Delete, Object: o, UID: e.UID, Version: e.Version}, true
}

func planStep(o Object, observed map[Key]Existing) (Step, bool) {
	e, exists := observed[o.Key]
	switch {
	case !exists:
		return Step{Verb: Create, Object: o}, true
	case !o.mayTouch(e):
		return Step{Verb: Refuse, Object: o, UID: e.UID}, true
	case e.Deleting:
		return Step{}, false
	case o.Kind != "PersistentVolumeClaim" && e.Hash != o.Hash:
		return o.update(e), true
	}
	return o.repair(e)
}

// repair is the step against what others did to an object that carries the right spec. Of a claim only additions are
// taken back: its spec cannot be changed, and its data outlives the workload that made it.
func (o Object) repair(e Existing) (Step, bool) {
	step := o.update(e)
	step.Repair, step.Edits = true, strictly(e.edits)
	if o.Kind == "PersistentVolumeClaim" {
		step.Edits = slices.DeleteFunc(step.Edits, func(edit Edit) bool { return edit.Change != Added })
		return step, len(step.Edits) > 0
	}
	return step, len(step.Edits) > 0 || !owns(o.content, e.fields)
}

func strictly(edits []Edit) []Edit {
	return slices.DeleteFunc(slices.Clone(edits), func(e Edit) bool { return !e.Strict })
}

func (o Object) update(e Existing) Step {
	return Step{Verb: Update, Object: o, UID: e.UID, Version: e.Version, Was: e.Hash}
}

// mayTouch compares owner records: the same portal, the same tenant, and the same workload or storage. An object
// without a record is nobody's of ours.
func (o Object) mayTouch(e Existing) bool {
	return e.Instance != "" && e.Instance == o.Instance && e.Tenant == o.Tenant && e.Workload == o.Workload &&
		e.Volume == o.Volume
}
