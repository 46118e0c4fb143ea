package api

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/trace"
)

// Problem is a fault on its way out through huma; the document calls its form the same.
type Problem struct {
	problem.Details
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status, for huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457, whatever was asked for.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders are Retry-After and WWW-Authenticate where they apply.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	p.SetRetryAfter(h)
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="gpu-portal"`)
	}
	return h
}

func problemOf(ctx context.Context, err error) *Problem {
	d := problem.Of(err, i18n.From(ctx), problem.RequestID(ctx))
	d.Trace = trace.ID(ctx)
	return &Problem{d}
}

// installErrors makes huma's own refusals (unreadable body, wrong type, unknown field) look like ours.
func installErrors() {
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		for _, err := range errs {
			var f *fault.Error
			if errors.As(err, &f) {
				return problemOf(ctx.Context(), f)
			}
		}
		return problemOf(ctx.Context(), asFault(status, msg, errs, knownIn(ctx.Operation())))
	}
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return &Problem{problem.Of(asFault(status, msg, errs, nil), english(), "")}
	}
}

// english is the language of the document. It is loaded once: every operation asks for it.
var english = sync.OnceValue(func() *i18n.Localizer { return i18n.MustLoad().For("en") })

// asFault reads what huma found; known gives the names that a place may have, nil for none.
func asFault(status int, msg string, errs []error, known func(location string) []string) error {
	var fields []fault.Field
	for _, err := range errs {
		if errors.As(err, new(*http.MaxBytesError)) {
			return tooLarge("")
		}
		var d huma.ErrorDetailer
		if errors.As(err, &d) {
			detail := d.ErrorDetail()
			fields = append(fields, fieldOf(detail.Location, detail.Message, known))
		}
	}
	switch {
	case status >= 500 && msg != "cannot read request body": // the caller broke it off
		return errors.New(msg)
	case len(fields) > 0:
		return fault.InvalidFields(fields)
	case status == http.StatusNotFound:
		return fault.New(fault.NotFound, i18n.T("problem.no_page"))
	case status == http.StatusRequestEntityTooLarge:
		return tooLarge(msg)
	}
	return fault.New(fault.Invalid, i18n.T("api.unreadable"))
}

var limitOfBody = regexp.MustCompile(`limit=(\d+) bytes`)

// tooLarge says the limit of the operation, as huma tells it, or that of every call.
func tooLarge(msg string) error {
	found := limitOfBody.FindStringSubmatch(msg)
	if found == nil {
		return fault.New(fault.TooLarge, i18n.T("problem.too_large"))
	}
	bytes, _ := strconv.Atoi(found[1])
	return fault.New(fault.TooLarge, i18n.T("api.too_long", "KiB", bytes>>10))
}

// refusals are the sentences for what huma says of a field. What is not listed is told in general words: huma speaks
// English only.
var refusals = []struct {
	says *regexp.Regexp
	id   string
}{
	{regexp.MustCompile(`^unexpected property`), unknownField},
	{regexp.MustCompile(`^unknown query parameter`), unknownQuery},
	{regexp.MustCompile(`^nested deeper`), "api.deep"},
	{regexp.MustCompile(`^expected required property (\S+) to be present`), "api.missing"},
	{regexp.MustCompile(`^expected value to be one of "(.*)"`), "api.one_of"},
	{regexp.MustCompile(`^expected length <= (\d+)`), "api.longest"},
	{regexp.MustCompile(`^expected number >= (\d+)`), "api.least"},
	{regexp.MustCompile(`^expected number <= (\d+)`), "api.most"},
	{regexp.MustCompile(`^(?:expected integer|expected number|invalid integer|invalid float)`), "api.number"},
	{regexp.MustCompile(`^expected string`), "api.text"},
	{regexp.MustCompile(`^(?:expected boolean|invalid boolean)`), "api.boolean"},
	{regexp.MustCompile(`^expected object`), "api.object"},
}

// What huma says of a name that is not in the document.
const (
	unknownField = "api.unknown_field"
	unknownQuery = "api.unknown_query"
)

// fieldOf turns "body.lease" and what is said of it into a field problem.
func fieldOf(location, says string, known func(location string) []string) fault.Field {
	for _, r := range refusals {
		found := r.says.FindStringSubmatch(says)
		switch {
		case found == nil:
		case r.id == unknownField || r.id == unknownQuery:
			return unknown(location, r.id, known)
		case r.id == "api.missing":
			return fault.Field{Name: fieldName(location + "." + found[1]), Reason: i18n.T(r.id)}
		case len(found) == 2:
			return fault.Field{Name: fieldName(location), Reason: i18n.T(r.id, "Value", found[1])}
		default:
			return fault.Field{Name: fieldName(location), Reason: i18n.T(r.id)}
		}
	}
	return fault.Field{Name: fieldName(location), Reason: i18n.T("api.field")}
}

// fieldName turns "body.lease" into "lease".
func fieldName(location string) string {
	_, name, found := strings.Cut(location, ".")
	if !found {
		return location
	}
	return name
}

// exampleProblems shows in the document what a refusal looks like.
func exampleProblems(responses map[string]*huma.Response) {
	for code, response := range responses {
		content := response.Content["application/problem+json"]
		status, err := strconv.Atoi(code)
		if content == nil || err != nil {
			continue
		}
		f := fault.New(kindOf[status], i18n.T("api.example"))
		if status == http.StatusUnprocessableEntity {
			f = fault.As(fault.InvalidFields([]fault.Field{{Name: "lease", Reason: i18n.T("request.lease_unreadable", "Example",
				"8h")}}))
		}
		content.Example = problem.Of(f, english(), "0123456789abcdef")
	}
}

// kindOf is the other way round of the map in serve/problem.
var kindOf = func() map[int]fault.Kind {
	kinds := map[int]fault.Kind{}
	for _, k := range fault.Kinds() {
		kinds[problem.Status(k)] = k
	}
	return kinds
}()
