package admin

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/doctor"
	"github.com/gpu-portal/gpu-portal/internal/jobs"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	systemview "github.com/gpu-portal/gpu-portal/views/system"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// system answers: is everything there that the portal stands on, what does it cost where it is not, how is it mended?
func (w *Pages) system(k page.Call) (page.View, error) {
	s, err := w.Doctor.Status(k.Ctx, k.Actor)
	if err != nil {
		return page.View{}, err
	}
	m := systemview.PageModel{Body: systemBody(k.Words, s)}
	if s.MayCheck {
		m.Check, m.Bundle = page.SystemPath+"/check", page.SystemPath+"/bundle"
	}
	return page.View{Title: k.Words.S("system.title"), Nav: page.SystemPath, Wide: true, Body: systemview.Page(m),
		Parts: []page.Part{{ID: m.Body.ID, Draw: func(say page.Words) templ.Component {
			return systemview.Body(systemBody(say, s))
		}}}}, nil
}

func systemBody(say page.Words, s doctor.Status) systemview.BodyModel {
	m := systemview.BodyModel{ID: "system"}
	m.Counts, m.Summary = systemSummary(say, s)
	if !s.CheckedAt.IsZero() {
		m.Checked = new(say.Ago(s.CheckedAt))
	}
	if m.Counts != nil && m.Checked != nil && !s.Checking {
		last := &m.Counts.Items[len(m.Counts.Items)-1]
		last.Rests = &ui.AgeModel{Source: say.S("system.checked"), Time: *m.Checked}
	}
	if s.Checking {
		m.Busy = &ui.BusyModel{Words: say.S("system.checking"), ID: "system-busy"}
	}
	for _, f := range s.Findings {
		one := findingModel(say, f, len(s.Processes))
		switch {
		case f.Optional:
			m.Optional = append(m.Optional, one)
		case one.Bad:
			m.Findings = append(m.Findings, one)
		default:
			m.Rest = append(m.Rest, one)
		}
	}
	slices.SortStableFunc(m.Findings, func(a, b systemview.FindingModel) int {
		return strings.Compare(string(a.State.Kind), string(b.State.Kind)) // danger before warning
	})
	m.RestTitle = say.S("system.rest_count", "Count", len(m.Rest))
	m.Version, m.LogLevel = s.Version, logLevel(say, s)
	for _, check := range []string{"database", "schema", "cluster"} {
		for _, f := range s.Findings {
			if f.Check == check && f.State == doctor.OK {
				m.Facts = append(m.Facts, ui.DefModel{Term: checkTitle(say, f), Value: say.Text(f.Found)})
			}
		}
	}
	for _, p := range s.Processes {
		m.Processes = append(m.Processes, processModel(say, p))
	}
	for _, q := range s.Queues {
		m.Queues = append(m.Queues, queueModel(say, q))
	}
	for _, r := range s.Jobs {
		m.Jobs = append(m.Jobs, jobModel(say, r))
	}
	return m
}

func logLevel(say page.Words, s doctor.Status) string {
	if s.Log.Override.Level == "" {
		return s.Log.Level
	}
	return say.S("system.log_until", "Level", s.Log.Level, "Name", s.Log.Override.Name, "Left",
		say.Duration(s.Log.Override.Until.Sub(s.Now)))
}

// systemSummary is the answer in one line: numbers where something failed or warns, else a sentence.
func systemSummary(say page.Words, s doctor.Status) (*ui.TilesModel, ui.NoticeModel) {
	listed := slices.DeleteFunc(slices.Clone(s.Findings), func(f doctor.Finding) bool { return f.Optional })
	n := doctor.Count(listed) // optional permissions have a table of their own
	switch {
	case len(s.Findings) == 0:
		return nil, ui.NoticeModel{Kind: ui.Info, Title: say.S("system.not_yet")}
	case n[doctor.Failed]+n[doctor.Warning] == 0:
		return nil, ui.NoticeModel{Kind: ui.OK, Title: say.S("system.well", "Count", n[doctor.OK])}
	}
	tile := func(state doctor.State, detail string) ui.TileModel {
		t := ui.TileModel{Label: say.S("system.count_" + string(state)), Value: say.Number(float64(n[state])),
			Test: "count-" + string(state)}
		if n[state] > 0 {
			t.Detail, t.Kind = detail, checkKinds[state]
		}
		return t
	}
	works := say.S("system.soon")
	if n[doctor.Failed] == 0 {
		works = say.S("system.warned")
	}
	return &ui.TilesModel{Label: say.S("system.title"), Items: []ui.TileModel{
		tile(doctor.Failed, say.S("system.act_now")), tile(doctor.Warning, works), tile(doctor.OK, "")}}, ui.NoticeModel{}
}

