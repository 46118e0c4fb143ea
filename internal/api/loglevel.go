package api

import (
	"context"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/logging"
)

// LogLevel is from which level on lines are logged.
type LogLevel struct {
	Level      string     `json:"level" enum:"debug,info,warn,error"`
	Configured string     `json:"configured" enum:"debug,info,warn,error" doc:"That of the settings, which applies again after until"`
	Until      *time.Time `json:"until,omitempty" doc:"When the override ends; absent where the settings apply"`
	By         string     `json:"by,omitempty" doc:"Who has set the override"`
}

type logLevelInput struct {
	Body struct {
		Level string `json:"level" enum:"debug,info,warn,error"`
		For   string `json:"for,omitempty" maxLength:"32" default:"1h" example:"30m" doc:"At most 24h"`
	}
}

func logLevelView(s logging.Status) LogLevel {
	return LogLevel{Level: s.Level, Configured: s.Configured, Until: moment(s.Override.Until), By: s.Override.Name}
}

func (a *API) logLevel(_ context.Context, actor identity.Actor, _ *struct{}) (*output[LogLevel], error) {
	s, err := a.deps.Levels.Status(actor)
	return reply(logLevelView(s), err)
}

func (a *API) setLogLevel(ctx context.Context, actor identity.Actor, in *logLevelInput) (*output[LogLevel], error) {
	lasts, err := catalog.ParseDuration(in.Body.For)
	if err != nil {
		return nil, fault.InvalidFields([]fault.Field{{Name: "for", Reason: i18n.T("logging.no_time")}})
	}
	s, err := a.deps.Levels.Set(ctx, actor, in.Body.Level, lasts.Std())
	return reply(logLevelView(s), err)
}
