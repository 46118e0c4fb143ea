package offer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/inventory"
	"github.com/gpu-portal/gpu-portal/internal/offer"
)

var (
	admin   = identity.Actor{Person: identity.Person{ID: "p-ada", Name: "Ada"}, Global: []identity.Role{identity.Admin}}
	auditor = identity.Actor{Person: identity.Person{ID: "p-eve", Name: "Eve"}, Global: []identity.Role{identity.Auditor}}
	anyone  = identity.Actor{Person: identity.Person{ID: "p-dan", Name: "Dan"},
		Tenants: map[string][]identity.Role{"vision": {identity.Owner}}}
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

type snapshots map[string]inventory.Snapshot

func (s snapshots) Snapshot(_ context.Context, cluster string) (inventory.Snapshot, bool) {
	taken, ok := s[cluster]
	return taken, ok
}

func newService(t *testing.T, s *memory) *offer.Service {
	t.Helper()
	first, problems := offer.NewInitial(string(catalog.DefaultYAML()), catalog.DefaultPools()...)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return offer.New(offer.Options{Store: s, Snapshots: snapshots{"main": {Cluster: "main",
		Nodes: []inventory.Node{spare}}}, Clusters: []string{"main"}, Initial: first,
		Now: func() time.Time { return noon }})
}

// spare is a node whose cards no size of the first set chooses.
var spare = inventory.Node{Name: "a100", Ready: true, Model: "NVIDIA-A100-SXM4-80GB",
	Labels: map[string]string{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "8",
		"nvidia.com/gpu.memory": "81920", "nvidia.com/gpu.replicas": "1", "nvidia.com/mig.capable": "true",
		"nvidia.com/mig.strategy": "mixed", "nvidia.com/gpu.sharing-strategy": "none"},
	Resources: []inventory.Resource{{Name: "nvidia.com/gpu", Capacity: 8, Allocatable: 8}},
	CPU:       inventory.Amount{Allocatable: 128_000}, Memory: inventory.Amount{Allocatable: 1 << 40}}

func edited(old, new string) string {
	return strings.Replace(string(catalog.DefaultYAML()), old, new, 1)
}

var dearer = edited("minor: 55", "minor: 60")

func fails(t *testing.T, err error, kind fault.Kind, id string) {
	t.Helper()
	if !fault.Is(err, kind) || fault.As(err).Sentence.ID != id {
		t.Errorf("want %s %s, got %v", kind, id, err)
	}
}

func TestASavedCatalogCounts(t *testing.T) {
	t.Parallel()
	s := &memory{}
	o := newService(t, s)
	r, err := o.Save(t.Context(), admin, offer.Draft{Text: strings.ReplaceAll(dearer, "\n", "\r\n"),
		Note: " dearer power "})
	if err != nil {
		t.Fatal(err)
	}
	want := offer.Revision{Version: 1, Text: dearer, Author: "p-ada", AuthorName: "Ada",
		Note: i18n.Literal("dearer power"),
		At:   noon}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if size, _ := o.Catalog().Size("mig-1g.10gb"); size.PricePerHour.Minor != 60 {
		t.Errorf("the new price does not count: %v", size.PricePerHour)
	}
	if len(s.Events) != 1 || s.Events[0].Kind != audit.CatalogSaved || s.Events[0].Actor != "p-ada" {
		t.Errorf("want one event of Ada, got %+v", s.Events)
	}
	if diff := cmp.Diff([]audit.Change{{Field: "sizes.mig-1g.10gb.pricePerHour.minor", Old: "55", New: "60"}},
		s.Events[0].Changes); diff != "" {
		t.Errorf("before and after: %s", diff)
	}
	other := newService(t, s) // another replica
	if err := other.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if size, _ := other.Catalog().Size("mig-1g.10gb"); size.PricePerHour.Minor != 60 {
		t.Error("another replica does not take it up")
	}
	if _, err = o.Revert(t.Context(), admin, 0, 1, false); err != nil {
		t.Fatal(err)
	}
	if size, _ := o.Catalog().Size("mig-1g.10gb"); size.PricePerHour.Minor != 55 || s.Revisions[1].Version != 2 ||
		s.Revisions[1].Text != string(catalog.DefaultYAML()) {
		t.Error("going back makes the old text the next version")
	}
	list, more, err := o.Revisions(t.Context(), auditor, 0, 1)
	if err != nil || !more || len(list) != 1 || list[0].Version != 2 {
		t.Errorf("want one and more, got %v %v %v", list, more, err)
	}
	list, more, err = o.Revisions(t.Context(), auditor, 2, 2)
	if err != nil || more || len(list) != 2 || list[1].Version != 0 {
		t.Errorf("want 1 and 0, got %v %v %v", list, more, err)
	}
}

func TestWhatIsWrongIsNotSaved(t *testing.T) {
	t.Parallel()
	s := &memory{}
	o := newService(t, s)
	before := o.Catalog()
	_, err := o.Save(t.Context(), admin, offer.Draft{Text: strings.Replace(edited("cpu: \"2\"", "cpu: two"),
		"isolation: hard", "isolation: steel", 1)})
	fails(t, err, fault.Invalid, "offer.problems")
	if n := len(fault.As(err).Fields); n != 2 {
		t.Errorf("want both problems, got %d: %v", n, err)
	}
	for sentence, c := range map[string]struct {
		draft offer.Draft
		kind  fault.Kind
		id    string
	}{
		"not YAML":        {offer.Draft{Text: "sizes: ["}, fault.Invalid, "offer.problems"},
		"nothing":         {offer.Draft{}, fault.Invalid, "offer.problems"},
		"NUL":             {offer.Draft{Text: "a\x00"}, fault.Invalid, "offer.problems"},
		"too long":        {offer.Draft{Text: strings.Repeat("# x\n", 200_000)}, fault.Invalid, "offer.problems"},
		"nothing changed": {offer.Draft{Text: string(catalog.DefaultYAML())}, fault.Invalid, "offer.unchanged"},
		"a long note":     {offer.Draft{Text: dearer, Note: strings.Repeat("x", 201)}, fault.Invalid, "fault.fields"},
		"an unseen note":  {offer.Draft{Text: dearer, Note: "a\u202eb"}, fault.Invalid, "fault.fields"},
		"another base":    {offer.Draft{Text: dearer, Base: 3}, fault.Conflict, "offer.conflict"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := o.Save(t.Context(), admin, c.draft)
			fails(t, err, c.kind, c.id)
		})
	}
	if diff := cmp.Diff(before, o.Catalog()); diff != "" || len(s.Revisions) != 0 {
		t.Errorf("something was saved: %s", diff)
	}
}

