package page

import (
	"errors"
	"net/http"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// WrongIn is what is wrong with a field.
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
