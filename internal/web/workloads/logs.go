package workloads

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/explain"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/podlogs"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// Logs reads logs and events; see podlogs.Service.
type Logs interface {
	Containers(ctx context.Context, a identity.Actor, id workload.ID) ([]podlogs.Container, error)
	Read(ctx context.Context, a identity.Actor, id workload.ID, q podlogs.Query) ([]podlogs.Line, error)
	Open(ctx context.Context, a identity.Actor, id workload.ID, q podlogs.Query) (*podlogs.Reader, error)
	Events(ctx context.Context, a identity.Actor, id workload.ID) ([]podlogs.Event, error)
}

// What can be chosen.
var (
	tails  = []string{"100", "500", "2000", "5000"}
	sinces = []string{"", "5m", "15m", "1h", "24h"}
)

// logQuery is what the address asks for; what it cannot ask for is as if it were not there.
func logQuery(k page.Call) podlogs.Query {
	q := podlogs.Query{Pod: k.Get("pod"), Container: k.Get("container"), Previous: k.Get("previous") == "true"}
	if slices.Contains(tails, k.Get("tail")) {
		q.Tail, _ = strconv.Atoi(k.Get("tail"))
	}
	if slices.Contains(sinces, k.Get("since")) {
		q.Since, _ = podlogs.ParseSince(k.Get("since"))
	}
	return q
}

// logAddress is that of another view of the same choice.
func logAddress(k page.Call, id workload.ID, view string, set ...string) string {
	q := url.Values{}
	for _, name := range []string{"pod", "container", "previous", "tail", "since"} {
		if v := k.Get(name); v != "" {
			q.Set(name, v)
		}
	}
	for i := 0; i < len(set); i += 2 {
		q.Set(set[i], set[i+1])
	}
	return page.WithQuery(page.WorkloadPath(id)+"/logs"+view, q)
}

// workloadLogs answers: what has it written.
func (w *Pages) workloadLogs(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	m, err := w.logsModel(k, s)
	if err != nil {
		return page.View{}, err
	}
	return w.workloadView(k, s, workloadview.Logs, workloadview.PageModel{Logs: m}), nil
}

func (w *Pages) logsModel(k page.Call, s details) (workloadview.LogsModel, error) {
	m := workloadview.LogsModel{Log: workloadview.LogModel{ID: "log", Title: k.Words.S("workload.logs_title"),
		Unwrap: k.Get("lines") == "scroll", Find: strings.ToLower(k.Get("q"))}}
	containers, err := w.Logs.Containers(k.Ctx, k.Actor, s.ID)
	var lines []podlogs.Line
	if err == nil {
		lines, err = w.Logs.Read(k.Ctx, k.Actor, s.ID, logQuery(k))
	}
	m.Filter = logFilter(k, s.ID, containers)
	for _, r := range s.Observed.Pods {
		m.Filter.Pods = append(m.Filter.Pods, r.Pod)
	}
	slices.Sort(m.Filter.Pods)
	if err != nil {
		m.Why, err = whyNot(k.Words, err)
		return m, err
	}
	for len(lines) > 0 && lines[0].FromStore() {
		m.Source, lines = append(m.Source, k.Words.Text(lines[0].Note)), lines[1:]
	}
	m.Log.Lines = logLines(k.Words, lines, m.Log.Find)
	m.Words = logWords(k.Words, len(m.Log.Lines), len(lines), m.Log.Find)
	if !logQuery(k).Previous && m.Source == nil {
		m.Log.Follow = logAddress(k, s.ID, "/follow")
	}
	m.Read = secondsAt(k.Words, k.Words.Now)
	m.Filter.Clear = logAddress(k, s.ID, "", "lines", k.Get("lines"))
	m.Again = logAddress(k, s.ID, "", "q", k.Get("q"), "lines", k.Get("lines"))
	m.Download = logAddress(k, s.ID, "/download", "tail", strconv.Itoa(podlogs.MostTail))
	return m, nil
}

func logWords(say page.Words, shown, all int, find string) string {
	switch {
	case all == 0:
		return say.S("workload.logs_empty")
	case find != "" && shown == 0:
		return say.S("workload.logs_no_hit")
	case find != "":
		return say.S("workload.logs_hits", "Count", shown, "All", all)
	}
	return ""
}

// whyNot says in the page why there is nothing to show; what is no matter of the cluster is the page's own error.
func whyNot(say page.Words, err error) (*workloadview.WhyNotModel, error) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil, err
	}
	m := &workloadview.WhyNotModel{Sentence: say.Text(f.Sentence)}
	switch f.Kind {
	case fault.Conflict:
	case fault.Unavailable:
		m.Away = true
	case fault.Invalid:
		m.Sentence = say.Text(f.Fields[0].Reason)
	default:
		return nil, err
	}
	return m, nil
}

// usualTail is how many lines are shown where the address does not say.
const usualTail = "500"