func TestOfTwoWhoEditOneLearnsOfTheOther(t *testing.T) {
	t.Parallel()
	s := &memory{}
	o := newService(t, s)
	ben := admin
	ben.Person = identity.Person{ID: "p-ben", Name: "Ben"}
	if _, err := o.Save(t.Context(), ben, offer.Draft{Text: dearer}); err != nil {
		t.Fatal(err)
	}
	_, err := o.Save(t.Context(), admin, offer.Draft{Text: edited("minor: 55", "minor: 70")})
	fails(t, err, fault.Conflict, "offer.conflict")
	if got := fault.As(err).Sentence.Args; got["Name"] != "Ben" || got["Version"] != int64(1) ||
		got["At"] != "2026-03-01T12:00:00Z" {
		t.Errorf("it does not say who saved what and when: %v", got)
	}
	// The other saves between the look and the write.
	s.Before = func() {
		s.Before = nil
		if err := s.SaveCatalog(t.Context(), offer.Revision{Version: 2, Text: edited("minor: 55", "minor: 61"),
			AuthorName: "Ben",
			At:         noon}); err != nil {
			t.Error(err)
		}
	}
	_, err = o.Save(t.Context(), admin, offer.Draft{Text: edited("minor: 55", "minor: 70"), Base: 1})
	fails(t, err, fault.Conflict, "offer.conflict")
	_, err = o.Change(t.Context(), admin, offer.Change{Action: offer.Hide, List: offer.Sizes, Name: "cpu"}, 1)
	fails(t, err, fault.Conflict, "offer.conflict")
}

