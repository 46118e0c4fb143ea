package doctor

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// System is a Status as JSON, in words.
type System struct {
	Version   string          `json:"version" doc:"Of the process that answers"`
	CheckedAt *time.Time      `json:"checkedAt,omitempty" doc:"The oldest check; absent where nothing was looked at yet"`
	Checking  bool            `json:"checking" doc:"Checks were asked for and are not done"`
	State     State           `json:"state" enum:"ok,warning,failed,notApplicable" doc:"The worst of the checks"`
	Checks    []Line          `json:"checks"`
	Processes []SystemProcess `json:"processes"`
	Jobs      []SystemJob     `json:"jobs"`
	Queues    []SystemQueue   `json:"queues"`
	LogLevel  string          `json:"logLevel" enum:"debug,info,warn,error"`
}

// SystemProcess is one running process.
type SystemProcess struct {
	Name      string     `json:"name"`
	Version   string     `json:"version"`
	Roles     []string   `json:"roles"`
	Leader    bool       `json:"leader"`
	StartedAt time.Time  `json:"startedAt"`
	SeenAt    time.Time  `json:"seenAt"`
	CheckedAt *time.Time `json:"checkedAt,omitempty"`
	Hung      []string   `json:"hungLoops" doc:"Loops that give no sign of life"`
}

// SystemQueue is how much waits somewhere.
type SystemQueue struct {
	Name    QueueName  `json:"name" enum:"approvals,license-seats,gpus,reconciliation,events,messages"`
	Cluster string     `json:"cluster,omitempty"`
	Length  int        `json:"length"`
	Oldest  *time.Time `json:"oldestAt,omitempty" doc:"Since when the first one waits, where that is known"`
}

// SystemJob is the last run of one of the leader's jobs.
type SystemJob struct {
	Job       string     `json:"job"`
	StartedAt time.Time  `json:"startedAt"`
	Seconds   float64    `json:"durationSeconds"`
	Outcome   string     `json:"outcome" enum:"done,failed,skipped"`
	Error     string     `json:"error,omitempty"`
	LastDone  *time.Time `json:"lastDoneAt,omitempty"`
	Failures  int        `json:"failures"`
}

// System puts a status into words.
func (s Status) System(l *i18n.Localizer) System {
	out := System{Version: s.Version, CheckedAt: moment(s.CheckedAt), Checking: s.Checking, State: Worst(s.Findings),
		Checks: Lines(l, s.Findings), Processes: []SystemProcess{}, Jobs: []SystemJob{}, Queues: []SystemQueue{},
		LogLevel: s.Log.Level}
	for _, p := range s.Processes {
		out.Processes = append(out.Processes, SystemProcess{Name: p.Facts.Process.Name, Version: p.Facts.Process.Version,
			Roles: append([]string{}, p.Facts.Process.Roles...), Leader: p.Leads, StartedAt: p.Facts.Process.Started.UTC(),
			SeenAt: p.SeenAt.UTC(), CheckedAt: moment(p.CheckedAt), Hung: append([]string{}, p.Hung...)})
	}
	for _, q := range s.Queues {
		out.Queues = append(out.Queues, SystemQueue{Name: q.Name, Cluster: q.Cluster, Length: q.Length,
			Oldest: moment(q.Oldest)})
	}
	for _, r := range s.Jobs {
		out.Jobs = append(out.Jobs, SystemJob{Job: r.Job, StartedAt: r.Started.UTC(), Seconds: r.Took.Seconds(),
			Outcome: string(r.Outcome), Error: r.Error, LastDone: moment(r.LastDone), Failures: r.Failures})
	}
	return out
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// Bundle writes what whoever helps wants to see, as a zip without secrets: the status, the facts of each process, the
// findings in English, and the settings of this process.
func (s *Service) Bundle(ctx context.Context, a identity.Actor, english *i18n.Localizer, out io.Writer) error {
	status, err := s.Status(ctx, a)
	if err != nil {
		return err
	}
	if !status.MayCheck {
		return fault.New(fault.Forbidden, i18n.T("doctor.admins_only"))
	}
	settings, err := s.o.Settings()
	if err != nil {
		return fmt.Errorf("mask the settings: %w", err)
	}
	var findings strings.Builder
	if err := Write(&findings, english, status.Findings); err != nil {
		return err
	}
	var facts []Facts
	for _, p := range status.Processes {
		facts = append(facts, p.Facts)
	}
	files := []struct {
		name string
		data any // a text, or what becomes JSON
	}{{"system.json", status.System(english)}, {"facts.json", facts}, {"findings.txt", findings.String()},
		{"configuration.yaml", settings}}
	redact := Redactor(s.o.Secrets())
	archive := zip.NewWriter(out)
	for _, f := range files {
		text, ok := f.data.(string)
		if !ok {
			data, err := json.MarshalIndent(f.data, "", "  ")
			if err != nil {
				return err
			}
			text = string(data)
		}
		w, err := archive.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: status.Now.UTC()})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, redact.Replace(text)); err != nil {
			return err
		}
	}
	return archive.Close()
}
