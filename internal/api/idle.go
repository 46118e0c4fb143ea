package api

import (
	"context"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/idle"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// IdleSetting is what counts as idle and what follows.
type IdleSetting struct {
	Action    string  `json:"action" enum:"off,warn,stop" doc:"stop: its owner is told, and later it is stopped with its storage kept"`
	After     string  `json:"after,omitempty" maxLength:"32" example:"8h" doc:"Idle for so long without a gap: the warning, or the end. The warning of an end comes earlier by a quarter of that, and by an hour at most"`
	Below     int     `json:"belowPercent,omitempty" minimum:"0" maximum:"100" doc:"Idle is what never reaches this use of the engine, not even in one sample"`
	Cores     float64 `json:"belowCores,omitempty" minimum:"0" maximum:"4" example:"0.05" doc:"Of what has no device with values of its own (no GPU, a share of a card): idle is a pod whose CPU stays below this, and its network below belowBytesPerSecond. Without both that is never judged; one alone has the usual one beside it"`
	Network   int     `json:"belowBytesPerSecond,omitempty" minimum:"0" maximum:"100000000" example:"10000" doc:"Received and sent by a pod"`
	KeepAlive string  `json:"keepAlive,omitempty" maxLength:"32" example:"8h" doc:"For how long somebody's word holds that they still need it"`
}

// IdleSettings are all that counts. A team's comes before a size's, and that before the general one.
type IdleSettings struct {
	Version int64                  `json:"version" minimum:"0" doc:"That it was read at; 0 while nothing was ever saved"`
	All     *IdleSetting           `json:"all,omitempty"`
	Sizes   map[string]IdleSetting `json:"sizes,omitempty"`
	Teams   map[string]IdleSetting `json:"teams,omitempty"`
	By      string                 `json:"by,omitempty" readOnly:"true"`
	At      *time.Time             `json:"at,omitempty" readOnly:"true"`
}

type idleInput struct{ Body IdleSettings }

func (a *API) idleSettings(ctx context.Context, actor identity.Actor, _ *struct{}) (*output[IdleSettings], error) {
	r, err := a.deps.Idle.Settings(ctx, actor)
	return reply(idleView(r), err)
}

func (a *API) saveIdle(ctx context.Context, actor identity.Actor, in *idleInput) (*output[IdleSettings], error) {
	settings, err := a.readIdle(actor, in)
	if err != nil {
		return nil, err
	}
	r, err := a.deps.Idle.Save(ctx, actor, settings, in.Body.Version)
	return reply(idleView(r), err)
}

// readIdle reads what was posted by somebody who may post it; Invalid with every problem.
func (a *API) readIdle(actor identity.Actor, in *idleInput) (idle.Settings, error) {
	settings, wrong := in.Body.settings()
	err := a.deps.Idle.Check(actor, settings)
	if len(wrong) > 0 && (err == nil || fault.Is(err, fault.Invalid)) {
		err = fault.InvalidFields(wrong)
	}
	return settings, err
}

func idleView(r idle.Revision) IdleSettings {
	v := IdleSettings{Version: r.Version, By: r.AuthorName, At: moment(r.At)}
	one := func(s idle.Setting) IdleSetting {
		is := IdleSetting{Action: string(s.Action), Below: s.Below, Cores: s.CPU, Network: s.Network}
		for from, to := range map[*catalog.Duration]*string{&s.After: &is.After, &s.KeepAlive: &is.KeepAlive} {
			if *from > 0 {
				*to = from.String()
			}
		}
		return is
	}
	if r.Settings.All != nil {
		all := one(*r.Settings.All)
		v.All = &all
	}
	for from, to := range map[*map[string]idle.Setting]*map[string]IdleSetting{&r.Settings.Sizes: &v.Sizes,
		&r.Settings.Teams: &v.Teams} {
		for name, s := range *from {
			if *to == nil {
				*to = map[string]IdleSetting{}
			}
			(*to)[name] = one(s)
		}
	}
	return v
}

// settings reads what was posted; times that are none are said by field.
func (v IdleSettings) settings() (s idle.Settings, wrong []fault.Field) {
	one := func(field string, is IdleSetting) idle.Setting {
		read := func(name, text string) catalog.Duration {
			if strings.TrimSpace(text) == "" {
				return 0
			}
			d, err := catalog.ParseDuration(text)
			if err != nil {
				wrong = append(wrong, fault.Field{Name: field + "." + name, Reason: i18n.T("idle.no_time")})
			}
			return d
		}
		of := idle.Setting{Action: idle.Action(is.Action), After: read("after", is.After), Below: is.Below, CPU: is.Cores,
			Network: is.Network, KeepAlive: read("keepAlive", is.KeepAlive)}
		return of.WithUsual()
	}
	if v.All != nil {
		all := one("all", *v.All)
		s.All = &all
	}
	s.Sizes, s.Teams = map[string]idle.Setting{}, map[string]idle.Setting{}
	for name, is := range v.Sizes {
		s.Sizes[name] = one("sizes."+name, is)
	}
	for name, is := range v.Teams {
		s.Teams[name] = one("teams."+name, is)
	}
	return s, wrong
}

// IdleState is what is known of one workload's idle time.
type IdleState struct {
	Setting        IdleSetting  `json:"setting" doc:"What counts for it"`
	Never          string       `json:"never,omitempty" enum:"no_gpu,shared,sleeps" doc:"Why it is never judged"`
	AsOf           *time.Time   `json:"asOf,omitempty" doc:"Up to when anything is known; absent for never"`
	Stale          bool         `json:"stale" doc:"That is too long ago for anything to follow"`
	IdleSeconds    float64      `json:"idleSeconds" doc:"As far as is known; 0 where it works, or nothing is known"`
	Since          *time.Time   `json:"since,omitempty"`
	High           *float64     `json:"highPercent,omitempty" doc:"The highest use of the engine in that time, where its devices are judged"`
	Signals        []IdleSignal `json:"signals,omitempty" doc:"What it is judged by: it is idle while all of them lie below"`
	WarnedAt       *time.Time   `json:"warnedAt,omitempty"`
	StopsAt        *time.Time   `json:"stopsAt,omitempty" doc:"Announced by the warning"`
	KeepAliveUntil *time.Time   `json:"keepAliveUntil,omitempty" doc:"Somebody still needs it"`
	KeepAliveBy    string       `json:"keepAliveBy,omitempty"`
}

func idleState(is idle.State) IdleState {
	v := IdleState{Setting: *idleView(idle.Revision{Settings: idle.Settings{All: &is.Setting}}).All,
		Never: string(is.Never), AsOf: moment(is.AsOf), Stale: is.Stale, IdleSeconds: is.Idle.Seconds(),
		Since:    moment(is.Since),
		WarnedAt: moment(is.Warned), StopsAt: moment(is.StopsAt), KeepAliveUntil: moment(is.KeepAliveUntil),
		KeepAliveBy: is.KeepAliveBy}
	if is.Idle > 0 && !is.ByPods {
		v.High = &is.High
	}
	for _, s := range is.Signals() {
		one := IdleSignal{Name: string(s.Name), Below: s.Below}
		if is.Idle > 0 {
			one.High = &s.High
		}
		v.Signals = append(v.Signals, one)
	}
	return v
}

// IdleSignal is one of the values that a workload is judged by.
type IdleSignal struct {
	Name  string   `json:"name" enum:"gpu,cpu,network,gpu_memory" doc:"gpu in per cent of the engine, cpu in cores, network in bytes per second, gpu_memory in MiB by which the GPU memory in use changed"`
	Below float64  `json:"below" doc:"Idle is what stays below it"`
	High  *float64 `json:"high,omitempty" doc:"The highest in the idle time"`
}

func (a *API) idleOf(ctx context.Context, actor identity.Actor, in *idInput) (*output[IdleState], error) {
	is, err := a.deps.Idle.Of(ctx, actor, workload.ID(in.ID))
	return reply(idleState(is), err)
}

func (a *API) keepAlive(ctx context.Context, actor identity.Actor, in *idInput) (*output[IdleState], error) {
	is, err := a.deps.Idle.KeepAlive(ctx, actor, workload.ID(in.ID))
	return reply(idleState(is), err)
}

// IdlePreview is what settings would do; nothing is written.
type IdlePreview struct {
	Running      []IdlePreviewRow `json:"running" doc:"What runs and would be affected now, and what nobody can tell of"`
	RunningCount IdleTally        `json:"runningCount"`
	Past         []IdlePreviewRow `json:"past" doc:"What ran in the last 30 days and would have been affected, and what nobody can tell of"`
	PastCount    IdleTally        `json:"pastCount"`
	From         time.Time        `json:"from" doc:"Of the past"`
	Since        *time.Time       `json:"recordedSince,omitempty" doc:"From when on recordedIdleSeconds counts: months are charged as a whole"`
	Capped       bool             `json:"capped" doc:"There were more workloads than were looked at"`
	Unreachable  []string         `json:"unreachable" doc:"Clusters whose Prometheus did not tell everything in time: what is missing counts as unknown"`
}

// IdleTally counts workloads.
type IdleTally struct {
	Seen    int `json:"seen"`
	Warned  int `json:"warned"`
	Stopped int `json:"stopped"`
	Unknown int `json:"unknown"`
}

// IdlePreviewRow is one workload.
type IdlePreviewRow struct {
	Workload string     `json:"workload"`
	Name     string     `json:"name"`
	Tenant   string     `json:"tenant"`
	Size     string     `json:"size"`
	Outcome  string     `json:"outcome" enum:"off,warn,stop"`
	At       *time.Time `json:"at,omitempty" doc:"When it would be stopped, or would have been warned or stopped"`
	Idle     float64    `json:"idleSeconds" doc:"For how long it is idle, or the longest that it was"`
	Known    float64    `json:"knownPercent" doc:"Of its time"`
	Why      string     `json:"why,omitempty" enum:"no_gpu,shared,sleeps,unmeasured,cpu_unmeasured,network_unmeasured,partly,unclear" doc:"Why nothing can be said of the rest"`
	Unknown  bool       `json:"unknown" doc:"Too little is known to say that nothing would happen"`
	Recorded float64    `json:"recordedIdleSeconds" doc:"Of the past: how long statements say that its GPUs were idle, since recordedSince"`
	Cost     Money      `json:"recordedIdleCost" doc:"Of that time"`
}

func (a *API) previewIdle(ctx context.Context, actor identity.Actor, in *idleInput) (*output[IdlePreview], error) {
	settings, err := a.readIdle(actor, in)
	if err != nil {
		return nil, err
	}
	p, err := a.deps.Idle.Preview(ctx, actor, settings)
	return reply(IdlePreview{Running: idlePreviewRows(p.Running), RunningCount: IdleTally(p.RunningTally),
		Past: idlePreviewRows(p.Past), PastCount: IdleTally(p.PastTally), From: p.From, Since: moment(p.Since),
		Capped:      p.Capped,
		Unreachable: append([]string{}, p.Unreachable...)}, err)
}

func idlePreviewRows(list []idle.PreviewRow) []IdlePreviewRow {
	views := make([]IdlePreviewRow, len(list))
	for i, c := range list {
		views[i] = IdlePreviewRow{Workload: string(c.Workload.ID), Name: c.Workload.Name, Tenant: c.Workload.Tenant,
			Size: c.Workload.Size.Name, Outcome: string(c.Outcome), At: moment(c.At), Idle: c.Idle.Seconds(),
			Known: 100 * c.Known,
			Why:   string(c.Reason), Unknown: c.Unknown(), Recorded: c.Recorded.Idle.Seconds(), Cost: money(c.Recorded.Cost)}
	}
	return views
}
