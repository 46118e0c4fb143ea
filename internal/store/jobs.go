package store

import (
	"context"
	"strings"
	"time"

	"gorm.io/gorm/clause"

	"github.com/gpu-portal/gpu-portal/internal/jobs"
)

var _ jobs.Store = (*Store)(nil)

type jobRunRow struct {
	Job       string `gorm:"primaryKey"`
	StartedAt timestamp
	TookUs    int64
	Outcome   string
	Error     string
	DoneAt    timestamp
	Failures  int
}

func (jobRunRow) TableName() string { return "job_runs" }

// JobRuns lists the last run of each job by name.
func (v view) JobRuns(ctx context.Context) ([]jobs.Run, error) {
	var rows []jobRunRow
	err := v.at(ctx).Order("job").Find(&rows).Error
	return each(rows, func(r jobRunRow) jobs.Run {
		return jobs.Run{Job: r.Job, Started: r.StartedAt.time(), Took: time.Duration(r.TookUs) * time.Microsecond,
			Outcome: jobs.Outcome(r.Outcome), Error: r.Error, LastDone: r.DoneAt.time(), Failures: r.Failures}
	}), failure(err)
}

// SaveJobRun replaces the last run of a job.
func (s *Store) SaveJobRun(ctx context.Context, r jobs.Run) error {
	row := jobRunRow{Job: r.Job, StartedAt: timestampOf(r.Started), TookUs: max(0, r.Took).Microseconds(),
		Outcome: string(r.Outcome), Error: storable(r.Error), DoneAt: timestampOf(r.LastDone), Failures: r.Failures}
	return s.write(ctx, func(t *tx) error {
		return failure(t.at(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&row).Error)
	})
}

// mostError is how much of an error's text is kept, in bytes.
const mostError = 2000

// storable is a text that any database can hold, whatever was in it.
func storable(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	return strings.ToValidUTF8(text[:min(len(text), mostError)], "")
}