func TestWhatIsHeldIsNotTakenAwayByAccident(t *testing.T) {
	t.Parallel()
	cpu, _ := catalog.Default().Size("cpu")
	lab, _ := catalog.Default().Image("jupyterlab")
	s := &memory{Uses: func() []offer.Use { return []offer.Use{{Size: cpu, Image: lab, Count: 3}} }}
	o := newService(t, s)
	head, tail, _ := strings.Cut(string(catalog.DefaultYAML()), "- name: cpu\n")
	_, rest, _ := strings.Cut(tail, "\n# A slice of an H100")
	without := head + "\n# A slice of an H100" + rest
	_, err := o.Save(t.Context(), admin, offer.Draft{Text: without})
	fails(t, err, fault.Invalid, "offer.removes")
	if f := fault.As(err).Fields; len(f) != 1 || f[0].Reason.Args["Count"] != 3 {
		t.Errorf("want how many hold it, got %v", f)
	}
	if _, err := o.Save(t.Context(), admin, offer.Draft{Text: without, Confirm: true}); err != nil {
		t.Fatal(err)
	}
	if _, ok := o.Catalog().Size("cpu"); ok {
		t.Error("it is still on offer")
	}
	if _, ok := o.InUse().Size("cpu"); !ok {
		t.Error("those who keep the clusters in order must still know it")
	}
	over, err := o.Overview(t.Context(), auditor)
	if err != nil || len(over.Gone) != 1 || over.Gone[0].Count != 3 {
		t.Errorf("want it among those that are gone, got %v %v", over.Gone, err)
	}
}

func TestQuickChanges(t *testing.T) {
	t.Parallel()
	s := &memory{}
	o := newService(t, s)
	version := int64(0)
	do := func(c offer.Change) error {
		_, err := o.Change(t.Context(), admin, c, version)
		if err == nil {
			version++
		}
		return err
	}
	must := func(c offer.Change) {
		t.Helper()
		if err := do(c); err != nil {
			t.Fatal(err)
		}
	}
	size := func(name string) catalog.Size { s, _ := o.Catalog().Size(name); return s }
	must(offer.Change{Action: offer.Hide, List: offer.Sizes, Name: "gpu-shared"})
	if !size("gpu-shared").Hidden {
		t.Error("hide: it is not hidden")
	}
	if held, _ := o.InUse().Size("gpu-shared"); held.Hidden {
		t.Error("what runs of a hidden size must go on: its quota stays")
	}
	must(offer.Change{Action: offer.Show, List: offer.Sizes, Name: "gpu-shared"})
	must(offer.Change{Action: offer.Deprecate, List: offer.Sizes, Name: "vgpu-12q",
		Message: "The A40 go in May: take a slice.", Successor: "mig-1g.10gb"})
	if diff := cmp.Diff(&catalog.Deprecation{Message: "The A40 go in May: take a slice.", Successor: "mig-1g.10gb"},
		size("vgpu-12q").Deprecated); diff != "" {
		t.Errorf("deprecate: -want +got:\n%s", diff)
	}
	must(offer.Change{Action: offer.Undeprecate, List: offer.Sizes, Name: "vgpu-12q"})
	if text := s.Revisions[3].Text; text != string(catalog.DefaultYAML()) {
		t.Error("after all was taken back the text is as it was")
	}
	must(offer.Change{Action: offer.Hide, List: offer.Images, Name: o.Catalog().Images[0].Name})
	order := func() (names []string) {
		for _, s := range o.Catalog().Sizes {
			names = append(names, s.Name)
		}
		return names
	}
	was := order()
	must(offer.Change{Action: offer.Up, List: offer.Sizes, Name: was[2]})
	if now := order(); now[1] != was[2] || now[2] != was[1] {
		t.Errorf("up: want %s before %s, got %v", was[2], was[1], now)
	}
	must(offer.Change{Action: offer.Down, List: offer.Sizes, Name: was[2]})
	if diff := cmp.Diff(was, order()); diff != "" {
		t.Errorf("down again: -want +got:\n%s", diff)
	}
	for sentence, c := range map[string]struct {
		change offer.Change
		kind   fault.Kind
	}{
		"no such verb":              {offer.Change{Action: "burn", List: offer.Sizes, Name: "cpu"}, fault.Invalid},
		"no such list":              {offer.Change{Action: offer.Hide, List: "technologies", Name: "cpu"}, fault.Invalid},
		"no such entry":             {offer.Change{Action: offer.Hide, List: offer.Sizes, Name: "none"}, fault.NotFound},
		"a deprecation without why": {offer.Change{Action: offer.Deprecate, List: offer.Sizes, Name: "cpu"}, fault.Invalid},
		"its own successor": {offer.Change{Action: offer.Deprecate, List: offer.Sizes, Name: "cpu", Message: "m",
			Successor: "cpu"}, fault.Invalid},
		"an unknown successor": {offer.Change{Action: offer.Deprecate, List: offer.Sizes, Name: "cpu", Message: "m",
			Successor: "none"}, fault.Invalid},
		"higher than the first": {offer.Change{Action: offer.Up, List: offer.Sizes, Name: was[0]}, fault.Invalid},
	} {
		if err := do(c.change); !fault.Is(err, c.kind) {
			t.Errorf("%s: want %s, got %v", sentence, c.kind, err)
		}
	}
}