func logFilter(k page.Call, id workload.ID, containers []podlogs.Container) workloadview.LogFilterModel {
	m := workloadview.LogFilterModel{Action: page.WorkloadPath(id) + "/logs", Find: k.Get("q"), Pod: k.Get("pod"),
		Container: k.Get("container"), Tail: cmp.Or(k.Get("tail"), usualTail), Tails: tails, Since: k.Get("since"),
		Sinces: sinces, Previous: k.Get("previous"), Lines: k.Get("lines")}
	for _, c := range containers {
		m.Containers = append(m.Containers, c.Name)
	}
	return m
}

// logLines are those that contain what is looked for, with it marked.
func logLines(say page.Words, lines []podlogs.Line, find string) []workloadview.LogLineModel {
	var all []workloadview.LogLineModel
	for _, l := range lines {
		text := l.Text
		switch {
		case !l.Note.IsZero():
			text = "[" + say.Text(l.Note) + "]"
		case find != "" && !strings.Contains(strings.ToLower(text), find):
			continue
		case l.Cut > 0:
			text += " […" + say.Text(i18n.T("podlogs.cut", "Bytes", l.Cut)) + "]"
		}
		m := workloadview.LogLineModel{Pieces: pieces(text, find), Note: !l.Note.IsZero()}
		if !m.Note {
			m.Level = levelOf(text)
		}
		if !l.At.IsZero() {
			at := secondsAt(say, l.At)
			m.Time = &at
		}
		all = append(all, m)
	}
	return all
}

// secondsAt is a time of day with its seconds.
func secondsAt(say page.Words, t time.Time) ui.TimeModel {
	at := say.At(t)
	at.Words, at.Mode, at.Machine = ui.ClockSeconds(t), ui.TimeSeconds, t.Format(time.RFC3339Nano)
	return at
}

// What programs write of their own at the head of a line, as static/js/logs.js reads it too: "[W ServerApp]", "ERROR:",
// "level=warn". A word in the text itself says nothing.
var (
	failures = regexp.MustCompile(`^.{0,40}?(?:\[[EC] |\b(?:ERROR|CRITICAL|FATAL)\b|"?level"?[=:] ?"?(?:error|fatal)\b)`)
	warnings = regexp.MustCompile(`^.{0,40}?(?:\[W |\bWARN(?:ING)?\b|"?level"?[=:] ?"?warn(?:ing)?\b)`)
)

// levelOf is how grave a program says that a line is; "" where it does not.
func levelOf(line string) ui.Kind {
	switch {
	case failures.MatchString(line):
		return ui.Danger
	case warnings.MatchString(line):
		return ui.Warning
	}
	return ""
}

// pieces are the parts of a text between what is looked for. Where lower case has another length, nothing is marked.
func pieces(text, find string) []workloadview.PieceModel {
	low := strings.ToLower(text)
	if find == "" || len(low) != len(text) {
		return []workloadview.PieceModel{{Text: text}}
	}
	var all []workloadview.PieceModel
	for {
		at := strings.Index(low, find)
		if at < 0 {
			return append(all, workloadview.PieceModel{Text: text})
		}
		all = append(all, workloadview.PieceModel{Text: text[:at]},
			workloadview.PieceModel{Text: text[at : at+len(find)], Found: true})
		text, low = text[at+len(find):], low[at+len(find):]
	}
}

// logFollow sends a log line by line, for the script of the page.
func (w *Pages) logFollow(c echo.Context) error {
	return w.logText(c, podlogs.Form{Follow: true, Timestamps: true})
}

// logDownload sends a log as a file.
func (w *Pages) logDownload(c echo.Context) error {
	return w.logText(c, podlogs.Form{Timestamps: true})
}

func (w *Pages) logText(c echo.Context, form podlogs.Form) error {
	k := w.CallOf(c)
	s, err := w.Workloads.Get(k.Ctx, k.Actor, workload.ID(k.Get("id")))
	if err != nil {
		return err
	}
	q := logQuery(k)
	q.Follow = form.Follow
	log, err := w.Logs.Open(k.Ctx, k.Actor, s.ID, q)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	if !form.Follow {
		form.File = s.Name + "-" + log.Container + ".log"
	}
	return podlogs.Send(c.Response(), log, k.Words.Text, form)
}

// Bounds of the end of a log beside a reason.
const (
	tailLines  = 8
	tailWithin = 1500 * time.Millisecond
)