// checkPages are where one sees more of what a check found.
var checkPages = map[string]struct{ text, path string }{"series": {"series", page.MetricsPath},
	"prometheus": {"metrics", page.MetricsPath}, "nodes": {"nodes", page.FleetPath},
	"cluster": {"clusters", page.ClustersPath}, "licenses": {"licenses", page.LicensesPath},
	"admins": {"people", page.PeoplePath}}

var checkKinds = map[doctor.State]ui.Kind{doctor.OK: ui.OK, doctor.Warning: ui.Warning, doctor.Failed: ui.Danger,
	doctor.NotApplicable: ui.Off}

func checkTitle(say page.Words, f doctor.Finding) string {
	title := say.Text(f.Title())
	if f.Subject != "" {
		title += " (" + f.Subject + ")"
	}
	return title
}

func findingModel(say page.Words, f doctor.Finding, processes int) systemview.FindingModel {
	m := systemview.FindingModel{State: ui.StateModel{Kind: checkKinds[f.State],
		Word: say.S("system.state." + string(f.State))}, Name: ui.StackModel{Title: say.Text(f.Title()),
		Detail: f.Subject}, Found: say.Text(f.Found), Detail: f.Detail, Cost: say.Text(f.Cost), Mend: say.Text(f.Mend),
		Copy: f.Value,
		Bad:  f.State == doctor.Warning || f.State == doctor.Failed}
	if f.Process != "" {
		m.Only, m.Process = say.S("system.in_process", "Of", processes), f.Process
	}
	if more, ok := checkPages[f.Check]; ok && m.Bad {
		m.More = &systemview.LinkModel{Label: say.S("system.more_" + more.text), Href: more.path}
	}
	return m
}

func processModel(say page.Words, r doctor.Report) systemview.ProcessModel {
	p := r.Facts.Process
	m := systemview.ProcessModel{Name: p.Name, Roles: strings.Join(p.Roles, ", "), Version: p.Version,
		Started: say.Ago(p.Started), Seen: say.Ago(r.SeenAt)}
	if r.Leads {
		m.Leader = say.S("system.leader")
	}
	if len(r.Hung) > 0 {
		m.Hung = say.S("system.hung", "Loops", strings.Join(r.Hung, ", "))
	}
	return m
}

func queueModel(say page.Words, q doctor.Queue) systemview.QueueModel {
	m := systemview.QueueModel{Name: ui.StackModel{Title: say.S("system.queue." + string(q.Name)), Detail: q.Cluster},
		Length: say.Number(float64(q.Length))}
	if !q.Oldest.IsZero() {
		m.Oldest = new(say.Ago(q.Oldest))
	}
	return m
}

var jobKinds = map[jobs.Outcome]ui.Kind{jobs.Done: ui.OK, jobs.Failed: ui.Danger, jobs.Skipped: ui.Off}

func jobModel(say page.Words, r jobs.Run) systemview.JobModel {
	m := systemview.JobModel{Name: r.Job, State: ui.StateModel{Kind: jobKinds[r.Outcome],
		Word: say.S("system.job." + string(r.Outcome))}, Run: say.Ago(r.Started), Took: say.Number(r.Took.Seconds()) + " s",
		Error: r.Error}
	if r.Took < time.Second {
		m.Took = fmt.Sprintf("%d ms", r.Took.Milliseconds())
	}
	if r.Failures > 1 {
		m.Error = say.S("system.failures", "Count", r.Failures, "Error", r.Error)
	}
	return m
}

// systemCheck has every process look again; the page follows.
func (w *Pages) systemCheck(c echo.Context) error {
	k := w.CallOf(c)
	if err := w.Doctor.Check(k.Ctx, k.Actor); err != nil {
		return err
	}
	return c.Redirect(303, page.SystemPath)
}

// systemBundle is a file for whoever helps; it is made whole before anything is sent.
func (w *Pages) systemBundle(c echo.Context) error {
	k := w.CallOf(c)
	var archive bytes.Buffer
	if err := w.Doctor.Bundle(k.Ctx, k.Actor, w.English, &archive); err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition,
		`attachment; filename="gpu-portal-`+w.Now().UTC().Format("2006-01-02-1504")+`.zip"`)
	return c.Blob(200, "application/zip", archive.Bytes())
}