func TestEqualPlacesAreNumberedAnew(t *testing.T) {
	t.Parallel()
	s := &memory{}
	o := newService(t, s)
	text := string(catalog.DefaultYAML())
	for _, n := range []string{"10", "20", "30", "40"} {
		text = strings.Replace(text, "  order: "+n+"\n", "", 1)
	}
	if _, err := o.Save(t.Context(), admin, offer.Draft{Text: text}); err != nil {
		t.Fatal(err)
	}
	was := o.Catalog().Sizes
	if _, err := o.Change(t.Context(), admin, offer.Change{Action: offer.Down, List: offer.Sizes, Name: was[0].Name},
		1); err != nil {
		t.Fatal(err)
	}
	now := o.Catalog().Sizes
	if now[0].Name != was[1].Name || now[1].Name != was[0].Name || now[2].Name != was[2].Name ||
		now[len(now)-1].Name != was[len(was)-1].Name {
		t.Errorf("want the first two changed and no other")
	}
}

// After an upgrade a stored text may not be readable any more: then what runs goes on, and after a start the newest
// that can be read.
func TestAnUnreadableRevisionChangesNothing(t *testing.T) {
	t.Parallel()
	s := &memory{Revisions: []offer.Revision{{Version: 1, Text: dearer, At: noon},
		{Version: 2, Text: "sizes: 3", At: noon}}}
	o := newService(t, s)
	for range 2 {
		if err := o.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	standing, err := o.Status(auditor)
	if err != nil || standing.Active.Version != 1 || standing.Newest.Version != 2 || len(standing.Problems) == 0 {
		t.Errorf("want version 1 to run and the problems of 2, got %d, %d, %v, %v", standing.Active.Version,
			standing.Newest.Version, standing.Problems, err)
	}
	s.Revisions = append(s.Revisions, offer.Revision{Version: 3, Text: "no", At: noon})
	if err := o.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if size, _ := o.Catalog().Size("mig-1g.10gb"); size.PricePerHour.Minor != 60 {
		t.Error("what ran does not go on")
	}
	if _, err := o.Revert(t.Context(), admin, 1, 3, false); err != nil {
		t.Fatal(err)
	}
	if standing, _ := o.Status(auditor); standing.Active.Version != 4 || standing.Problems != nil {
		t.Errorf("going back cures it, got %+v", standing.Problems)
	}
}

func TestWhatTheNodesHaveIsOfferedWithOneCall(t *testing.T) {
	t.Parallel()
	s := &memory{}
	o := newService(t, s)
	findings, err := o.Findings(t.Context(), auditor)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]offer.Finding{}
	for _, f := range findings {
		kinds[string(f.Kind)] = f
	}
	unoffered, never := kinds["unoffered"], kinds["never-runs"]
	if unoffered.Proposal == nil || never.Size == "" {
		t.Fatalf("want a proposal and a size that can never run, got %+v", findings)
	}
	text, base, err := o.Proposed(t.Context(), admin, unoffered.Key)
	if err != nil || base != 0 || !strings.Contains(text, "- name: "+unoffered.Proposal.Name+"\n") {
		t.Errorf("to go on from: want the proposal in the text, got %v", err)
	}
	if _, err := o.Accept(t.Context(), admin, unoffered.Key, 0); err != nil {
		t.Fatal(err)
	}
	if _, ok := o.Catalog().Size(unoffered.Proposal.Name); !ok {
		t.Error("it is not on offer")
	}
	if _, err := o.Accept(t.Context(), admin, unoffered.Key, 1); !fault.Is(err, fault.NotFound) {
		t.Errorf("twice: want it gone, got %v", err)
	}
	if _, err := o.Accept(t.Context(), admin, never.Key, 1); err != nil {
		t.Fatal(err)
	}
	if size, _ := o.Catalog().Size(never.Size); !size.Hidden {
		t.Error("what can never run is not hidden")
	}
	after, _ := o.Findings(t.Context(), admin)
	for _, f := range after {
		if f.Key == unoffered.Key || f.Key == never.Key {
			t.Errorf("it is still found: %+v", f)
		}
	}
}