// logTail is the end of the log of what failed or hangs; nil where there is none, where it is not for this reader, or
// where the cluster does not say it at once. With it comes the cause that it names, where the reason leaves it to the
// log.
func (w *Pages) logTail(k page.Call, s details) (tail *workloadview.LogTailModel, cause string) {
	tells := s.Result != nil || !s.Reason.IsZero() && s.Observed.Node != "" || s.IsJob() && s.State == workload.Running
	if !tells || s.Observed.Pod == "" ||
		!identity.Can(k.Actor, identity.ReadLogs, s.ResourceAt(k.Words.Now)) {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(k.Ctx, tailWithin)
	defer cancel()
	lines, err := w.Logs.Read(ctx, k.Actor, s.ID, podlogs.Query{Tail: tailLines})
	if err != nil || len(lines) == 0 {
		return nil, ""
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	if explain.InLog(s.Reason) {
		cause = k.Words.Text(explain.FromLog(texts))
	}
	tail = &workloadview.LogTailModel{Log: workloadview.LogModel{ID: "log-tail",
		Title: k.Words.S("workload.logs_last"), Lines: logLines(k.Words, lines, ""), Compact: true},
		All: page.WorkloadPath(s.ID) + "/logs"}
	if s.IsJob() && s.State == workload.Running {
		tail.Progress = progressModel(k.Words, s.Workload, texts)
	}
	return tail, cause
}

// progressModel is how far a job says that it is, and how long the rest takes at this pace; nil where its log does not
// count.
func progressModel(say page.Words, item workload.Workload, lines []string) *ui.MeterModel {
	p, ok := explain.ProgressOf(lines)
	if !ok {
		return nil
	}
	m := &ui.MeterModel{Label: say.S("workload.progress"), Value: say.Percent(math.Round(100 * p.Share)),
		Segments: []ui.SegmentModel{{Fill: ui.FillUsed, Share: p.Share}}, Test: "job-progress"}
	var said []string
	for _, c := range p.Counters {
		said = append(said, say.S("workload.counter_"+c.Unit, "Done", c.Done, "Total", c.Total))
	}
	if len(said) > 0 {
		m.Label = strings.Join(said, " · ")
	}
	if item.PlacedAt.IsZero() || item.Observed.Restarts > 0 { // when this run began is not known
		return m
	}
	if left := p.Left(say.Now.Sub(item.PlacedAt)); left > 0 && !item.Lease.Until.IsZero() {
		m.Detail = say.S("workload.job_left", "Time", say.Duration(left))
		if say.Now.Add(left).After(item.Lease.Until) {
			m.Detail, m.Segments[0].Fill = say.S("workload.job_left_long", "Time", say.Duration(left)), ui.FillWarning
		}
	}
	return m
}

// outputEvery is how often the page of a job that runs reads what it has written since.
const outputEvery = 15 * time.Second

// output is what a job that runs has written last; nil for others, and where nothing can be read.
func (w *Pages) output(k page.Call, s details, id string) *workloadview.StartModel {
	if !s.IsJob() || s.State != workload.Running {
		return nil
	}
	log, _ := w.logTail(k, s)
	if log == nil {
		return nil
	}
	return &workloadview.StartModel{ID: id, Runs: true, Log: log}
}

// outputPart draws the start, and of a job that runs its output, which is read anew while one looks.
func (w *Pages) outputPart(k page.Call, s details, start workloadview.StartModel) page.Part {
	read := k.Words.Now
	return page.Part{ID: start.ID, Ticks: start.Runs, Draw: func(say page.Words) templ.Component {
		if start.Runs && say.Now.Sub(read) >= outputEvery {
			k.Words, read = say, say.Now
			if next := w.output(k, s, start.ID); next != nil { // else what was read last stays
				start = *next
			}
		}
		return workloadview.Start(start)
	}}
}

// fullSentence ends like the others where a controller's own words do not.
func fullSentence(words string) string {
	last, _ := utf8.DecodeLastRuneInString(words)
	if unicode.IsLetter(last) || unicode.IsDigit(last) {
		words += "."
	}
	return page.UpperFirst(words)
}

// workloadEvents answers: what did the cluster say of it.
func (w *Pages) workloadEvents(k page.Call) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	var m workloadview.EventsModel
	events, err := w.Logs.Events(k.Ctx, k.Actor, s.ID)
	if err != nil {
		if m.Why, err = whyNot(k.Words, err); err != nil {
			return page.View{}, err
		}
	}
	for _, e := range events {
		words := cmp.Or(e.Message, e.Reason) // of a reason that is not in the table
		if !e.Words.IsZero() {
			words = k.Words.Text(e.Words)
		}
		m.Events = append(m.Events, workloadview.ClusterEventModel{Last: k.Words.Ago(e.Last), First: k.Words.Ago(e.First),
			Warning: e.Warning, Words: fullSentence(words), Reason: e.Reason, Message: e.Message,
			Object: e.Kind + " " + e.Name, Count: k.Words.Number(float64(e.Count))})
	}
	o := workloadview.OverviewModel{} // for the head
	if s.State == workload.Failed {
		_, o.Cause = w.logTail(k, s)
	}
	return w.workloadView(k, s, workloadview.Events, workloadview.PageModel{Overview: o, Events: m}), nil
}
