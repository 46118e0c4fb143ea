package idle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/usage"
)

// Action is the reaction to an idle GPU: off, warn or stop.
type Action string

// The actions.
const (
	Off  Action = "off"
	Warn Action = "warn" // whoever asked for it is told, once in each idle time
	Stop Action = "stop" // told, and later stopped as if somebody had: the storage is kept
)

// Actions lists every action.
func Actions() []Action { return []Action{Off, Warn, Stop} }

// Setting is a threshold, a time and an action. The zero Setting is Off.
type Setting struct {
	Action Action           `json:"action"`
	After  catalog.Duration `json:"after,omitempty"` // idle for so long: the warning, or the end
	// per cent of the engine: idle is what never reaches it, not even in one sample
	Below int `json:"below,omitempty"`
	// cores and bytes per second of a pod: idle is, of what has no device with values of its own, what stays below both;
	// 0 where that is never judged
	CPU     float64 `json:"cpu,omitempty"`
	Network int     `json:"network,omitempty"`
	// for how long "I still need it" holds; idle time counts again after it
	KeepAlive catalog.Duration `json:"keepAlive,omitempty"`
}

// The bounds of a setting, and what an empty field of a form means.
const (
	Longest       = 30 * 24 * time.Hour
	MostBelow     = 50
	UsualBelow    = usage.IdleBelow // as in statements
	LeastCPU      = 0.001           // cores
	MostCPU       = 4
	UsualCPU      = 0.05 // a notebook server without a kernel needs less
	MostNetwork   = 100_000_000
	UsualNetwork  = 10_000 // bytes per second; probes and scrapes of metrics need less
	longestNotice = time.Hour
)

// On reports whether anything follows.
func (s Setting) On() bool { return s.Action == Warn || s.Action == Stop }

// ByPod reports whether sizes are judged as well whose devices have no values of their own.
func (s Setting) ByPod() bool { return s.CPU > 0 && s.Network > 0 }

// WithUsual fills in the usual threshold of CPU or network where the other one alone is set.
func (s Setting) WithUsual() Setting {
	switch {
	case s.CPU == 0 && s.Network != 0:
		s.CPU = UsualCPU
	case s.CPU != 0 && s.Network == 0:
		s.Network = UsualNetwork
	}
	return s
}

// podLimit is the thresholds of a pod.
func (s Setting) podLimit() PodUse { return PodUse{CPU: s.CPU, Network: float64(s.Network)} }

// Notice is how long before the end the warning comes: a quarter of the time, and an hour at most.
func (s Setting) Notice() time.Duration { return min(longestNotice, s.After.Std()/4) }

// WarnAfter is after how much idle time the warning comes.
func (s Setting) WarnAfter() time.Duration {
	if s.Action == Stop {
		return s.After.Std() - s.Notice()
	}
	return s.After.Std()
}

// Settings are the general setting and those by size and team. A team's comes before a size's, and that before the
// general one.
type Settings struct {
	All   *Setting           `json:"all,omitempty"`
	Sizes map[string]Setting `json:"sizes,omitempty"`
	Teams map[string]Setting `json:"teams,omitempty"`
}

// Of is what counts for a workload of a team and size.
func (s Settings) Of(team, size string) Setting {
	if of, ok := s.Teams[team]; ok {
		return of
	}
	if of, ok := s.Sizes[size]; ok {
		return of
	}
	if s.All != nil {
		return *s.All
	}
	return Setting{Action: Off}
}

// Any reports whether anything is on anywhere.
func (s Settings) Any() bool {
	on := s.All != nil && s.All.On()
	for _, m := range []map[string]Setting{s.Sizes, s.Teams} {
		for _, of := range m {
			on = on || of.On()
		}
	}
	return on
}

// each calls do with every setting and the name of its field, in a steady order.
func (s Settings) each(do func(field string, of Setting)) {
	if s.All != nil {
		do("all", *s.All)
	}
	for _, kind := range []struct {
		name string
		of   map[string]Setting
	}{{"sizes", s.Sizes}, {"teams", s.Teams}} {
		for _, name := range slices.Sorted(maps.Keys(kind.of)) {
			do(kind.name+"."+name, kind.of[name])
		}
	}
}

// problems are what is wrong, by field. shortest is the least time that can be told apart; known says of a field
// whether there is such a size or team.
func (s Settings) problems(shortest time.Duration, known func(field string) bool) []fault.Field {
	var list []fault.Field
	add := func(field string, t i18n.Text) { list = append(list, fault.Field{Name: field, Reason: t}) }
	s.each(func(field string, of Setting) {
		if field != "all" && !known(field) {
			add(field, i18n.T("idle.not_known"))
		}
		if !slices.Contains(Actions(), of.Action) {
			add(field+".action", i18n.T("idle.bad_action"))
		}
		if !of.On() {
			return
		}
		span := func(name string, d catalog.Duration) {
			if d.Std() < shortest || d.Std() > Longest {
				add(field+"."+name, i18n.T("idle.bad_time", "Least", catalog.Duration(shortest).String(), "Most",
					catalog.Duration(Longest).String()))
			}
		}
		span("after", of.After)
		span("keepAlive", of.KeepAlive)
		if of.Below < 1 || of.Below > MostBelow {
			add(field+".below", i18n.T("idle.bad_below", "Most", MostBelow))
		}
		if of.CPU == 0 && of.Network == 0 {
			return
		}
		if !(of.CPU >= LeastCPU && of.CPU <= MostCPU) {
			add(field+".cpu", i18n.T("idle.bad_cpu", "Least", cores(LeastCPU), "Most", cores(MostCPU)))
		}
		if of.Network < 1 || of.Network > MostNetwork {
			add(field+".network", i18n.T("idle.bad_network", "Most", MostNetwork))
		}
	})
	return list
}

// flat is what the audit compares, one entry a setting.
func (s Settings) flat() map[string]string {
	all := map[string]string{}
	s.each(func(field string, of Setting) {
		all[field] = string(of.Action)
		if of.On() {
			all[field] += fmt.Sprintf(" after %s below %d%% keep %s", of.After, of.Below, of.KeepAlive)
			if of.ByPod() {
				all[field] += fmt.Sprintf(" cpu %s network %d", cores(of.CPU), of.Network)
			}
		}
	})
	return all
}

// Revision is one version of the settings; the highest counts.
type Revision struct {
	Version    int64 // 0: nothing was ever saved, and nothing is judged
	Settings   Settings
	Author     identity.PersonID
	AuthorName string // of the author
	At         time.Time
}