func TestWhoMayWhat(t *testing.T) {
	t.Parallel()
	o := newService(t, &memory{})
	disabled := admin
	disabled.Person.Disabled = true
	for name, c := range map[string]struct {
		actor       identity.Actor
		read, write fault.Kind
	}{
		"nobody":       {identity.Actor{}, fault.Unauthenticated, fault.Unauthenticated},
		"shut out":     {disabled, fault.Unauthenticated, fault.Unauthenticated},
		"a team owner": {anyone, fault.NotFound, fault.NotFound},
		"an auditor":   {auditor, "", fault.Forbidden},
		"an admin":     {admin, "", ""},
	} {
		ctx := t.Context()
		calls := map[string]struct {
			err   error
			wants fault.Kind
		}{}
		say := func(call string, wants fault.Kind, err error) {
			calls[call] = struct {
				err   error
				wants fault.Kind
			}{err, wants}
		}
		_, err := o.Status(c.actor)
		say("standing", c.read, err)
		_, err = o.Overview(ctx, c.actor)
		say("overview", c.read, err)
		_, _, err = o.Revisions(ctx, c.actor, 0, 5)
		say("revisions", c.read, err)
		_, err = o.Revision(ctx, c.actor, 0)
		say("revision", c.read, err)
		_, err = o.Findings(ctx, c.actor)
		say("findings", c.read, err)
		_, err = o.Check(ctx, c.actor, "")
		say("check", c.write, err)
		if c.write != "" {
			_, err = o.Save(ctx, c.actor, offer.Draft{Text: dearer})
			say("save", c.write, err)
			_, err = o.Revert(ctx, c.actor, 0, 0, true)
			say("revert", c.write, err)
			_, err = o.Change(ctx, c.actor, offer.Change{Action: offer.Hide, List: offer.Sizes, Name: "cpu"}, 0)
			say("change", c.write, err)
			_, err = o.Accept(ctx, c.actor, "x", 0)
			say("accept", c.write, err)
			_, _, err = o.Proposed(ctx, c.actor, "x")
			say("proposed", c.write, err)
		}
		for call, got := range calls {
			if got.wants == "" && got.err != nil || got.wants != "" && !fault.Is(got.err, got.wants) {
				t.Errorf("%s, %s: want %q, got %v", name, call, got.wants, got.err)
			}
		}
	}
}
