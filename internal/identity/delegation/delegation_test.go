package delegation

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// memory keeps everything in a list; asked counts the people that were read.
type memory struct {
	mu      sync.Mutex
	people  map[identity.PersonID]identity.Person
	periods []Delegation
	events  []audit.Event
	asked   int
}

func (m *memory) Delegations(_ context.Context, after time.Time) ([]Delegation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.periods), func(p Delegation) bool { return !p.Until.After(after) }), nil
}

func (m *memory) CreateDelegation(_ context.Context, p Delegation, e audit.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.periods, m.events = append(m.periods, p), append(m.events, e)
	return nil
}

func (m *memory) EndDelegation(_ context.Context, _ identity.PersonID, id string, now time.Time, e audit.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.periods {
		if m.periods[i].ID == id {
			m.periods[i].Until = now
		}
	}
	m.events = append(m.events, e)
	return nil
}

func (m *memory) Person(_ context.Context, id identity.PersonID) (identity.Person, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	p, ok := m.people[id]
	if !ok {
		return p, fault.New(fault.NotFound, i18n.T("store.no_person"))
	}
	return p, nil
}

func (m *memory) People(context.Context, string, int) ([]identity.Person, error) {
	return []identity.Person{m.people["p-ada"], m.people["p-bea"], {ID: "p-out", Disabled: true}}, nil
}

func (m *memory) set(p identity.Person) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.people[p.ID] = p
}

type world struct {
	*Service
	memory *memory
	now    time.Time
}

// newWorld has Ada and Bea, who approve, and Dan, who does not.
func newWorld() *world {
	w := &world{now: noon, memory: &memory{people: map[identity.PersonID]identity.Person{}}}
	for id, groups := range map[identity.PersonID][]string{"p-ada": {"approvers"}, "p-bea": {"approvers"}, "p-dan": nil} {
		w.memory.set(identity.Person{ID: id, Name: string(id), Groups: groups})
	}
	n := 0
	w.Service = New(Options{Store: w.memory, Now: func() time.Time { return w.now },
		NewID:   func(prefix string) string { n++; return prefix + string(rune('0'+n)) },
		Actor:   func(p identity.Person, _ identity.Via) identity.Actor { return roles(p) },
		Decides: func(a identity.Actor) bool { return a.Is(identity.Approver) || len(a.Delegators) > 0 }})
	return w
}

func roles(p identity.Person) identity.Actor {
	a := identity.Actor{Person: p}
	if slices.Contains(p.Groups, "approvers") {
		a.Global = []identity.Role{identity.Approver}
	}
	return a
}

func (w *world) actor(id identity.PersonID) identity.Actor { return roles(w.memory.people[id]) }

