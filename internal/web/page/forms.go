package page

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/limit"
	"github.com/gpu-portal/gpu-portal/internal/yamltext"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// WrongIn is the problem of a field; "" for none.
func WrongIn(say Words, problems []fault.Field, name string) string {
	for _, p := range problems {
		if p.Name == name {
			return say.Text(p.Reason)
		}
	}
	return ""
}

// Correctable reports whether a person can change something on the form about it.
func Correctable(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Invalid || kind == fault.Conflict || kind == fault.Forbidden
}

// StatusOf is the status of a form that comes back; serve maps everything else.
func StatusOf(err error) int {
	switch fault.KindOf(err) {
	case fault.Conflict:
		return http.StatusConflict
	case fault.Forbidden:
		return http.StatusForbidden
	}
	return http.StatusUnprocessableEntity
}

// ProblemsOf are the field problems of a fault; one without fields concerns the whole form.
func ProblemsOf(err error) []fault.Field {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil
	}
	if len(f.Fields) > 0 {
		return f.Fields
	}
	return []fault.Field{{Reason: f.Sentence, See: f.See}}
}

// FormErrors sums the problems up, each leading to its field.
func FormErrors(say Words, problems []fault.Field) ui.FormErrorsModel {
	m := ui.FormErrorsModel{}
	for _, p := range problems {
		m.Items = append(m.Items, ui.FormErrorModel{FieldID: p.Name, Words: say.Text(p.Reason)})
		if p.See != "" {
			m.See = "/" + p.See
		}
	}
	m.Title = say.S("web.form_errors", "Count", len(m.Items))
	return m
}

// AskErrors are those of a form that makes a request. One that was sent before with other contents can be sent as
// another request: the form that comes back has another key.
func AskErrors(say Words, problems []fault.Field, form string) ui.FormErrorsModel {
	m := FormErrors(say, problems)
	if m.See != "" {
		m.Title, m.Again = say.S("web.sent_already"), form
	}
	return m
}

// Validating reports whether a form is looked at while it is filled in: its handler answers with Validated, and writes
// nothing. A look counts as a preview, like the routes of classes.
func (w *Frame) Validating(c echo.Context) (bool, error) {
	if c.QueryParam("validate") == "" {
		return false, nil
	}
	if _, bounded := classes[c.Path()]; bounded {
		return true, nil
	}
	return true, w.Limits.Take(limit.Preview, string(ownPerson(identity.ActorFrom(c.Request().Context()))))
}

// Validated answers what is wrong with a form, by the id of the form.
func (w *Frame) Validated(c echo.Context, form string, problems []ui.ProblemModel) error {
	return w.Write(c, http.StatusOK, ui.Validation(ui.ValidationModel{Form: form, Asked: true, Problems: problems}))
}

// FieldProblems are those of fields, whose names are their ids.
func FieldProblems(say Words, problems []fault.Field) []ui.ProblemModel {
	list := make([]ui.ProblemModel, len(problems))
	for i, p := range problems {
		list[i] = ui.ProblemModel{Field: p.Name, Words: say.Text(p.Reason)}
	}
	return list
}

// TextProblems are those of a text in the field with an id.
func TextProblems(say Words, id string, t *yamltext.Text) []ui.ProblemModel {
	list := make([]ui.ProblemModel, len(t.Problems))
	for i, p := range t.Problems {
		list[i] = ui.ProblemModel{Line: p.Line, LineOf: id, Path: p.Path, Words: say.Text(p.Reason)}
	}
	return list
}
