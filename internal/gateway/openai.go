package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/gpu-portal/gpu-portal/internal/i18n"
)

// openAIRoute reports whether a program calls a route of the OpenAI API: its clients read errors in that form only.
func openAIRoute(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v1/") && !navigates(r) }

// kinds are the error types of the OpenAI API, by status; anything else is api_error.
var kinds = map[int]string{http.StatusBadRequest: "invalid_request_error",
	http.StatusUnauthorized: "invalid_request_error", http.StatusForbidden: "invalid_request_error",
	http.StatusNotFound: "invalid_request_error", http.StatusMethodNotAllowed: "invalid_request_error",
	http.StatusRequestHeaderFieldsTooLarge: "invalid_request_error"}

// writeOpenAI writes what is wrong as the OpenAI API does.
func (a answer) writeOpenAI(w io.Writer, l *i18n.Localizer) {
	kind := a.kind
	if kind == "" {
		kind = kinds[a.status]
	}
	if kind == "" {
		kind = "api_error"
	}
	message := l.Say(a.title)
	if detail := l.Say(a.detail()); detail != "" {
		message += ": " + detail
	}
	if a.code != "" && a.status < http.StatusInternalServerError {
		message = l.Say(a.detail())
	}
	var code any
	if a.code != "" {
		code = a.code
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil,
		"code": code}})
}