// voices are those for whom somebody decides now.
func (w *world) voices(t *testing.T, id identity.PersonID) []identity.Actor {
	t.Helper()
	actors, err := w.For(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return actors
}

func TestAPeriod(t *testing.T) {
	w := newWorld()
	from, until := noon.Add(time.Hour), noon.Add(25*time.Hour)
	p, err := w.Create(t.Context(), w.actor("p-ada"), Draft{Delegate: "p-dan", From: from, Until: until})
	if err != nil || len(w.memory.events) != 1 || w.memory.events[0].Kind != audit.DelegationCreated {
		t.Fatalf("want it kept with an event, got %v %v", err, w.memory.events)
	}
	for at, want := range map[time.Duration]int{0: 0, time.Hour: 1, 24 * time.Hour: 1, 25 * time.Hour: 0} {
		w.now = noon.Add(at)
		if got := w.voices(t, "p-dan"); len(got) != want {
			t.Errorf("after %v: want %d, got %v", at, want, got)
		}
	}
	w.now = noon.Add(2 * time.Hour)
	v := w.voices(t, "p-dan")[0]
	if !v.Is(identity.Approver) || v.SeesAll() || v.Delegators != nil {
		t.Errorf("want the rights of Ada and no more, got %+v", v)
	}
	asked := w.memory.asked
	if got := w.voices(t, "p-bea"); len(got) > 0 || w.memory.asked != asked {
		t.Error("who stands in for nobody costs nothing")
	}
	if err := w.End(t.Context(), w.actor("p-bea"), p.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another's period: want not found, got %v", err)
	}
	if err := w.End(t.Context(), w.actor("p-ada"), p.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.voices(t, "p-dan"); len(got) > 0 || w.memory.events[1].Kind != audit.DelegationEnded {
		t.Errorf("it has ended at once, got %v", got)
	}
	if err := w.End(t.Context(), w.actor("p-ada"), p.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("it cannot be ended twice, got %v", err)
	}
}

// TestLostRightsAreLostForTheDelegation too, and so is somebody who was shut out.
func TestLostRightsAreLostForTheDelegation(t *testing.T) {
	w := newWorld()
	if _, err := w.Create(t.Context(), w.actor("p-ada"),
		Draft{Delegate: "p-dan", Until: noon.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	ada := w.memory.people["p-ada"]
	ada.Groups = nil
	w.memory.set(ada)
	if got := w.voices(t, "p-dan"); len(got) != 1 || got[0].Is(identity.Approver) {
		t.Errorf("want Ada without the role, got %v", got)
	}
	ada.Groups, ada.Disabled = []string{"approvers"}, true
	w.memory.set(ada)
	if got := w.voices(t, "p-dan"); len(got) > 0 {
		t.Errorf("nobody decides for somebody who is shut out, got %v", got)
	}
}

func TestADelegationIsRefused(t *testing.T) {
	day := Draft{Delegate: "p-dan", Until: noon.Add(24 * time.Hour)}
	cases := map[string]struct {
		who   identity.PersonID
		draft Draft
		says  string
	}{
		"of oneself":       {"p-ada", Draft{Delegate: "p-ada", Until: day.Until}, "delegation.self"},
		"who is not known": {"p-ada", Draft{Delegate: "p-zoe", Until: day.Until}, "delegation.unknown"},
		"without an end":   {"p-ada", Draft{Delegate: "p-dan"}, "delegation.over"},
		"that is over": {"p-ada", Draft{Delegate: "p-dan", From: noon.Add(-48 * time.Hour),
			Until: noon.Add(-24 * time.Hour)}, "delegation.over"},
		"for years": {"p-ada", Draft{Delegate: "p-dan", Until: noon.Add(2 * longest)},
			"delegation.too_long"},
		"twice": {"p-bea", day, "delegation.twice"},
		"by somebody who decides nothing": {"p-dan", Draft{Delegate: "p-bea", Until: day.Until},
			"delegation.decides_nothing"},
		"who was shut out of the portal":   {"p-ada", Draft{Delegate: "p-out", Until: day.Until}, "delegation.unknown"},
		"by nobody, who is not signed in":  {"", day, "problem.sign_in_first"},
		"with more than one may have open": {"p-max", Draft{Delegate: "p-bea", Until: day.Until}, "delegation.too_many"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.memory.set(identity.Person{ID: "p-out", Disabled: true})
			w.memory.set(identity.Person{ID: "p-max", Groups: []string{"approvers"}})
			if _, err := w.Create(t.Context(), w.actor("p-bea"), day); err != nil {
				t.Fatal(err)
			}
			for i := range most {
				w.memory.periods = append(w.memory.periods, Delegation{ID: "m", Person: "p-max", Delegate: "p-x", From: noon,
					Until: noon.Add(time.Duration(i+1) * time.Hour)})
			}
			_, err := w.Create(t.Context(), w.actor(c.who), c.draft)
			f := fault.As(err)
			if len(f.Fields) > 0 {
				f.Sentence = f.Fields[0].Reason
			}
			if err == nil || f.Sentence.ID != c.says {
				t.Errorf("want %s, got %v", c.says, err)
			}
		})
	}
}

// TestADelegationPassesNothingOn: who decides only in others' places names nobody.
func TestADelegationPassesNothingOn(t *testing.T) {
	w := newWorld()
	dan := w.actor("p-dan")
	dan.Delegators = []identity.Actor{w.actor("p-ada")}
	if _, err := w.Create(t.Context(), dan, Draft{Delegate: "p-bea", Until: noon.Add(time.Hour)}); !fault.Is(err,
		fault.Forbidden) {
		t.Errorf("want a refusal, got %v", err)
	}
	if _, err := w.Find(t.Context(), dan, "bea"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("and looks for nobody, got %v", err)
	}
	found, err := w.Find(t.Context(), w.actor("p-ada"), "a")
	if err != nil || len(found) > 0 {
		t.Errorf("one letter finds nobody, got %v %v", found, err)
	}
	if found, err = w.Find(t.Context(), w.actor("p-ada"), "ea"); err != nil || len(found) != 1 || found[0].ID != "p-bea" {
		t.Errorf("one does not find oneself, got %v %v", found, err)
	}
}
